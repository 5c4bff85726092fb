"""`scar_test`: whether the labels can have been given at random among the positives.

If they are, and π is the share of positives, then no region holds more of P than of positives:

    π P_P(A) ≤ P_X(A) for every region A    (one-sample: P(labelled | A) ≤ b / π).

That is all that P and U can contradict. Labels that favour unlikely positives never contradict it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import binom, mannwhitneyu, rankdata

from nnpu.data.vectors import as_array
from nnpu.extras import find_lightgbm
from nnpu.parameters import ParameterError, check_prior, check_sampling
from nnpu.prior.curve import some_rows
from nnpu.prior.estimate import PriorEstimate
from nnpu.prior.scores import as_features, out_of_fold_scores

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nnpu.parameters import Sampling
    from nnpu.prior.curve import FloatArray

__all__ = ["ScarTest", "scar_test"]

#: The shares of all rows, from the top score, that make the regions.
REGIONS = (0.01, 0.02, 0.05, 0.1, 0.2)

#: A corrected p-value below this is called a contradiction, and the columns are named.
LEVEL = 0.05

_MOST_COLUMNS = 5  # that are named
_CLEAR = 0.1  # how far from ½ the AUC of a named column is, at the least


@dataclass(frozen=True)
class ScarTest:
    """The result of `scar_test`.

    Attributes
    ----------
    pvalue : float
        Small if the labels contradict labelling at random among positives under this prior. It
        is corrected for the number of regions. If the prior is an estimate, it is the p-value at
        the low end of its range, the largest one.
    columns : tuple
        The columns that set the over-labelled region apart, the clearest first: names if the rows
        came with names, else numbers. Empty if the test does not reject at the 5 % level.
    message : str
        What it means.
    """

    pvalue: float
    columns: tuple[Any, ...]
    message: str


def scar_test(
    x_p: Any,
    x_u: Any,
    *,
    prior: float | PriorEstimate,
    sampling: str = "two-sample",
    random_state: Any = None,
    model: Any = None,
    groups: Any = None,
) -> ScarTest:
    """Test whether the labelled rows can be a random sample of the positives.

    Rows are ranked by out-of-fold scores of labelled against unlabelled. Among the top 1, 2, 5, 10
    and 20 % of them, more may be labelled than a random sample of positives allows even if the
    region held nothing but positives. The test is one-sided and exact for each region, given the
    rows in it; Bonferroni's correction is for the five.

    Parameters
    ----------
    x_p, x_u : array-like, sparse matrix or tensor of shape (n_p, d), (n_u, d)
        The positive and the unlabelled sample.
    prior : float or PriorEstimate
        π_p, known from elsewhere. An estimate from these rows assumes what is tested here: the
        test has almost no power then.
    sampling : {"two-sample", "one-sample"}
        How the data came about.
    random_state, groups
        As in `estimate_prior`.
    model : classifier, optional
        As in `estimate_prior`. Default: thirty small boosted trees, which find a region that is
        labelled too often as surely as slower models do.

    Returns
    -------
    ScarTest

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(4000) < 0.3
    >>> x = rng.normal(size=(4000, 2)) + 2.0 * y[:, None]
    >>> at_random = y & (rng.random(4000) < 0.3)
    >>> clear_cases = y & (rng.random(4000) < 0.9 * (x.sum(axis=1) > 5))
    >>> for s in (at_random, clear_cases):
    ...     test = scar_test(x[s], x[~s], prior=0.3, sampling="one-sample", random_state=0)
    ...     print(test.pvalue < 0.05)
    False
    True
    """
    kind = check_sampling(sampling, "scar_test")
    low = max(prior.low, 1e-9) if isinstance(prior, PriorEstimate) else prior
    low = check_prior(low, "scar_test")
    names = getattr(x_p, "columns", None)
    x_p, x_u = as_array(x_p), as_array(x_u)
    share = _share_in_u(low, np.shape(x_p)[0], np.shape(x_u)[0], kind, prior)
    groups_p, groups_u = groups or (None, None)
    x_p, groups_p = some_rows(x_p, random_state, groups_p, "x_p")
    x_u, groups_u = some_rows(x_u, random_state, groups_u, "x_u")
    scores_p, scores_u = out_of_fold_scores(
        x_p,
        x_u,
        model=_quick_model(x_p) if model is None else model,
        random_state=random_state,
        groups=None if groups is None else (groups_p, groups_u),
    )
    pvalue, top = _smallest(scores_p, scores_u, share)
    columns = _apart(x_p, x_u, top, names) if pvalue < LEVEL else ()
    return ScarTest(pvalue, columns, _message(pvalue, low, columns, prior))


def _quick_model(x: Any) -> Any:
    """Return small boosted trees; None, `estimate_prior`'s default, for sparse rows."""
    lightgbm = None if sp.issparse(x) else find_lightgbm()
    if lightgbm is None:
        return None
    return lightgbm.LGBMClassifier(
        n_estimators=30,
        learning_rate=0.2,
        num_leaves=4,
        reg_lambda=10,
        colsample_bytree=0.5,
        max_bin=63,
        random_state=0,
        n_jobs=1,
        verbose=-1,
    )


