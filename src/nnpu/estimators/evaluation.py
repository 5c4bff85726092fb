"""`Evaluation`: how good a classifier is, from scored rows and PU labels alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nnpu import metrics
from nnpu.estimators.ranking import rank_rows
from nnpu.parameters import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from nnpu.estimators.base import BasePUClassifier
    from nnpu.estimators.ranking import Ranking

__all__ = [
    "MEANINGS",
    "NAMES",
    "Estimate",
    "Evaluation",
    "evaluate",
    "prior_interval",
    "prior_lines",
]

#: What the metrics are called in front of people.
NAMES: Mapping[str, str] = {
    "pu_accuracy": "accuracy",
    "pu_precision": "precision",
    "pu_recall": "recall",
    "pu_f1": "F1",
    "pu_roc_auc": "ROC AUC",
    "pu_zero_one_risk": "error rate",
    "lee_liu_score": "Lee-Liu score",
}

#: What they mean.
MEANINGS: Mapping[str, str] = {
    "pu_accuracy": "share of correct predictions",
    "pu_precision": "share of positives among the rows predicted positive",
    "pu_recall": "share of the positives that are predicted positive",
    "pu_f1": "harmonic mean of precision and recall",
    "pu_roc_auc": "how often a positive scores higher than a negative",
    "pu_zero_one_risk": "share of wrong predictions",
    "lee_liu_score": "recall² / share predicted positive; compares models without a prior",
}

_HIGHEST = {"lee_liu_score": math.inf}  # the others are shares
_OF_FLAGGED = ("pu_precision", "lee_liu_score")  # 0 / 0 if no row is flagged


class Estimate(NamedTuple):
    """A number with its 90 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What labelled and unlabelled rows say about a classifier.

    Attributes
    ----------
    prior : Estimate
        The share of positives that the figures rest on; of zero width if it was given.
    prior_known : bool
        Whether the prior was given or its interval can be trusted.
    metrics : mapping of str to Estimate
        By the names in `nnpu.metrics`. An interval covers chance and, if the prior was estimated,
        the prior's own interval.
    sampling : str
        How the rows were taken to have come about.
    rows, labelled, flagged : int
        How many rows there are, have a label, and are predicted positive.
    s, scores : ndarray
        The PU labels and the scores that were judged.
    ranking : Ranking or None
        The rows to look at first.
    images : object
        The images that were judged, for a report; None if the rows are none.
    drift : tuple of str
        How the rows differ from those of the training, a line for each column; `TablePU` notes it.
    cells : mapping of str to (int, int or None)
        For each column how many cells are missing, and how many hold a new or rare category.

    Examples
    --------
    >>> import numpy as np
    >>> from nnpu import LinearPU
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(1000) < 0.4
    >>> X, s = rng.normal(3.0 * y, 1)[:, None], y & (rng.random(1000) < 0.5)
    >>> clf = LinearPU(0.4, sampling="one-sample").fit(X[::2], s[::2])
    >>> found = evaluate(clf, s[1::2].astype(int), clf.decision_function(X[1::2]))
    >>> bool(found.accuracy.low < 0.93 < found.accuracy.high)
    True
    """

    prior: Estimate
    prior_known: bool
    metrics: Mapping[str, Estimate]
    sampling: str
    rows: int
    labelled: int
    flagged: int
    s: NDArray[np.int8] = field(repr=False)
    scores: NDArray[np.float32] = field(repr=False)
    ranking: Ranking | None = field(default=None, repr=False)
    images: Any = field(default=None, repr=False)
    drift: tuple[str, ...] = ()
    cells: Mapping[str, tuple[int, int | None]] = field(default_factory=dict, repr=False)

    @property
    def accuracy(self) -> Estimate:
        """The share of correct predictions."""
        return self.metrics["pu_accuracy"]

    @property
    def precision(self) -> Estimate:
        """The share of positives among the rows predicted positive."""
        return self.metrics["pu_precision"]

    @property
    def recall(self) -> Estimate:
        """The share of the positives that are predicted positive."""
        return self.metrics["pu_recall"]

    @property
    def roc_auc(self) -> Estimate:
        """How often a positive scores higher than a negative."""
        return self.metrics["pu_roc_auc"]

    @property
    def table(self) -> Any:
        """The metrics as a pyarrow table: name, value, low, high."""
        import pyarrow as pa

        found = [{"metric": name, **each._asdict()} for name, each in self.metrics.items()]
        return pa.Table.from_pylist(found)

    def lines(self, names: tuple[str, ...] = tuple(NAMES)) -> list[str]:
        """Return the figures for a terminal: the prior, then a line for each metric."""
        return [*prior_lines(self.prior, self.prior_known), *self._figures(names)]

    def __str__(self) -> str:
        counts = (
            f"{self.rows:,} rows, {self.labelled:,} labelled, {self.flagged:,} predicted positive."
        )
        lines = self.lines()
        where = 0 if self.prior_known else len(prior_lines(self.prior, known=False))
        changed = ["Columns that differ from the training rows:"] if self.drift else []
        changed += [f"  {line}" for line in self.drift]
        return "\n".join([*lines[:where], counts, *lines[where:], *changed])  # warnings first

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"

    def _figures(self, names: tuple[str, ...]) -> list[str]:
        lines = [_row("", "estimate", "90 % interval", known=self.prior_known)]
        for name in names:
            value, *ends = (_shown(name, number) for number in self.metrics[name])
            found = value, " to ".join(ends)
            if not self.is_defined(name):
                found = "-" if self.prior_known else "", "no row is predicted positive"
            lines.append(_row(NAMES[name], *found, known=self.prior_known))
        beyond = sorted(self.contradictions(names), key=lambda told: "within the error" in told)
        return lines + beyond[:1]  # the gravest; the report has them all

    def is_defined(self, name: str) -> bool:
        """Return whether a metric has a value: precision is 0 / 0 if no row is flagged."""
        return self.flagged > 0 or name not in _OF_FLAGGED

    def contradictions(self, names: tuple[str, ...] = tuple(NAMES)) -> list[str]:
        """Say which assumption each impossible value contradicts."""
        told = [name for name in names if name != "pu_zero_one_risk"]  # 1 − accuracy
        said = (metrics.contradiction(name, *self.metrics[name]) for name in told)
        return [sentence for sentence in said if sentence]

    def to_json(self) -> dict[str, Any]:
        """Return plain values; what has no value (0 / 0) or no bound becomes None.

        Shares are cut off at 0 and 1; ``contradictions`` says what an impossible one contradicts.
        """
        nothing = Estimate(math.nan, math.nan, math.nan)

        def plain(each: Estimate, highest: float = math.inf) -> dict[str, float | None]:
            return {
                name: min(max(value, 0.0), highest) if math.isfinite(value) else None
                for name, value in each._asdict().items()
            }

        return {
            "rows": self.rows,
            "labelled": self.labelled,
            "positives": self.flagged,
            "sampling": self.sampling,
            "prior": plain(self.prior) | {"known": self.prior_known},
            "metrics": {
                name: plain(each if self.is_defined(name) else nothing, _HIGHEST.get(name, 1))
                for name, each in self.metrics.items()
            },
            "contradictions": self.contradictions(),
            "drift": list(self.drift),
        }


def evaluate(
    classifier: BasePUClassifier,
    s: NDArray[np.int8],
    scores: NDArray[np.float32],
    names: Sequence[Any] | NDArray[Any] | None = None,
    images: Any = None,
) -> Evaluation:
    """Judge a classifier by rows that it was not fitted to.

    Parameters
    ----------
    classifier : BasePUClassifier
        Fitted; its prior, its sampling and its threshold are used.
    s : ndarray of shape (n,)
        PU labels: 1, 0, −1.
    scores : ndarray of shape (n,)
        What ``decision_function`` returned.
    names : sequence of length n, optional
        What the rows are called; by default by their number.
    images : object, optional
        The images, if `classifier` is `ImagePU`: its page shows some.

    Raises
    ------
    InputError, ParameterError
        If these rows cannot judge it: no labelled or no unlabelled row, or a prior that cannot be
        theirs.
    """
    s = np.asarray(s)
    if not (s == 1).any() or not (s == 0).any():
        raise InputError("To judge a model takes labelled and unlabelled rows.")
    flagged = (scores.astype(np.float64) > classifier.threshold_).astype(int)
    prior, estimate = prior_interval(classifier), classifier.prior_estimate_
    taken = (
        prior.value
        if estimate is None
        else replace(estimate, value=prior.value, low=prior.low, high=prior.high)
    )
    found = {}
    for name, metric in metrics.METRICS.items():
        values = scores if name == "pu_roc_auc" else flagged
        how: dict[str, Any] = {"prior": taken, "sampling": classifier.sampling}
        limits = metrics.interval(name, s, values, **how)
        found[name] = Estimate(metric(s, values, **how), *limits)
    return Evaluation(
        prior=prior,
        prior_known=estimate is None or estimate.identified,
        metrics=found,
        sampling=classifier.sampling,
        rows=len(s),
        labelled=int((s == 1).sum()),
        flagged=int(flagged.sum()),
        s=s,
        scores=scores,
        ranking=rank_rows(s, scores, classifier.threshold_, names),
        images=images,
    )


def prior_lines(prior: Estimate, known: bool) -> list[str]:
    """Say in a line or two what is known of the share of positives.

    Examples
    --------
    >>> prior_lines(Estimate(0.3, 0.3, 0.3), known=True)
    ['Share of positives: 0.3, as given.']
    """
    low, high = f"{prior.low:.2f}", f"{prior.high:.2f}"
    if not known:
        return [
            f"THE SHARE OF POSITIVES IS NOT KNOWN: {low} to {high}, best guess {prior.value:.2f}.",
            "The figures are ranges over it. To narrow them: --prior, or nnpu review.",
        ]
    if prior.low == prior.high:
        return [f"Share of positives: {prior.value:.3g}, as given."]
    return [f"Share of positives: {prior.value:.3f} ({low} to {high})."]


def prior_interval(classifier: BasePUClassifier) -> Estimate:
    """Return the prior of a classifier with its interval, of zero width if it was given.

    The estimate is of P ∪ U; known negatives make the classifier's prior a part of it.
    """
    estimate, prior = classifier.prior_estimate_, classifier.prior_
    if estimate is None:
        return Estimate(prior, prior, prior)
    scale = prior / estimate.value
    return Estimate(prior, estimate.low * scale, estimate.high * scale)


def _row(name: str, value: str, limits: str, *, known: bool) -> str:
    """Return a line of the figures: the value first, or the range first and alone in the heading.

    With a prior that is not known, the value is that of the best guess.
    """
    if known:
        return f"  {name:14}{value:>8}   {limits}"
    if not name:
        value, limits = "at the best guess", "range"
    return f"  {name:14}{limits:16} {value}".rstrip()


def _shown(name: str, value: float) -> str:
    """Write a share inside of [0, 1]: what lies beyond means nothing; see `contradictions`."""
    if not math.isfinite(value):
        return "-"
    return f"{min(max(value, 0.0), _HIGHEST.get(name, 1.0)):.3f}"
