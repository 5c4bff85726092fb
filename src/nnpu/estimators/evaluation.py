"""`Evaluation`: how good a classifier is, from scored rows and PU labels alone.

The unlabelled rows come first: how many are positive, how high they rank (`nnpu.hidden`), and which
of them are worth a person's look: the top of the ranking, those near the cut, doubted labels.
"""

from __future__ import annotations

import math
import warnings
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import logit

from nnpu import metrics
from nnpu.hidden import (
    LENGTHS,
    Hidden,
    HiddenPositives,
    KnownShare,
    hidden_positives,
    unlabelled_probability,
)
from nnpu.parameters import InputError
from nnpu.prior import PriorEstimate, estimate_prior
from nnpu.ranges import Estimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from nnpu.estimators.base import BasePUClassifier
    from nnpu.estimators.plain import PlainList

__all__ = [
    "CLOSE",
    "MEANINGS",
    "NAMES",
    "Estimate",
    "Evaluation",
    "RankedRow",
    "Ranking",
    "evaluate",
    "hidden_lines",
    "known_share",
    "labelled_share",
    "list_sizes",
    "prior_interval",
    "prior_lines",
    "rank_rows",
    "share_here",
    "unlabelled_cut",
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

#: Rows whose probabilities differ by no more from that of the threshold are near it.
CLOSE = 0.1

_SURE = 1e-3  # a test with a smaller p-value says that labels were not given at random
_HIGHEST = {"lee_liu_score": math.inf}  # the others are shares
_OF_FLAGGED = ("pu_precision", "lee_liu_score")  # 0 / 0 if no row is flagged


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What labelled and unlabelled rows say about a classifier.

    Attributes
    ----------
    hidden : Hidden
        About the unlabelled rows alone (in two samples: about U): `share`, `precision`, `recall`,
        `auc`, each with `value`, `low` and `high`, and ``hidden.at_random``, the same if labels
        were given at random.
    prior : Estimate
        The share of positives that the figures rest on; of zero width if it was given.
    prior_known : bool
        Whether the prior was given or its range can be trusted.
    metrics : mapping of str to Estimate
        Of all rows, if labels were given at random, by the names in `nnpu.metrics`. A range
        covers chance and, if the prior was estimated, the prior's own range.
    sampling : str
        The sampling that the figures assume: "one-sample" or "two-sample".
    rows, labelled, flagged : int
        How many rows there are, have a label, and are predicted positive.
    s, scores : ndarray
        The PU labels and the scores that were judged.
    names : sequence or None
        What the rows are called, if that is known.
    ranking : Ranking or None
        The rows to look at first.
    fold : ndarray or None
        The fold of each row if each was scored by a model that was not fitted to it.
    audited : bool
        Whether `hidden` is what a review of these rows found.
    examples : object
        Rows with their cells, those of the ranking among them, for a report; None if not kept.
    plain : PlainList or None
        How the list differs from that of a plain classifier; None if they were not compared.
    prior_note : str
        Why the share of positives is not that of the training; else empty.
    images : object
        The images that were judged, for a report; None if the rows are not images.
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
    hidden: Hidden = field(repr=False)
    ranking: Ranking | None = field(default=None, repr=False)
    images: Any = field(default=None, repr=False)
    drift: tuple[str, ...] = ()
    cells: Mapping[str, tuple[int, int | None]] = field(default_factory=dict, repr=False)
    fold: NDArray[np.intp] | None = field(default=None, repr=False)
    audited: bool = False
    names: Sequence[Any] | NDArray[Any] | None = field(default=None, repr=False)
    examples: Any = field(default=None, repr=False)
    prior_note: str = ""
    plain: PlainList | None = field(default=None, repr=False)

    def top(self, n: int) -> Estimate:
        """Return the share of positives among the `n` unlabelled rows that rank highest.

        These are the rows that ``nnpu predict --top n`` writes.

        Parameters
        ----------
        n : int
            How many rows; no more than there are.
        """
        return self.hidden.top(n)

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

    def lines(self, most: int = 5) -> list[str]:
        """Return what is known of the unlabelled rows, for a terminal.

        Parameters
        ----------
        most : int, default=5
            How many lengths of the list to speak of.
        """
        return hidden_lines(self, most)

    def figures(self, names: tuple[str, ...] = tuple(NAMES)) -> list[str]:
        """Return the figures of all rows, which hold if labels were given at random."""
        return [*prior_lines(self.prior, self.prior_known), *self._figures(names)]

    def __str__(self) -> str:
        changed = ["What differs from the training rows:"] if self.drift else []
        changed += [f"  {line}" for line in self.drift]
        note = [self.prior_note] if self.prior_note else []
        return "\n".join([*note, *self.lines(), *changed])

    def plain_lines(self) -> list[str]:
        """Say how the list differs from that of a plain classifier, if they were compared."""
        return [] if self.plain is None else self.plain.lines(self.hidden.flagged)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"

    def _figures(self, names: tuple[str, ...]) -> list[str]:
        lines = [_row("", "estimate", "90 % range", known=self.prior_known)]
        for name in names:
            value, *ends = (_shown(name, number) for number in self.metrics[name])
            found = value, " to ".join(ends)
            if not self.is_defined(name):
                found = "-" if self.prior_known else "", "no row is predicted positive"
            lines.append(_row(NAMES[name], *found, known=self.prior_known))
        beyond = sorted(self.contradictions(names), key=lambda line: "within the error" in line)
        return lines + beyond[:1]  # the gravest; the report has them all

    def is_defined(self, name: str) -> bool:
        """Return whether a metric has a value: precision is 0 / 0 if no row is flagged."""
        return self.flagged > 0 or name not in _OF_FLAGGED

    def contradictions(self, names: tuple[str, ...] = tuple(NAMES)) -> list[str]:
        """Say which assumption each impossible value contradicts."""
        wanted = [name for name in names if name != "pu_zero_one_risk"]  # 1 − accuracy
        said = (metrics.contradiction(name, *self.metrics[name]) for name in wanted)
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
            "prior_note": self.prior_note or None,
            "drift": list(self.drift),
            "hidden": hidden_json(self.hidden),
            "audited": self.audited,
            "plain": None if self.plain is None else self.plain.to_json(),
        }


