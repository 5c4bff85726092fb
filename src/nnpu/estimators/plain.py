"""The comparison with a plain classifier of labelled against unlabelled rows."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from nnpu.estimators.out_of_fold import align
from nnpu.prior.curve import auc
from nnpu.ranges import Z90

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["PlainList", "compare_lists", "plain_scores"]

_FIRST = 100  # rows of the lists that are compared
_SHOWN = 10  # rows that only one list has; fewer do not show in which columns they differ


@dataclass(frozen=True)
class PlainList:
    """How the list of a plain classifier differs from that of a PU classifier.

    The plain classifier takes every unlabelled row for a negative. It is fitted to the same rows in
    the same folds, so both lists are of rows that their models have not seen.

    Attributes
    ----------
    first : int
        How many unlabelled rows of each list are compared.
    shared : int
        How many of them both lists have.
    flagged : int
        The unlabelled rows that the plain classifier calls positive, at one half.
    reached, plain_reached : float
        The share of the labelled rows that score above the last of these first rows, by the PU
        classifier and by the plain one: the share of hidden positives in the list, if labels were
        given at random.
    auc, plain_auc : float
        How often a labelled row scores higher than an unlabelled one.
    error : float
        The standard error of ``reached - plain_reached``, from the rows that only one of them has.
    kinds : tuple of str
        The columns in which rows of the PU list alone differ most from rows of the plain list
        alone, with the direction.
    fitted_to : str
        What the plain classifier was fitted to.
    """

    first: int
    shared: int
    flagged: int
    reached: float
    plain_reached: float
    auc: float
    plain_auc: float
    error: float
    kinds: tuple[str, ...] = ()
    fitted_to: str = "in the same folds"

    @property
    def differs(self) -> bool:
        """Whether held-out labelled rows tell the two lists apart, beyond chance (90 %)."""
        return abs(self.reached - self.plain_reached) > Z90 * self.error

    def lines(self, flagged: int) -> list[str]:
        """Say in plain words how the lists differ.

        Parameters
        ----------
        flagged : int
            The unlabelled rows that the PU classifier calls positive.

        Examples
        --------
        >>> found = PlainList(100, 62, 3, 0.55, 0.41, 0.9, 0.86, 0.03, ("age (higher)",))
        >>> for line in found.lines(140):
        ...     print(line)
        Compared with a plain classifier, which takes unlabelled rows for negatives (in the same
        folds): the two lists share 62 of the first 100; the rows that only this list has differ in
        age (higher).
        Labelled rows that score as high as the first 100: 55 % here, 41 % there: better here,
        beyond chance. The plain classifier calls 3 unlabelled rows positive, this model 140.
        """
        kinds = f"; the rows that only this list has differ in {', '.join(self.kinds)}"
        both = (
            "Compared with a plain classifier, which takes unlabelled rows for negatives "
            f"({self.fitted_to}): the two lists share {self.shared:,} of the first "
            f"{self.first:,}{kinds if self.kinds else ''}."
        )
        how = "no difference beyond chance"
        if self.differs:
            better = "here" if self.reached > self.plain_reached else "there"
            how = f"better {better}, beyond chance"
        reached = (
            f"Labelled rows that score as high as the first {self.first:,}: "
            f"{100 * self.reached:.0f} % here, {100 * self.plain_reached:.0f} % there: {how}. "
            f"The plain classifier calls {self.flagged:,} unlabelled rows positive, this model "
            f"{flagged:,}."
        )
        return [both, reached]

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self) | {"kinds": list(self.kinds), "differs": self.differs}

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> PlainList:
        """Return what `to_json` described; ValueError or the like if it cannot be."""
        counts: dict[str, Any] = {n: int(plain[n]) for n in ("first", "shared", "flagged")}
        names = "reached", "plain_reached", "auc", "plain_auc", "error"
        shares: dict[str, Any] = {name: float(plain[name]) for name in names}
        if not all(np.isfinite(share) for share in shares.values()):
            raise ValueError("the comparison with a plain classifier must hold finite numbers")
        kinds = tuple(str(kind) for kind in plain["kinds"])
        return cls(**counts, **shares, kinds=kinds, fitted_to=str(plain["fitted_to"]))


def plain_scores(
    features: Any, codes: NDArray[np.int8], fold: NDArray[np.intp], *, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Score rows by a plain classifier of labelled against all others, out of fold.

    Boosted trees of scikit-learn with their defaults; logistic regression where rows are sparse.

    Parameters
    ----------
    features : array or CSR matrix of shape (n, d)
        With NaN for gaps if it is an array.
    codes : ndarray of shape (n,)
        PU labels 1, 0, −1.
    fold : ndarray of shape (n,)
        The fold of each row; a row with −1 is fitted to and not scored.
    seed : int
        Of the trees.

    Returns
    -------
    scores : ndarray of shape (n,)
        Log-odds on one scale for all folds; NaN where no fold held the row out.
    flagged : ndarray of shape (n,)
        Whether the model of the fold calls the row positive.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> s = np.repeat([1, 0], [100, 300]).astype(np.int8)
    >>> scores, flagged = plain_scores(rng.normal(3.0 * s, 1)[:, None], s, np.arange(400) % 4)
    >>> bool(scores[:100].mean() > scores[100:].mean()), bool(flagged[:100].mean() > 0.8)
    (True, True)
    """
    scores = np.full(len(codes), np.nan)
    for number in np.unique(fold[fold >= 0]):
        fitted, rest = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        if len(np.unique(codes[fitted] == 1)) < 2:
            continue
        model = _plain(features, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few iterations: it is only compared with
            model.fit(features[fitted], codes[fitted] == 1)
        scores[rest] = model.decision_function(features[rest])
    flagged = scores > 0
    there = np.flatnonzero(np.isfinite(scores))
    u = scores[there][codes[there] == 0]
    if there.size and u.size and len(np.unique(fold[there])) > 1:
        scores[there] = align(scores[there], fold[there], codes[there], u)
    return scores, flagged


def _plain(features: Any, seed: int) -> Any:
    if sparse.issparse(features):
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(max_iter=200)
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=seed)


