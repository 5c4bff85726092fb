"""The report of a fitted model: scored rows in, a page out."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nnpu import __version__
from nnpu.cli.judged import Judged, judged_sections, prior_limits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from nnpu.cli.training import Fitted
    from nnpu.estimators.base import BasePUClassifier
    from nnpu.prior import PriorEstimate
    from nnpu.report import Panel
    from nnpu.report.html import Page
    from nnpu.table.columns import ColumnPlan

__all__ = ["evaluate_page", "fit_page", "footer", "prior_panel", "report_option"]

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


def report_option(default: str) -> Callable[[Any], Any]:
    """Return the option --report; `default` says where the page goes without it."""
    return click.option(
        "--report",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help=f"Write the report, a page to look at, to this file.  [default: {default}]",
    )


def footer(command: str = "") -> str:
    """Say what made the page."""
    return f"nnpu {__version__}" + (f": {command}" if command else "")


def fit_page(
    fitted: Fitted,
    plan: ColumnPlan,
    s: NDArray[np.int8],
    held_out: NDArray[np.bool_],
    *,
    data: Path,
    command: str,
) -> Page:
    """Return the report of ``nnpu fit``.

    Parameters
    ----------
    fitted : Fitted
        What came out.
    plan : ColumnPlan
        What was done with the columns.
    s, held_out : ndarray of shape (n,)
        The PU labels of all rows, and which rows were held out.
    data : Path
        The table.
    command : str
        What repeats the run.
    """
    from nnpu.report.html import Page, data_section, prior_section, training_section

    classifier, rows = fitted.classifier, int(held_out.sum())
    facts = _counts(s) | {
        "Held out": f"{rows:,}",
        "Features": f"{plan.width:,}",
        "Prior": f"{classifier.prior_:.3f}",
    }
    remarks = [
        _SAMPLING[classifier.sampling],
        f"The model was fitted to {len(s) - rows:,} rows; the {rows:,} held-out rows were not "
        "shown to it and judge it here.",
    ]
    columns = [(column.name, column.told()) for column in plan.columns]
    given = f"The prior, {classifier.prior_:g}, was given."
    estimate = classifier.prior_estimate_
    found = _judged(fitted, s[held_out])
    sections = [data_section(facts, remarks, columns)]
    if found is None:
        sections[0] = data_section(facts, [*remarks, _NOT_JUDGED], columns)
    else:
        parts = judged_sections(
            found,
            f"Estimated from the {rows:,} held-out rows.",
            "The two numbers of the formula were fitted to the same held-out rows: new rows are a "
            "stricter test (nnpu evaluate --report).",
        )
        sections += [parts["metrics"], parts["explorer"], parts["scores"]]
    sections.append(
        prior_section(given)
        if estimate is None
        else prior_section(estimate.message, prior_panel(estimate, s[~held_out]))
    )
    if found is not None:
        sections.append(parts["calibration"])
    sections.append(training_section(classifier.history_, beta=classifier.beta))
    lead = f"What nnpu fit learned from {data.name}, and how far it is to be believed."
    return Page(f"Report: {data.name}", lead, sections, footer(command))


_NOT_JUDGED = (
    "The held-out rows could not judge the model: they are too few, or the prior cannot be theirs."
)


def _judged(fitted: Fitted, s: NDArray[np.int8]) -> Judged | None:
    if not fitted.metrics:
        return None
    return Judged(fitted.classifier, s, fitted.scores, fitted.metrics)


def evaluate_page(
    classifier: BasePUClassifier,
    s: NDArray[np.int8],
    scores: NDArray[np.float32],
    metrics: Mapping[str, Mapping[str, float]],
    *,
    data: Path,
    model: Path,
    caveat: str,
) -> Page:
    """Return the report of ``nnpu evaluate``.

    Parameters
    ----------
    classifier : BasePUClassifier
        The model.
    s, scores : ndarray of shape (n,)
        PU labels and scores of the rows of the table.
    metrics : mapping
        What `nnpu.cli.labelled.measure` returned for them.
    data, model : Path
        The table and the model folder.
    caveat : str
        What the reader must know.
    """
    from nnpu.report.html import Page, data_section, prior_section, training_section

    flagged = int((scores > classifier.threshold_).sum())
    facts = _counts(s) | {
        "Predicted positive": f"{flagged:,}",
        "Prior": f"{classifier.prior_:.3f}",
    }
    parts = judged_sections(
        Judged(classifier, s, scores, metrics), caveat, f"Estimated from {len(s):,} rows."
    )
    sections = [
        data_section(facts, [_SAMPLING[classifier.sampling]]),
        parts["metrics"],
        parts["explorer"],
        parts["scores"],
        prior_section(_models_prior(classifier)),
        parts["calibration"],
    ]
    history = _sound_history(classifier)
    if history:
        sections.append(training_section(history, beta=getattr(classifier, "beta", 0.0)))
    lead = f"How good the model {model.name} is, judged by {data.name}."
    return Page(f"Evaluation: {data.name}", lead, sections, footer())


def _models_prior(classifier: BasePUClassifier) -> str:
    words = f"The prior, {classifier.prior_:.3f}, is the one that the model has."
    limits = prior_limits(classifier)
    if limits is None:
        return words
    low, high = limits
    return f"{words} It was estimated when the model was fitted: {low:.3f} to {high:.3f}."


def _sound_history(classifier: BasePUClassifier) -> list[dict[str, float]]:
    """The rows of a history that may come from a stranger's folder, if they can be drawn."""
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


def _counts(s: NDArray[np.int8]) -> dict[str, str]:
    counts = {"Rows": len(s), "Labelled": int((s == 1).sum())}
    if negatives := int((s == -1).sum()):
        counts["Known negatives"] = negatives
    return {name: f"{count:,}" for name, count in counts.items()}


def prior_panel(estimate: PriorEstimate, s: NDArray[np.int8]) -> Panel:
    """Draw q_u / q_p, which tends to the share of positives among the unlabelled rows.

    Parameters
    ----------
    estimate : PriorEstimate
        With its curve.
    s : ndarray
        The labels of the rows that it was made from, or of rows like them.
    """
    from nnpu.report.prior import ratio_panel

    assert estimate.curve is not None
    n_p, n_u = int((s == 1).sum()), int((s == 0).sum())
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