def evaluate(
    classifier: BasePUClassifier,
    s: NDArray[np.int8],
    scores: NDArray[np.float32],
    names: Sequence[Any] | NDArray[Any] | None = None,
    images: Any = None,
    *,
    label_bias: float | str = "typical",
    labelled: float | None = None,
    fold: NDArray[np.intp] | None = None,
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
    label_bias : "typical" or float, default="typical"
        How far labels may be from random; see `nnpu.hidden`.
    labelled : float, optional
        The share of the positives that is labelled; by default that of these rows.
    fold : ndarray of shape (n,), optional
        The fold of each row if each was scored by a model that was not fitted to it.

    Raises
    ------
    InputError, ParameterError
        If these rows cannot judge it: there is no labelled or no unlabelled row.
    """
    s = np.asarray(s)
    if not (s == 1).any() or not (s == 0).any():
        raise InputError("Evaluation needs labelled and unlabelled rows.")
    flagged = (scores.astype(np.float64) > classifier.threshold_).astype(int)
    prior, estimate = prior_interval(classifier), classifier.prior_estimate_
    possible = metrics.possible_prior(prior.value, s, sampling=classifier.sampling)
    c = labelled_share(classifier, s) if labelled is None else labelled
    cut = unlabelled_cut(classifier, c)
    known = known_share(classifier, s)
    hidden = hidden_positives(
        s, scores, cut, known, sampling=classifier.sampling, label_bias=label_bias
    )
    if doubt := _contradiction(classifier, s, prior.value, possible):
        hidden = replace(hidden, contradicted=doubt)
    return Evaluation(
        prior=prior,
        prior_known=estimate is None or (estimate.identified and hidden.identified),
        metrics=_all_metrics(classifier, s, scores, flagged, possible),
        sampling=classifier.sampling,
        rows=len(s),
        labelled=int((s == 1).sum()),
        flagged=int(flagged.sum()),
        s=s,
        scores=scores,
        ranking=rank_rows(
            s,
            scores,
            cut,
            names,
            close=_close(classifier, scores, cut, c),
            of_labelled=float(classifier.threshold_),
        ),
        images=images,
        hidden=hidden,
        fold=fold,
        names=names,
    )


def _all_metrics(
    classifier: BasePUClassifier,
    s: NDArray[np.int8],
    scores: NDArray[np.float32],
    flagged: NDArray[np.intp],
    share: float,
) -> dict[str, Estimate]:
    """Return every metric with its range, under a share of positives that these rows allow."""
    prior: Any = share
    if classifier.prior_estimate_ is not None:  # its range is carried into that of each metric
        known = prior_interval(classifier)
        low, high = min(known.low, share), max(known.high, share)
        prior = replace(classifier.prior_estimate_, value=share, low=low, high=high)
    how: dict[str, Any] = {"prior": prior, "sampling": classifier.sampling}
    found = {}
    for name, metric in metrics.METRICS.items():
        values = scores if name == "pu_roc_auc" else flagged
        found[name] = Estimate(metric(s, values, **how), *metrics.interval(name, s, values, **how))
    return found


def _contradiction(
    classifier: BasePUClassifier, s: NDArray[np.int8], prior: float, possible: float
) -> str:
    """Say what these rows have against the share of positives, or the test against the labels."""
    if possible != prior:
        return (
            f"The share of positives cannot be {prior:.3g} in these rows: "
            f"{np.mean(s == 1):.3g} of them are labelled."
        )
    test = classifier.scar_test_
    if test is not None and test.pvalue < _SURE:
        return (
            f"Labels were not given at random (p = {test.pvalue:.2g}): clear cases were labelled "
            "more often, a column gives the label away, or the prior is too large."
        )
    return ""


def _close(
    classifier: BasePUClassifier, scores: NDArray[np.float32], cut: float, labelled: float
) -> NDArray[np.bool_]:
    """Return which scores are close to the cut of unlabelled rows, by their probabilities."""
    found = unlabelled_probability(classifier.calibration_(scores), labelled)
    at = unlabelled_probability(classifier.calibration_([cut]), labelled)
    return np.asarray(np.abs(found - at) <= CLOSE)


def share_here(
    classifier: BasePUClassifier,
    s: NDArray[np.int8],
    scores: NDArray[np.float32],
    prior: Any = None,
    *,
    judged: Evaluation | None = None,
    owner: str = "evaluate",
) -> tuple[BasePUClassifier, str]:
    """Return the classifier with the share of positives of these rows, and what to say of it.

    Its scores, its probabilities and its threshold stay: they are what is judged.

    Parameters
    ----------
    classifier : BasePUClassifier
        Fitted.
    s, scores
        PU labels and scores of rows that it was not fitted to.
    prior : float, "auto", (low, high) or PriorEstimate, optional
        The share. By default that of the training, unless these rows contradict it.
    judged : Evaluation, optional
        What rows of the training's own population said: an estimate that is off there too says
        nothing against the share of the training.
    owner : str
        Whose parameter `prior` is, for errors.
    """
    if not (s == 1).any() or not (s == 0).any():
        return classifier, ""  # `evaluate` refuses them
    values = np.asarray(scores, dtype=np.float64)
    if prior is None:
        return _checked_share(classifier, s, values, judged)
    here = copy(classifier)
    here.prior, here.scar_test_, here.prior_estimate_ = prior, None, None
    here._check_shared_parameters(owner)
    here._check_labels(s, owner)
    if isinstance(prior, PriorEstimate):
        here.prior_, here.prior_estimate_ = prior.value, prior
    elif isinstance(prior, str | tuple | list):
        here.prior_ = here._estimate_prior((values[s == 1], values[s == 0], None), s, 0)
    else:
        here.prior_ = float(prior)
    return here, ""


def _checked_share(
    classifier: BasePUClassifier,
    s: NDArray[np.int8],
    scores: NDArray[np.float64],
    judged: Evaluation | None,
) -> tuple[BasePUClassifier, str]:
    """Return the classifier with the training's share, or with another if rows contradict it."""
    value, low, high = prior_interval(classifier)
    impossible = metrics.possible_prior(value, s, sampling=classifier.sampling) != value
    here = copy(classifier)
    here.prior, here.scar_test_ = "auto", None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an estimate of 0 is one of the doubts below
        try:
            here.prior_ = here._estimate_prior((scores[s == 1], scores[s == 0], None), s, 0)
            found = prior_interval(here)
            same = found.low <= high and low <= found.high
            same |= not (here.prior_estimate_ and here.prior_estimate_.identified)
            if not same and judged is not None:
                own = np.asarray(judged.scores, dtype=np.float64)
                how: dict[str, Any] = {"sampling": classifier.sampling, "random_state": 0}
                before = estimate_prior(own[judged.s == 1], own[judged.s == 0], **how)
                known = float(np.mean(judged.s >= 0)) if judged.sampling == "one-sample" else 1.0
                same = found.low <= before.high * known and before.low * known <= found.high
        except InputError:  # equal scores, or a single row: they contradict nothing
            return classifier, ""
    if same and not impossible:
        return classifier, ""
    return here, (
        f"The share of positives is not what it was in the fit, {value:.2f}: in these rows it is "
        f"estimated as {found.value:.2f} ({found.low:.2f} to {found.high:.2f}). If you know it, "
        "give it (--prior)."
    )


def labelled_share(classifier: BasePUClassifier, s: NDArray[np.int8] | float) -> float:
    """Return c, the share of the positives that is labelled: 0 in two samples.

    `s` are the PU labels, or the share of the rows that is labelled.
    """
    if classifier.sampling == "two-sample":
        return 0.0
    share = s if isinstance(s, float) else float(np.mean(s == 1))
    return float(min(share / classifier.prior_, 0.999))


def unlabelled_cut(classifier: BasePUClassifier, labelled: float) -> float:
    """Return the score above which an unlabelled row is predicted positive.

    It is where P(y = 1 | x, unlabelled) = f (1 − c) / (1 − c f) is what f is at ``threshold_``.
    """
    calibration, cut = classifier.calibration_, float(classifier.threshold_)
    p = float(calibration([cut])[0])
    if not labelled or not 0 < p < 1 or calibration.slope <= 0:
        return cut
    f = p / (1 - labelled + labelled * p)
    return float((logit(f) - calibration.intercept) / calibration.slope)


def known_share(classifier: BasePUClassifier, s: NDArray[np.int8]) -> KnownShare:
    """Return what is known of the share of positives among the unlabelled rows."""
    prior, estimate = prior_interval(classifier), classifier.prior_estimate_
    n_p, n_u, n = int((s == 1).sum()), int((s == 0).sum()), len(s)

    def among(share: float) -> float:
        if classifier.sampling == "two-sample":
            return share
        return float(np.clip((share * n - n_p) / n_u, 0, 1))

    bound = prior.high if estimate is None else estimate.upper_bound * prior.value / estimate.value
    value, low, high = (among(each) for each in prior)
    if estimate is None and value == 0:  # not a share that these rows can have
        low, high = 0.0, among(1.0)
    limits = (0.0, 1.0)
    if isinstance(classifier.prior, tuple | list):
        limits = among(classifier.prior[0]), among(classifier.prior[1])
    audited = estimate is not None and estimate.method == "review"
    return KnownShare(value, low, high, among(min(bound, 1.0)), *limits, audited)


def hidden_lines(found: Evaluation, most: int = 5) -> list[str]:
    """Say what is known of the unlabelled rows: how many are positive, and how high they rank."""
    hidden, sizes = found.hidden, list_sizes(found.hidden)
    sizes = [sizes[i] for i in np.unique(np.linspace(0, len(sizes) - 1, most).round().astype(int))]
    share, rows = hidden.share, hidden.rows

    def count(share: Estimate, of: int) -> tuple[str, str]:
        value, low, high = (f"{round(min(max(end, 0), 1) * of):,}" for end in share)
        return value, f"({low} to {high})"

    about, ends = count(share, rows)
    given = share.low == share.high
    lines = [f"Unlabelled rows: {rows:,}. Positive among them: about {about} {ends}."]
    if given:
        lines = [f"Unlabelled rows: {rows:,}. Positive among them: {about}, from the share given."]
    lines.append("  first rows of the list   positive        share of the hidden positives")
    for n in sizes:
        top, part = count(hidden.top(n), n), hidden.found(n)
        percent = f"{100 * part.low:.0f} to {100 * part.high:.0f} %"
        lines.append(f"  {n:>12,}             {top[0]:>5} {top[1]:<16} {percent}")
    if found.audited:
        lines.append("These figures come from the answers of a review (90 % ranges).")
        return lines
    if hidden.label_bias != 1 and not hidden.contradicted:
        about, ends = count(hidden.at_random.share, rows)
        first = sizes[-1]
        of = count(hidden.at_random.top(first), first)
        many = "" if given else f"{about} {ends} positive, "
        lines.append(
            f"Ranges allow for labels that were not given at random. With random labels: {many}"
            f"{of[0]} {of[1]} of the first {first:,}{' positive' if given else ''}."
        )
    elif not hidden.contradicted:
        lines.append("This holds if labels were given at random among the positives.")
    if hidden.contradicted:
        lines.append(hidden.contradicted)
    return lines


def list_sizes(hidden: Hidden) -> list[int]:
    """Return the lengths of the list to speak of: 20, 50, 100, 200, …, up to half of the rows."""
    likely = max(2 * hidden.share.value * hidden.rows, 100)
    sizes = [n for n in LENGTHS if n <= min(hidden.rows / 2, likely)]
    return sizes[:5] or [max(hidden.rows // 2, 1)]


def hidden_json(hidden: Hidden) -> dict[str, Any]:
    """Return the figures about the unlabelled rows as plain values."""

    def plain(one: HiddenPositives) -> dict[str, Any]:
        figures = {name: getattr(one, name) for name in ("share", "precision", "recall", "auc")}
        rows = {
            name: {k: v if math.isfinite(v) else None for k, v in each._asdict().items()}
            for name, each in figures.items()
        }
        top = {str(n): one.top(n)._asdict() for n in list_sizes(hidden)}
        return {**rows, "top": top}

    return {
        "rows": hidden.rows,
        "predicted_positive": hidden.flagged,
        "label_bias": hidden.label_bias,
        "identified": hidden.identified,
        **plain(hidden),
        "at_random": plain(hidden.at_random),
        "contradicted": hidden.contradicted or None,
    }


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
    """Return the prior of a classifier with its range, of zero width if it was given.

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


_LONGEST_NAME = 80  # characters of a row's name: a table of the page stays a table


class RankedRow(NamedTuple):
    """A row by its name, and its score."""

    name: str
    score: float


class Ranking(NamedTuple):
    """Rows worth a look.

    Attributes
    ----------
    top : tuple of RankedRow
        Unlabelled rows with the highest scores, the highest first.
    near : tuple of RankedRow
        Unlabelled rows whose scores are nearest to the threshold, the highest first; none that is
        far from it.
    doubted : tuple of RankedRow
        Labelled rows below their threshold, the lowest first.
    """

    top: tuple[RankedRow, ...]
    near: tuple[RankedRow, ...]
    doubted: tuple[RankedRow, ...]

    def to_json(self) -> dict[str, list[list[Any]]]:
        """Return plain values."""
        return {name: [list(row) for row in rows] for name, rows in self._asdict().items()}


def rank_rows(
    s: NDArray[np.int8],
    scores: NDArray[np.float32],
    threshold: float,
    names: Sequence[Any] | NDArray[Any] | None = None,
    *,
    most: int = 10,
    close: NDArray[np.bool_] | None = None,
    of_labelled: float | None = None,
) -> Ranking:
    """Return the rows to look at first.

    Parameters
    ----------
    s, scores : ndarray of shape (n,)
        PU labels and scores.
    threshold : float
        A row is predicted positive if its score is greater.
    names : sequence of length n, optional
        What the rows are called; by default by their number, the first is 1.
    most : int
        How many of each.
    close : ndarray of shape (n,), optional
        Which rows are close enough to the threshold to be called near; by default all.
    of_labelled : float, optional
        The threshold of labelled rows, if it is another.

    Examples
    --------
    >>> s, scores = np.array([1, 1, 0, 0, 0]), np.array([2.0, -1.0, 3.0, 0.1, -2.0])
    >>> found = rank_rows(s, scores, 0.0, ["a", "b", "c", "d", "e"], most=1)
    >>> [row.name for part in found for row in part]
    ['c', 'd', 'b']
    """
    values = np.asarray(scores, dtype=np.float64)
    unlabelled, labelled = np.flatnonzero(s == 0), np.flatnonzero(s == 1)
    top = unlabelled[np.argsort(-values[unlabelled], kind="stable")[:most]]
    near = unlabelled if close is None else unlabelled[close[unlabelled]]
    near = near[np.argsort(np.abs(values[near] - threshold), kind="stable")[:most]]
    near = near[np.argsort(-values[near], kind="stable")]
    below = labelled[values[labelled] <= (threshold if of_labelled is None else of_labelled)]
    doubted = below[np.argsort(values[below], kind="stable")[:most]]

    def seen(rows: NDArray[np.intp]) -> tuple[RankedRow, ...]:
        return tuple(RankedRow(_name(names, int(row)), float(values[row])) for row in rows)

    return Ranking(seen(top), seen(near), seen(doubted))


def _name(names: Sequence[Any] | NDArray[Any] | None, row: int) -> str:
    if names is None:
        return f"row {row + 1:,}"
    text = str(names[row])
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"