def compare_lists(
    scores: NDArray[np.floating[Any]],
    plain: NDArray[np.floating[Any]],
    flagged: NDArray[np.bool_],
    s: NDArray[np.int8],
    kinds: Callable[[NDArray[np.intp], NDArray[np.intp]], tuple[str, ...]] | None = None,
    fitted_to: str = "in the same folds",
) -> PlainList | None:
    """Compare the lists of unlabelled rows by two scores; None if one of them says nothing.

    Parameters
    ----------
    scores, plain : ndarray of shape (n,)
        Of the PU classifier and of the plain one, for rows that neither was fitted to.
    flagged : ndarray of shape (n,)
        Which rows the plain one calls positive.
    s : ndarray of shape (n,)
        PU labels.
    kinds : callable, optional
        Takes the rows that only the first list has, and those that only the second has, and
        returns the columns in which they differ.
    fitted_to : str
        What to say that the plain classifier was fitted to.

    Examples
    --------
    >>> s = np.repeat([1, 0], [2, 4]).astype(np.int8)
    >>> one, other = np.array([9.0, 1, 8, 2, 1, 0]), np.array([9.0, 8, 7, 1, 2, 0])
    >>> found = compare_lists(one, other, other > 8, s)
    >>> found.first, found.shared, found.reached, found.plain_reached
    (2, 1, 0.5, 1.0)
    """
    p, u = np.flatnonzero(s == 1), np.flatnonzero(s == 0)
    mine, its = np.asarray(scores, np.float64), np.asarray(plain, np.float64)
    if not (np.isfinite(its).all() and p.size and u.size > 1) or np.ptp(its) == 0:
        return None
    n = min(_FIRST, len(u) // 2)
    tops, within = [], []
    for values in (mine, its):
        order = u[np.argsort(-values[u], kind="stable")]
        tops.append(order[:n])
        within.append(values[p] > values[order[n - 1]])
    only, others = (np.setdiff1d(one, other) for one, other in (tops, tops[::-1]))
    apart = float(np.sum(within[0] != within[1]))  # McNemar's test is of these rows alone
    named = kinds(only, others) if kinds is not None and len(only) >= _SHOWN else ()
    return PlainList(
        first=n,
        shared=n - len(only),
        flagged=int(flagged[u].sum()),
        reached=float(within[0].mean()),
        plain_reached=float(within[1].mean()),
        auc=auc(mine[p], mine[u]),
        plain_auc=auc(its[p], its[u]),
        error=float(np.sqrt(apart) / len(p)),
        kinds=tuple(named),
        fitted_to=fitted_to,
    )