def _share_in_u(prior: float, n_p: int, n_u: int, sampling: Sampling, given: Any) -> float:
    """Return the share of positives in U under this prior."""
    if sampling == "two-sample":
        return prior
    hidden = prior * (n_p + n_u) - n_p
    if hidden <= 0 and not isinstance(given, PriorEstimate):
        raise ParameterError(
            "The 'prior' parameter of scar_test must be greater than the labelled share "
            f"{n_p / (n_p + n_u):.4g} of one-sample data. Got {given!r} instead."
        )
    return max(hidden, 0.0) / n_u


def _smallest(
    scores_p: FloatArray, scores_u: FloatArray, share: float
) -> tuple[float, NDArray[np.bool_]]:
    """Return the corrected p-value and the rows, of P then U, of the region that gave it.

    Of the positives among P and U together, n_p are labelled and about share · n_u are not. If
    labels are random, each row of a region is labelled with at most the chance of a positive,
    n_p / (n_p + share · n_u), and the number of labelled rows is at most binomial. Regions hold
    the top scores, whatever the label, so labels do not choose them.
    """
    labelled = np.repeat([True, False], [scores_p.size, scores_u.size])
    place = rankdata(-np.concatenate([scores_p, scores_u]), method="max") / labelled.size
    chance = scores_p.size / (scores_p.size + share * scores_u.size)
    regions = [place <= top for top in REGIONS]
    values = [
        float(binom.sf(labelled[rows].sum() - 1, rows.sum(), chance)) if rows.any() else 1.0
        for rows in regions
    ]
    best = int(np.argmin(values))
    return min(len(REGIONS) * values[best], 1.0), regions[best]


def _apart(x_p: Any, x_u: Any, top: NDArray[np.bool_], names: Any) -> tuple[Any, ...]:
    """Return the columns by which the region differs from the other rows, the clearest first."""
    features = [as_features(x, name) for x, name in ((x_p, "x_p"), (x_u, "x_u"))]
    if any(sp.issparse(x) for x in features):
        return ()
    x = np.concatenate(features)
    gaps = []
    for column in x.T:
        inside, outside = column[top], column[~top]
        inside, outside = inside[~np.isnan(inside)], outside[~np.isnan(outside)]
        n = inside.size * outside.size
        gaps.append(abs(mannwhitneyu(inside, outside).statistic / n - 0.5) if n else 0.0)
    order = np.argsort(gaps)[::-1][:_MOST_COLUMNS]
    chosen = [int(column) for column in order if gaps[column] >= _CLEAR]
    return tuple(chosen if names is None else [names[column] for column in chosen])


def _message(pvalue: float, low: float, columns: tuple[Any, ...], prior: Any) -> str:
    said = f"p = {pvalue:.3g} for labels given at random among the positives, prior {low:.3g}."
    if pvalue < LEVEL:
        said += (
            " Some rows are labelled more often than random labelling allows even if all of them "
            "are positive: clear cases were labelled more often, a column gives the label away, "
            "or the prior is too large."
        )
        if columns:
            said += f" These rows differ from others in: {', '.join(map(str, columns))}."
    else:
        said += (
            " No evidence against random labelling. That does not prove it: only a review of "
            "unlabelled rows shows whether labels favour unclear cases."
        )
    if isinstance(prior, PriorEstimate):
        said += (
            " The prior is an estimate. If it was made from these rows, it assumes random "
            "labelling already, and the test has almost no power: give a prior known from "
            "elsewhere."
        )
    return said
