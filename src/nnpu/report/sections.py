"""The sections of a model's report: the data of each; its markup and fixed words are a template."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nnpu.estimators.evaluation import CLOSE
from nnpu.report.charts import drawing, number
from nnpu.report.html import Section, fill, floor_percent
from nnpu.report.panels import Curve, Panel, calibration_panel, sample_panel, score_panel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from markupsafe import Markup
    from numpy.typing import NDArray

    from nnpu.estimators.evaluation import Evaluation, RankedRow, Ranking
    from nnpu.hidden import Hidden
    from nnpu.ranges import Estimate
    from nnpu.report.verdict import Verdict
    from nnpu.review import Audit

__all__ = [
    "ColumnFate",
    "calibration_section",
    "columns_section",
    "drift_section",
    "hidden_section",
    "importance_section",
    "labels_section",
    "metrics_section",
    "models_section",
    "pictures_section",
    "plain_section",
    "png",
    "prior_section",
    "review_section",
    "rows_section",
    "scores_section",
    "sound_history",
    "training_section",
    "verdict_section",
]

_MOST_LISTED = 12  # columns in the list of those that matter
_BAR = 200  # width of a bar's drawing
_MOST_COLUMNS = 200  # a table of thousands would be all that the page is
_MOST_IMAGES = 8  # of each kind
_LEAST_WIDTH, _MOST_WIDTH = 72, 160  # pixels of an image on the page
_PNG_COLOURS = {1: 0, 3: 2, 4: 6}  # channels, and what PNG calls them
_REVIEWED = {"precision": "blue", "recall": "orange", "accuracy": "green"}


def verdict_section(answer: Verdict, facts: Mapping[str, str | tuple[str, str]]) -> Section:
    """Return the answer, and the figures to see first.

    Parameters
    ----------
    answer : Verdict
        What `nnpu.report.verdict.verdict` returned.
    facts : mapping of str to str or (str, str)
        Figures by what they count, some with a remark.
    """
    tiles = [
        (name, value, "") if isinstance(value, str) else (name, *value)
        for name, value in facts.items()
    ]
    return Section("verdict", "In short", fill("verdict.html", answer=answer, tiles=tiles))


def hidden_section(hidden: Hidden, sizes: Sequence[int], *, audited: bool = False) -> Section:
    """Return how many unlabelled rows are positive, and how high they rank.

    Parameters
    ----------
    hidden : Hidden
        Of an `Evaluation`.
    sizes : sequence of int
        The lengths of the list to speak of.
    audited : bool
        Whether a review gave the figures.
    """
    beside = not (audited or hidden.contradicted or hidden.label_bias == 1)

    def count(share: Estimate, of: int) -> str:
        value, low, high = (f"{round(min(max(end, 0), 1) * of):,}" for end in share)
        return value if low == high else f"{value} ({low}\u00a0to\u00a0{high})"

    def percent(share: Estimate) -> str:
        return f"{100 * share.low:.0f} to {100 * share.high:.0f}\u00a0%"

    head = ["Unlabelled rows", "Positive", "Of all hidden positives"]
    rows = [[f"the first {n:,}", count(hidden.top(n), n), percent(hidden.found(n))] for n in sizes]
    rows.append([f"all {hidden.rows:,}", count(hidden.share, hidden.rows), "100\u00a0%"])
    if beside:
        head.append("Positive, if labels were given at random")
        random = hidden.at_random
        for row, n in zip(rows, [*sizes, hidden.rows], strict=True):
            share = random.share if n == hidden.rows else random.top(n)
            row.append(count(share, n))
    body = fill(
        "hidden.html", audited=audited, at_random=hidden.label_bias == 1, head=head, rows=rows
    )
    return Section("hidden", "The unlabelled rows", body)


def plain_section(lines: Sequence[str]) -> Section:
    """Return how the list of labelled against unlabelled rows differs, a sentence each."""
    return Section("plain", "Is PU learning worth it here?", fill("paragraphs.html", words=lines))


def drift_section(sentences: Sequence[str]) -> Section:
    """Return how the rows differ from those of the fit, a sentence for each difference."""
    body = fill("drift.html", sentences=sentences)
    return Section("drift", "What has changed since the fit", body)


def rows_section(
    ranking: Ranking,
    probability: Callable[[float], float],
    why: Mapping[str, str] | None = None,
    *,
    labelled: Callable[[float], float] | None = None,
    cut: float | None = None,
    remark: str = "",
) -> Section:
    """Return the rows to look at first.

    Parameters
    ----------
    ranking : Ranking
        The rows by name, with their scores.
    probability : callable
        From a score to a probability.
    why : mapping of str to str, optional
        For the name of a row, which columns put it there; empty if nobody knows.
    labelled : callable, optional
        The same as `probability` for rows that have a label.
    cut : float, optional
        The score above which a row without a label is predicted positive.
    remark : str
        What the probabilities assume.
    """
    why = {name: reason for name, reason in (why or {}).items() if reason}

    def listed(rows: Sequence[RankedRow]) -> list[list[str]]:
        of = labelled if rows is ranking.doubted and labelled is not None else probability
        cells = [[row.name, number(row.score), floor_percent(of(row.score))] for row in rows]
        if why:
            for row, line in zip(rows, cells, strict=True):
                line.append(_kept_together(why.get(row.name, "")))
        return cells

    same = ranking.near == ranking.top
    lists = {
        "Most likely positive": ranking.top,
        "Closest to the threshold": () if same else ranking.near,
        "Labelled, but scored low": ranking.doubted,
    }
    body = fill(
        "rows.html",
        lists={caption: listed(rows) for caption, rows in lists.items() if rows},
        same=same,
        why=bool(why),
        remark=remark,
        points=f"{100 * CLOSE:.0f}",
        cut="" if cut is None else number(cut),
    )
    return Section("rows", "Rows to look at first", body)


def _kept_together(reason: str) -> str:
    """Return a reason whose lines break between columns, not around a number."""
    for broken, kept in {" (-": " (\u2212", " (+": " (+", " = ": " = "}.items():
        reason = reason.replace(broken, kept.replace(" ", "\u00a0"))
    return reason


def pictures_section(
    classifier: Any, found: Evaluation, probability: Callable[[float], float], cut: float
) -> Section:
    """Return the section with unlabelled example images of an evaluation.

    Parameters
    ----------
    classifier : ImagePU
        Fitted.
    found : Evaluation
        With its images.
    probability, cut
        As in `rows_section`.
    """
    scores = found.scores.astype(np.float64)
    unlabelled = np.flatnonzero(found.s == 0)
    order = unlabelled[np.argsort(-scores[unlabelled], kind="stable")]
    distance = np.abs(scores[order] - cut)
    near = order[np.sort(np.argsort(distance, kind="stable")[:_MOST_IMAGES])]
    kinds = {
        "Surest positives": order[:_MOST_IMAGES],
        "Closest to the threshold": near,
        "Surest negatives": order[::-1][:_MOST_IMAGES],
    }
    images = iter(classifier.pixels(found.images, np.concatenate(list(kinds.values()))))
    shown = {
        title: [
            (*_source(next(images)), f"probability {floor_percent(probability(scores[row]))}")
            for row in rows
        ]
        for title, rows in kinds.items()
    }
    return Section("images", "Example images", fill("images.html", kinds=shown))


def _source(image: NDArray[np.uint8]) -> tuple[str, int]:
    """Return an image as a URL that holds it, and its width on the page."""
    source = "data:image/png;base64," + base64.b64encode(png(image)).decode()
    return source, min(max(image.shape[1], _LEAST_WIDTH), _MOST_WIDTH)


def png(image: NDArray[np.uint8]) -> bytes:
    r"""Return an image of shape (h, w, c) with 1, 3 or 4 channels as a PNG file.

    Pillow is an extra, and arrays of images need nothing else of it.

    Examples
    --------
    >>> png(np.zeros((2, 2, 3), np.uint8))[:8]
    b'\x89PNG\r\n\x1a\n'
    """
    height, width, channels = image.shape
    head = struct.pack(">IIBBBBB", width, height, 8, _PNG_COLOURS[channels], 0, 0, 0)
    lines = np.zeros((height, 1 + width * channels), np.uint8)  # 0: a line without a filter
    lines[:, 1:] = image.reshape(height, -1)
    parts = {b"IHDR": head, b"IDAT": zlib.compress(lines.tobytes()), b"IEND": b""}
    chunks = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts.items()
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def importance_section(
    rows: Sequence[tuple[str, float, float, float]],
    meaning: str = (
        "How far the ROC AUC falls if a column is shuffled, in points of 100 (chance is 50), with "
        "a 90 % range."
    ),
) -> Section:
    """Return which columns matter.

    Parameters
    ----------
    rows : sequence of (name, value, low, high)
        The importance of each column, with its range.
    meaning : str
        What the numbers are.
    """
    ordered = sorted(rows, key=lambda row: -row[1])[:_MOST_LISTED]
    most = max((high for *_, high in ordered), default=0.0) or 1.0

    def place(value: float) -> float:
        return round(_BAR * min(max(value / most, 0.0), 1.0), 1)

    lines = [(name, *(place(each) for each in ends), _points(*ends)) for name, *ends in ordered]
    left = len(rows) - len(ordered)
    rest = f"{left:,} more columns matter less." if left else ""
    body = fill("importance.html", meaning=meaning, rows=lines, width=_BAR, rest=rest)
    return Section("importance", "Which columns matter", body)


def _points(value: float, low: float, high: float) -> str:
    """Write shares of one in points of 100."""
    words = [f"{100 * each:.1f}".replace("-0.0", "0.0") for each in (value, low, high)]
    return f"{words[0]} ({words[1]} to {words[2]})".replace("-", "\u2212")


def models_section(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    words: str = "",
    unused: Sequence[Sequence[str]] = (),
) -> Section:
    """Return the models that were compared, as a plain table.

    Parameters
    ----------
    head, rows
        Names of the columns, and the cells.
    words : str
        A sentence above them.
    unused : sequence of sequences of str
        Name and reason of each model that the score does not rest on, which is folded away.
    """
    names = [*head[:1], *head[2:], "Reason"]
    body = fill(
        "models.html",
        words=[words] if words else [],
        used={"head": head, "rows": rows},
        unused={"head": names, "rows": unused},
    )
    return Section("models", "Models compared", body)


def metrics_section(
    rows: Sequence[tuple[str, float, float, float, str]],
    remarks: Sequence[str] = (),
    *,
    known: bool = True,
) -> Section:
    """Return the metrics at the model's own threshold.

    Parameters
    ----------
    rows : sequence of (name, value, low, high, meaning)
        The estimates with their 90 % ranges, and what they are; a value of NaN means that no
        row is predicted positive.
    remarks : sequence of str
        Sentences below them.
    known : bool
        Whether the prior is known; if not, the range comes first.
    """
    lines = []
    for name, value, low, high, meaning in rows:
        cells = [_figure(value), f"{_figure(low)} to {_figure(high)}"]
        if math.isnan(value):
            cells = ["–", "no row is predicted positive"]
        lines.append((name, meaning, cells if known else cells[::-1]))
    head = ["Estimate", "90 % range"] if known else ["Range", "At the best guess"]
    body = fill("metrics.html", head=["Metric", *head], rows=lines, remarks=remarks)
    return Section("metrics", "All rows, if labels were given at random", body)


def _figure(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "–"


def scores_section(rows: Sequence[Mapping[str, float]]) -> Section:
    """Return the histograms of P and U, and U split into its two parts.

    Parameters
    ----------
    rows : sequence of mappings
        What `nnpu.metrics.score_table` returned.
    """
    drawings = [
        drawing(sample_panel(rows), "scores-1", marker=True),
        drawing(score_panel(rows), "scores-2", marker=True),
    ]
    return Section("scores", "The scores", fill("scores.html", drawings=drawings))


def prior_section(
    message: str, panel: Panel | None = None, scenarios: Markup | None = None
) -> Section:
    """Return what is known about the prior, and what depends on it.

    Parameters
    ----------
    message : str
        The estimate in words, or that it was given.
    panel : Panel, optional
        What `nnpu.report.panels.prior_panel` made.
    scenarios : Markup, optional
        What `nnpu.report.explorer.scenarios_table` made.
    """
    drawings = [] if panel is None else [drawing(panel, "prior-1")]
    body = fill("prior.html", message=message, drawings=drawings, scenarios=scenarios)
    return Section("prior", "The share of positives", body)


def calibration_section(
    rows: Sequence[Mapping[str, float]], *, slope: float, intercept: float, remark: str = ""
) -> Section:
    """Return how far predicted probabilities are to be believed.

    Parameters
    ----------
    rows : sequence of mappings
        What `nnpu.metrics.reliability_table` returned.
    slope, intercept : float
        Of the calibration.
    remark : str
        Which rows these are.
    """
    body = fill(
        "calibration.html",
        drawings=[drawing(calibration_panel(rows), "calibration-1")],
        slope=slope,
        intercept=intercept,
        remark=remark,
    )
    return Section("calibration", "The probabilities", body)


def labels_section(message: str, suspects: Sequence[str] = ()) -> Section:
    """Return what is known about who was labelled.

    Parameters
    ----------
    message : str
        What the test of labels given at random says; may be empty.
    suspects : sequence of str
        Columns in which labelled rows differ most from the likeliest unlabelled ones.
    """
    body = fill("labels.html", message=message, suspects=suspects)
    return Section("labels", "Who was labelled", body)


class ColumnFate(NamedTuple):
    """What became of a column: its treatment, and cells missing or unseen where counted."""

    name: str
    treatment: str
    missing: int | None = None
    unseen: int | None = None


def columns_section(columns: Sequence[ColumnFate], remarks: Sequence[str] = ()) -> Section:
    """Return what was done with each column.

    Parameters
    ----------
    columns : sequence of ColumnFate
        In the order of the table.
    remarks : sequence of str
        Sentences about them.
    """
    counted = {
        "Missing": [column.missing for column in columns],
        "New or rare values": [column.unseen for column in columns],
    }
    counted = {head: found for head, found in counted.items() if any(x is not None for x in found)}
    rows = [
        [
            column.name,
            column.treatment,
            *("–" if found[i] is None else f"{found[i]:,}" for found in counted.values()),
        ]
        for i, column in enumerate(columns[:_MOST_COLUMNS])
    ]
    left_out = len(columns) - _MOST_COLUMNS
    if left_out > 0:
        rows.append(["…", f"and {left_out:,} more", *("" for _ in counted)])
    body = fill(
        "columns.html",
        remarks=remarks,
        count=len(columns),
        head=["Column", "Treatment", *counted],
        rows=rows,
    )
    return Section("columns", "The columns", body)


def training_section(history: Sequence[Mapping[str, float]], *, beta: float = 0.0) -> Section:
    """Return the risk of each epoch, folded: few readers need it.

    Parameters
    ----------
    history : sequence of mappings
        A row per epoch: ``train_risk``, ``corrected``, and ``valid_risk`` if rows were held out.
    beta : float
        β, for the words.
    """
    epochs = np.arange(1, len(history) + 1)
    curves = [Curve("training", epochs, [row["train_risk"] for row in history])]
    if "valid_risk" in history[0]:
        held_out = [row["valid_risk"] for row in history]
        curves.append(Curve("held out", epochs, held_out, style="dashed"))
    shares = [row["corrected"] for row in history if "corrected" in row]
    panel = Panel("The risk that is minimised", "epoch", "PU risk", curves)
    body = fill(
        "training.html",
        drawings=[drawing(panel, "training-1")],
        epochs=len(history),
        corrected=f"{100 * np.mean(shares):.0f}" if shares else "",
        limit="0" if beta == 0 else f"−{number(beta)}",
    )
    return Section("training", "The training", body)


def sound_history(history: Sequence[Mapping[str, float]]) -> list[dict[str, float]]:
    """The rows of a history that may come from an untrusted folder, if they can be drawn."""
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


def review_section(
    audit: Audit, curve: Sequence[Audit], believed: Mapping[str, float], lines: Sequence[str]
) -> Section:
    """Return what a person's answers say beside what was believed, and curves.

    Parameters
    ----------
    audit : Audit
        At the model's threshold.
    curve : sequence of Audit
        At other thresholds.
    believed : mapping of str to float
        The PU estimates.
    lines : sequence of str
        What else there is to say, a sentence each.

    Examples
    --------
    >>> from nnpu.review import Audit, AuditedEstimate
    >>> found = Audit(*[AuditedEstimate(0.5, 0.4, 0.6, 100)] * 4, None, 0.5, 100, 0)
    >>> review_section(found, [found], {"prior": 0.7}, []).title
    'What a person said'
    """
    width = audit.expected(50)
    rows = [
        [
            {"prior": "share of positives"}.get(name, name),
            _answered(figure.value),
            f"{figure.low:.3f} to {figure.high:.3f}",
            f"{believed[name]:.3f}" if name in believed else "",
            f"±\u00a0{width[name] / 2:.3f}",
        ]
        for name, figure in ((name, getattr(audit, name)) for name in ("prior", *_REVIEWED))
    ]
    if audit.precision_unlabelled is not None:
        figure = audit.precision_unlabelled
        ends = f"{figure.low:.3f} to {figure.high:.3f}"
        rows.append(["precision, unlabelled rows", _answered(figure.value), ends, "", ""])
    body = fill(
        "review.html",
        answered=f"{audit.answered:,}",
        rows=rows,
        lines=lines,
        drawings=[drawing(_answers_panel(curve), "review-1")],
    )
    return Section("review", "What a person said", body)


def _answered(value: float) -> str:
    return "none flagged" if np.isnan(value) else f"{value:.3f}"


def _answers_panel(curve: Sequence[Audit]) -> Panel:
    x = np.array([found.threshold for found in curve])
    lines = []
    for name, colour in _REVIEWED.items():
        figures = [getattr(found, name) for found in curve]
        y = np.array([figure.value for figure in figures])
        ends = [
            [figure.value - figure.low for figure in figures],
            [figure.high - figure.value for figure in figures],
        ]
        there = ~np.isnan(y)  # no row is flagged beyond the highest probability
        lines.append(Curve(name, x[there], y[there], np.array(ends)[:, there], colour))
    title = "What each threshold does, from the answers, with 90 % ranges"
    return Panel(title, "threshold (probability)", "estimate", lines, y_range=(0.0, 1.02))
