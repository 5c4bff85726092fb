"""The page about a fitted classifier: scored rows in, a report out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from nnpu import __version__
from nnpu.estimators.evaluation import MEANINGS, NAMES, evaluate, prior_interval
from nnpu.metrics import (
    possible_prior,
    reliability_table,
    score_table,
    threshold_grid,
    threshold_table,
)
from nnpu.report.html import (
    Page,
    calibration_section,
    data_section,
    explorer_section,
    metrics_section,
    prior_section,
    scores_section,
    training_section,
)
from nnpu.report.prior import ratio_panel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from nnpu.estimators.base import BasePUClassifier
    from nnpu.estimators.evaluation import Evaluation
    from nnpu.prior import PriorEstimate
    from nnpu.report import Panel
    from nnpu.report.html import Section

__all__ = ["ASSUMPTION", "model_page", "page", "prior_panel"]

ASSUMPTION = (
    "No true label was seen. The figures rest on the share of positives, and on labelled positives "
    "that are a random part of all positives."
)
_SAMPLING = {
    "one-sample": (
        "All rows are taken as one sample in which some of the positives are labelled "
        "(one-sample); the prior is the share of positives among all rows."
    ),
    "two-sample": (
        "The labelled rows are taken as collected separately from the unlabelled ones "
        "(two-sample); the prior is the share of positives among the unlabelled rows."
    ),
}


def page(clf: BasePUClassifier, X: Any, s: Any, *, title: str = "Report") -> Page:
    """Make the report of any classifier of this package.

    Parameters
    ----------
    clf : classifier
        Fitted.
    X : array-like
        Rows that it was not fitted to.
    s : array-like
        Their PU labels, as in ``fit``.
    title : str, default="Report"
        The heading.

    Returns
    -------
    Page
        It shows itself in a notebook; ``.save(path)`` writes one HTML file.

    Examples
    --------
    >>> import numpy as np
    >>> from nnpu import LinearPU, report
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(400) < 0.5
    >>> X, s = rng.normal(2.0 * y, 1)[:, None], (y & (rng.random(400) < 0.5)).astype(int)
    >>> clf = LinearPU(0.5, sampling="one-sample").fit(X[::2], s[::2])
    >>> report.page(clf, X[1::2], s[1::2]).title
    'Report'
    """
    scores, codes = clf._scored(X, s)
    return model_page(clf, evaluate(clf, codes, scores), title=title)


def model_page(
    classifier: BasePUClassifier,
    found: Evaluation | None,
    *,
    title: str,
    lead: str = "What the model learned, and how far it can be trusted.",
    facts: Mapping[str, str] | None = None,
    remarks: Sequence[str] = (),
    columns: Sequence[tuple[str, str]] = (),
    about_rows: str = ASSUMPTION,
    about_calibration: str = "",
    prior_counts: tuple[int, int] | None = None,
    footer: str = "",
) -> Page:
    """Return the report of a classifier and of rows that judge it.

    Parameters
    ----------
    classifier : BasePUClassifier
        Fitted.
    found : Evaluation or None
        What the rows say; None if no row could judge it.
    title, lead, footer : str
        Heading, first sentence, and how the page came about.
    facts, remarks, columns
        As in `data_section`; the counts of the rows are added.
    about_rows, about_calibration : str
        Which rows judged the model, and what they are to its calibration.
    prior_counts : (int, int), optional
        Labelled and unlabelled rows that the prior was estimated from.
    """
    counts = {} if facts is None and found is None else dict(facts or _counts(found))
    counts["Prior"] = f"{classifier.prior_:.3f}"
    sections = [data_section(counts, [_SAMPLING[classifier.sampling], *remarks], columns)]
    parts: dict[str, Section] = {}
    if found is not None:
        parts = _judged(classifier, found, about_rows, about_calibration)
        sections += [parts["metrics"], parts["explorer"], parts["scores"]]
    sections.append(_prior(classifier, prior_counts))
    if parts:
        sections.append(parts["calibration"])
    history = _sound_history(classifier)
    if history:
        sections.append(training_section(history, beta=getattr(classifier, "beta", 0.0)))
    made = f"nnpu {__version__}" + (f": {footer}" if footer else "")
    return Page(title, lead, sections, made)


def _counts(found: Evaluation | None) -> dict[str, str]:
    assert found is not None
    return {
        "Rows": f"{found.rows:,}",
        "Labelled": f"{found.labelled:,}",
        "Predicted positive": f"{found.flagged:,}",
    }


def _judged(
    classifier: BasePUClassifier, found: Evaluation, about_rows: str, about_calibration: str
) -> dict[str, Section]:
    s, scores = found.s, found.scores
    how: dict[str, Any] = {"prior": classifier.prior_, "sampling": classifier.sampling}
    bins = score_table(s, scores, **how)
    calibration = classifier.calibration_
    reliability = reliability_table(s, calibration(scores), **how)
    rows = [(NAMES[name], *found.metrics[name], MEANINGS[name]) for name in NAMES]
    return {
        "metrics": metrics_section(rows, [about_rows, *found.contradictions()]),
        "explorer": _explorer(classifier, found, (bins[0]["low"], bins[-1]["high"])),
        "scores": scores_section(bins),
        "calibration": calibration_section(
            reliability,
            slope=calibration.slope,
            intercept=calibration.intercept,
            remark=about_calibration,
        ),
    }


def _explorer(
    classifier: BasePUClassifier, found: Evaluation, score_range: tuple[float, float]
) -> Section:
    s, scores = found.s, found.scores
    sampling, own = classifier.sampling, classifier.threshold_
    thresholds = threshold_grid(s, scores, also=own)
    tables = {
        f"{words}: {prior:.3f}": threshold_table(
            s, scores, thresholds, prior=prior, sampling=sampling
        )
        for words, prior in _priors(classifier, s).items()
    }
    population = len(s) if sampling == "one-sample" else int((s == 0).sum())
    return explorer_section(
        tables,
        own=own,
        population=population,
        probabilities=classifier.calibration_(thresholds).tolist(),
        score_range=score_range,
    )


def _priors(classifier: BasePUClassifier, s: NDArray[np.int8]) -> dict[str, float]:
    """The priors to look at, by the words for them: the chosen one first."""
    prior, sampling = classifier.prior_, classifier.sampling
    wanted = {"20 % lower": 0.8 * prior, "20 % higher": 1.2 * prior}
    if classifier.prior_estimate_ is not None:
        _, low, high = prior_interval(classifier)
        wanted |= {"low end of its interval": low, "high end of its interval": high}
    found = {"as chosen": prior}
    for words, value in wanted.items():
        possible = possible_prior(value, s, sampling=sampling)
        short = "" if math.isclose(possible, value) else ", as far as these rows allow"
        found[words + short] = possible
    return found


def _prior(classifier: BasePUClassifier, counts: tuple[int, int] | None) -> Section:
    estimate = classifier.prior_estimate_
    if estimate is None:
        return prior_section(f"The prior, {classifier.prior_:g}, was given.")
    if estimate.curve is None or counts is None:
        return prior_section(estimate.message)
    return prior_section(estimate.message, prior_panel(estimate, *counts))


def prior_panel(estimate: PriorEstimate, n_p: int, n_u: int) -> Panel:
    """Draw q_u / q_p, which tends to the share of positives among the unlabelled rows.

    Parameters
    ----------
    estimate : PriorEstimate
        With its curve.
    n_p, n_u : int
        The numbers of rows that it was made from, or of rows in the same proportion.
    """
    assert estimate.curve is not None
    labelled = n_p / (n_p + n_u)

    def of_unlabelled(share: float) -> float:
        if estimate.sampling == "two-sample":
            return share
        return max((share - labelled) / (1 - labelled), 0.0)

    return ratio_panel(
        estimate.curve.q_p,
        estimate.curve.ratio,
        value=of_unlabelled(estimate.value),
        low=of_unlabelled(estimate.low),
        high=of_unlabelled(estimate.high),
    )


def _sound_history(classifier: BasePUClassifier) -> list[dict[str, float]]:
    """The rows of a history that may come from an untrusted folder, if they can be drawn."""
    history = getattr(classifier, "history_", [])
    needed = ("train_risk", "train_zero_one", "train_positive", "train_negative")
    drawn = ("corrected", *needed, *(name.replace("train", "valid") for name in needed))
    rows = [{name: row[name] for name in drawn if name in row} for row in history]
    sound = all(
        all(name in row for name in needed)
        and all(isinstance(value, float | int) and math.isfinite(value) for value in row.values())
        and row.keys() == rows[0].keys()
        for row in rows
    )
    return rows if sound else []
