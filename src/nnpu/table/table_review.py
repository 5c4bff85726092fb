"""A review of a table under a fitted model: what to ask, and what the answers say."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from nnpu.data.folds import LabelledRows
from nnpu.estimators.evaluation import unlabelled_cut
from nnpu.estimators.out_of_fold import out_of_fold
from nnpu.files import write_text
from nnpu.hidden import unlabelled_probability
from nnpu.parameters import InputError
from nnpu.ranges import Estimate
from nnpu.review import Audit, ListReview, Review, curves, least_cost, list_count, scar_check
from nnpu.review.audits import FIGURES, SAID, AuditedEstimate
from nnpu.review.desk import Desk
from nnpu.review.page import images_of
from nnpu.review.sheets import cells as table_cells
from nnpu.review.sheets import looks_text, parse_purpose, read_looks
from nnpu.review.worklist import is_kept, load
from nnpu.storage import SUMS, find
from nnpu.table.columns import read_label_cells
from nnpu.table.fit_rows import group_numbers
from nnpu.table.fitting import features_for
from nnpu.table.reading import label_cells
from nnpu.table.table_answers import audited, population, with_answers
from nnpu.table.table_explain import row_reasons
from nnpu.terminal import how_many

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from nnpu.data.folds import Overlap
    from nnpu.data.streams import Batch
    from nnpu.estimators.evaluation import Evaluation
    from nnpu.report.html import Page
    from nnpu.review import Cut, ScarCheck
    from nnpu.table.table_pu import TablePU

__all__ = [
    "Findings",
    "ListFindings",
    "TableReview",
    "column_weights",
    "kept_review",
    "list_findings",
    "list_name",
    "list_review",
    "model_name",
    "review_findings",
    "review_page",
    "serve_review",
    "table_review",
    "take_sheets",
    "work_down",
    "write_rows",
]

_FOLDS = 3  # in which rows of the fit are scored again: each costs a fit
_ROWS, _ROWS_OF_LIST = 100, 30  # to draw, unless somebody says how many
_LONGEST_CELL = 20_000  # characters
_MOST, _HALF = 0.95, 0.5  # of the rows of the fit, and of a table: then it is that of the fit
_FINE = 0.02  # a prior that is known this well changes few decisions
_PU = {"precision": "pu_precision", "recall": "pu_recall", "accuracy": "pu_accuracy"}


@dataclass(frozen=True, eq=False)
class TableReview:
    """A review of the rows of a table that the model's figures are about.

    Attributes
    ----------
    review : Review
        Draws, sheets, answers.
    threshold : float
        The model's cut, on the probability.
    columns : pyarrow.Table
        The rows' own columns, for sheets and pages.
    labelled_probability : array or None
        Of the labelled rows, if there are any.
    batch : Batch
        The table.
    rows : array
        The numbers, in the table, of the rows under review.
    notes : list of str
        How the rows were scored.
    top : int or None
        The length of the list that is reviewed; None for a review of all rows.
    """

    review: Review
    threshold: float
    columns: Any
    labelled_probability: NDArray[np.float64] | None
    batch: Batch
    rows: NDArray[np.intp]
    notes: list[str]
    top: int | None = None

    def reasons(self, model: TablePU) -> list[str]:
        """Return why the model scored the rows of the last draw so; nothing for other rows."""
        drawn = self.review.draws[-1].rows
        lines = [""] * len(self.rows)
        for row, why in zip(drawn, row_reasons(model, self.batch, self.rows[drawn]), strict=True):
            lines[row] = why
        return lines


@dataclass(frozen=True)
class Findings:
    """What the answers say about a model.

    Attributes
    ----------
    audit : Audit
        At the model's cut.
    curve : list of Audit
        At other cuts.
    believed : dict
        What the model and the PU metrics said before.
    scar : ScarCheck or None
        Whether labels look random; None without labelled rows.
    cut : Cut or None
        The cut of least cost, if costs were given.
    notes : list of str
        What was left out or assumed.
    """

    audit: Audit
    curve: list[Audit]
    believed: dict[str, float]
    scar: ScarCheck | None
    cut: Cut | None
    notes: list[str]

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain values; undefined figures are None."""
        plain: dict[str, Any] = _plain(self)
        return plain

    def lines(self) -> list[str]:
        """Return everything as sentences for a terminal."""
        width = self.audit.expected(50)
        lines = [
            f"From {how_many(self.audit.answered, 'answer')}:",
            f"  {'':<22}answers   90 % range       labels alone   with 50 more",
        ]
        for name in FIGURES:
            found, was = getattr(self.audit, name), self.believed.get(name)
            lines.append(
                f"{_line(SAID.get(name, name), found)}   {'' if was is None else f'{was:.3f}':<12}"
                f"   about ± {width[name] / 2:.3f}"
            )
        if self.audit.precision_unlabelled is not None:
            lines.append(_line("precision, unlabelled", self.audit.precision_unlabelled))
        return [*lines, *self.remarks()]

    def remarks(self) -> list[str]:
        """Return what there is to say beside the figures, a sentence each."""
        lines = []
        if wanted := self.audit.rows_for(2 * _FINE):
            lines.append(
                f"About {wanted:,} more answers would give the share of positives to ±{_FINE}."
            )
        if self.cut is not None:
            lines.append(
                f"Cut of least cost: {self.cut.threshold:.3f} (between {self.cut.low:.3f} and "
                f"{self.cut.high:.3f} the answers show no difference); cost per row "
                f"{self.cut.cost}, {100 * self.cut.flagged:.1f} % of the rows flagged."
            )
        if self.scar is not None:
            lines.append(self.scar.message)
        return [*lines, *self.audit.notes, *self.notes]


def _line(name: str, found: AuditedEstimate) -> str:
    if np.isnan(found.value):
        return f"  {name:<22}none flagged               "
    return f"  {name:<22}{found.value:<7.3f}   {found.low:.3f} to {found.high:.3f}"


def table_review(
    model: TablePU,
    table: Any,
    *,
    label: Any = None,
    known: Sequence[Any] = (),
    name: str = "",
    top: int | None = None,
) -> TableReview:
    """Score the rows of a table and return a review of them.

    The population is U in two samples and P ∪ U in one sample, where labelled rows are known to be
    positive and are never drawn. Rows of the fit are scored out of fold.

    Parameters
    ----------
    model : TablePU
        Fitted.
    table : table or path
        The rows.
    label : str or array-like, optional
        The PU labels or their column; by default the column of the fit, if the table has it.
    known : sequence of paths
        Answered sheets of a review under another model, such as the one before a fit with its
        answers: their rows are known and never drawn.
    name : str
        A short name of the model, which sheets carry.
    top : int, optional
        Review that many unlabelled rows from the top of the ranking alone.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from nnpu import TablePU
    >>> rng = np.random.default_rng(0)
    >>> fraud = rng.random(400) < 0.4
    >>> amount = rng.normal(np.where(fraud, 90, 40), 20)
    >>> known = np.where(fraud & (rng.random(400) < 0.5), "yes", "")
    >>> table = pa.table({"amount": amount, "known": known})
    >>> model = TablePU(prior=0.4, model="linear").fit(table, "known")
    >>> found = table_review(model, table)
    >>> drawn = found.review.draw(60, random_state=0)
    >>> _ = found.review.answer(fraud[drawn.rows])
    >>> audit = review_findings(model, found).audit
    >>> bool(audit.prior.low < fraud.mean() < audit.prior.high)
    True
    """
    import pyarrow as pa

    batch, codes, scores, notes, label = _scored(model, table, label)
    # The same kind of probability for all rows, so one cut is the same score for all.
    positive = np.asarray(model.classifier_.calibration_(scores), dtype=np.float64)
    share = model.labelled_share_ if label is not None else 0.0
    probability = unlabelled_probability(positive, share)
    kept, names, given = population(batch, model.columns_, codes, model.sampling)
    if known:
        given, line = with_answers(given, names, known)
        notes.append(line)
    if top is not None:
        free = np.flatnonzero(np.isnan(given))
        if top > len(free):
            raise InputError(f"--top {top:,}: there are {len(free):,} unlabelled rows.")
        chosen = free[np.argsort(-scores[kept][free], kind="stable")[:top]]
        kept, names, given = kept[chosen], [names[i] for i in chosen], given[chosen]
        probability[kept] = probability[kept].mean()  # every row of the list has the same chance
    hidden = {model.columns_.id_name} | ({label} if isinstance(label, str) else set())
    shown = {key: cells for key, cells in batch.columns.items() if key not in hidden}
    classifier = model.classifier_
    cut = float(classifier.calibration_(np.array([classifier.threshold_]))[0])
    return TableReview(
        Review(probability[kept], ids=names, known=given, model=name),
        cut,
        pa.table(shown).take(kept) if shown else None,
        probability[codes == 1] if (codes == 1).any() else None,
        batch,
        kept,
        notes,
        top,
    )


def list_review(
    model: TablePU,
    table: Any,
    *,
    label: Any = None,
    known: Sequence[Any] = (),
    name: str = "",
) -> ListReview:
    """Score the rows of a table and return a review that works down their list.

    Parameters
    ----------
    model, table, label, known
        As in `table_review`.
    name : str
        A short name of the model.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from nnpu import TablePU
    >>> rng = np.random.default_rng(0)
    >>> fraud = rng.random(400) < 0.4
    >>> amount = rng.normal(np.where(fraud, 90, 40), 20)
    >>> known = np.where(fraud & (rng.random(400) < 0.5), "yes", "")
    >>> table = pa.table({"amount": amount, "known": known})
    >>> review = list_review(TablePU(prior=0.4, model="linear").fit(table, "known"), table)
    >>> rows = review.next(25, random=0)
    >>> review.answer(rows, fraud[rows])
    >>> review.found
    25
    """
    batch, codes, scores, _, label = _scored(model, table, label)
    share = model.labelled_share_ if label is not None else 0.0
    known_rows = np.select([codes == 1, codes == -1], [1.0, 0.0], np.nan)
    if known:
        rows, names, given = population(batch, model.columns_, codes, model.sampling)
        known_rows[rows], _ = with_answers(given, names, known)
    positive = np.asarray(model.classifier_.calibration_(scores), dtype=np.float64)
    expected = float(unlabelled_probability(positive, share)[np.isnan(known_rows)].sum())
    return ListReview(
        scores,
        _teaching_features(model, batch, scores, np.isnan(known_rows)),
        known=known_rows,
        expected=expected,
        random_state=model.random_state,
        model=name,
    )


def list_name(model_dir: Path, batch: Batch) -> str:
    """Return a short name of a model and a table, which their review carries.

    The table is known by all of its cells, in their order: answers go by the number of the row.
    """
    seen = hashlib.sha256(str(batch.n_rows).encode())
    for column, cells in sorted(batch.columns.items()):
        seen.update(repr((column, _digest(cells))).encode(errors="backslashreplace"))
    for name, matrix in sorted(batch.matrices.items()):
        csr = sparse.csr_array(matrix) if sparse.issparse(matrix) else None
        parts = [matrix] if csr is None else [csr.indptr, csr.indices, csr.data]
        digests = [hashlib.sha256(np.asarray(part).tobytes()).hexdigest() for part in parts]
        seen.update(repr((name, digests)).encode())
    return f"{model_name(model_dir)}|{seen.hexdigest()[:12]}"


def _digest(cells: Any) -> str:
    """Return a digest of the cells of a column, whatever they lie in."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        text = cells.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # nested ones, bytes that are no text
        return hashlib.sha256(repr(cells.to_pylist()).encode(errors="replace")).hexdigest()
    lengths = pc.fill_null(pc.binary_length(text), -1).cast(pa.int64())
    seen = hashlib.sha256(lengths.to_numpy(zero_copy_only=False).tobytes())
    for part in getattr(text, "chunks", [text]):
        there = part.drop_null()
        _, offsets, data = there.buffers()
        if len(there) and data is not None:
            ends = np.frombuffer(offsets, np.int64)[[there.offset, there.offset + len(there)]]
            seen.update(data[int(ends[0]) : int(ends[1])])
    return seen.hexdigest()


def kept_review(
    model: TablePU,
    table: Any,
    folder: Path,
    *,
    name: str,
    label: Any = None,
    known: Sequence[Any] = (),
) -> ListReview:
    """Return the review that a folder keeps, made there if the folder is new.

    Parameters
    ----------
    model, table, label, known
        As in `table_review`; `known` only if the folder is new.
    folder : Path
        Where the review is kept.
    name : str
        Of `list_name`: a review of another model or table is refused.
    """
    if is_kept(folder):
        review = load(folder)
        if review.model != name:
            raise InputError(
                f"{folder} holds a review of another model or table. Use those, or a new folder."
            )
        if known:
            raise InputError(
                f"The review in {folder} has begun: --known goes with the first command only. "
                "Leave it out, or use a new folder."
            )
        return review
    review = list_review(model, table, label=label, known=known, name=name)
    review.save(folder)
    return review


def take_sheets(review: ListReview, paths: Sequence[Path], name: str, by: str) -> list[str]:
    """Give a review the answers of sheets, all of them or none; return what to say.

    Parameters
    ----------
    review : ListReview
        Kept in a folder.
    paths : sequence of Path
        The sheets.
    name : str
        As in `kept_review`.
    by : str
        Who answered.
    """
    sheets = [read_looks(path, name, review.known) for path in paths]
    for sheet in sheets:
        review.answer(*sheet, by=by)
    return [
        f"{how_many(len(rows), 'answer')} read from {path}."
        for path, (rows, _) in zip(paths, sheets, strict=True)
    ]


def work_down(
    model: TablePU,
    batch: Batch,
    review: ListReview,
    out: Path | None = None,
    *,
    n: int | None = None,
    random: float | None = None,
    until: float | None = None,
    by: str = "",
) -> tuple[dict[str, Any], list[str]]:
    """Write the next rows of a review, and return where it stands, as plain values and in words.

    Parameters
    ----------
    model, batch, review
        The model, the table, the review of its list.
    out : Path, optional
        The sheet to write: a CSV file with an empty column `answer`.
    n, random, until, by
        As in `ListReview.next`; without `n` the sheet has the rows that wait for an answer. With
        `until` no row is given out once the certificate is there.
    """
    import pyarrow as pa

    recall = 0.9 if until is None else until
    result, lines = review.to_json(recall=recall), review.lines(recall=recall)
    if out is None or (n and until is not None and result["certificate"]["issued"]):
        return result, lines
    share = 0.1 if random is None else random
    rows = review.next(n, share, until=until, by=by) if n else review.waiting
    if not len(rows):
        words = "No row is left to look at" if n else "No row waits for an answer"
        return result, [*lines, f"{words}: {out} was not written."]
    drawn = review.is_random(rows)
    shown = {key: cells for key, cells in batch.columns.items() if key != model.label_}
    columns = table_cells(pa.table(shown) if shown else None, rows)
    reasons = row_reasons(model, batch, rows)
    write_text(out, looks_text(rows, drawn.tolist(), columns, reasons, review.model))
    result |= {"rows": len(rows), "random": int(drawn.sum()), "files": [str(out)]}
    words = f"{len(rows)} rows to look at, {drawn.sum()} of them drawn at random: {out}"
    return result, [*lines, words]


def serve_review(
    model: TablePU,
    batch: Batch,
    review: ListReview,
    *,
    images: Path | None = None,
    question: str = "Is this row a positive?",
    random: float | None = None,
    until: float | None = None,
    by: str = "",
    port: int = 0,
    announce: Callable[[str], None] = print,
) -> None:
    """Serve a review that a folder keeps as a page of this machine, until Ctrl-C.

    Parameters
    ----------
    model, batch, review
        The model, the table, the review of its list.
    images : Path, optional
        Where names of images in cells are looked up.
    question, port, announce
        As in `nnpu.review.serve.serve`.
    random, until, by
        As in `ListReview.next`.
    """
    import pyarrow as pa

    shown = {key: cells for key, cells in batch.columns.items() if key != model.label_}
    table = pa.table(shown) if shown else None

    def describe(rows: Sequence[int]) -> list[dict[str, Any]]:
        numbers = np.asarray(rows, dtype=np.intp)
        columns = table_cells(table, numbers)
        reasons = row_reasons(model, batch, numbers)
        views = []
        for i in range(len(rows)):
            texts = [values[i] for values in columns.values()]
            pictures = images_of(texts, range(len(texts)), images)
            cells = [
                {"name": _shortened(name), "text": _shortened(text), "image": pictures.get(j)}
                for j, (name, text) in enumerate(zip(columns, texts, strict=True))
            ]
            views.append({"cells": cells, "why": reasons[i]})
        return views

    share = 0.1 if random is None else random
    desk = Desk(review.folder, describe, by=by, random=share, until=until)
    from nnpu.review.serve import serve  # which needs an extra

    serve(desk, question=question, port=port, announce=announce)


def _shortened(text: str) -> str:
    """Return a cell that a browser shows at once."""
    if len(text) <= _LONGEST_CELL:
        return text
    return f"{text[:_LONGEST_CELL]} … ({len(text):,} characters)"


def _teaching_features(model: TablePU, batch: Batch, scores: Any, unknown: Any) -> Any:
    """Return what answers teach by: words in rows of length 1, columns, or what a network sees.

    Columns of numbers are weighed by how far they go with the score among the rows to look at:
    rows are alike if they are in what matters.
    """
    if model.columns_.has_images:
        return model.classifier_.directions(model.columns_.files(batch))
    raw, origin = model.columns_.as_one_matrix(model.columns_.raw(batch))
    if origin is not None:
        return raw
    if sparse.issparse(raw):
        return normalize(raw)
    dense = model.columns_.transform(batch)
    if sparse.issparse(dense):  # a text is one column in the raw view, and thousands here
        return dense
    columns = np.asarray(dense, dtype=np.float64)
    return columns * column_weights(columns[unknown], scores[unknown])


def column_weights(columns: NDArray[np.float64], scores: NDArray[Any]) -> NDArray[np.float64]:
    """Return the correlation of each column with the scores, its sign and scale aside.

    Their mean square is 1. All are 1 if no column goes with the scores.

    Examples
    --------
    >>> column_weights(np.array([[0, 1, 3], [1, 0, 3], [2, 1, 3]]), np.array([2.0, 3.0, 4.0]))
    array([1.73205081, 0.        , 0.        ])
    """
    if len(scores) == 0:
        return np.ones(columns.shape[1])
    apart, score = columns - columns.mean(axis=0), scores - np.mean(scores, dtype=np.float64)
    size = np.sqrt((apart**2).sum(axis=0))
    weight = np.divide(np.abs(score @ apart), size, out=np.zeros(len(size)), where=size > 0)
    scale = float(np.sqrt(np.mean(weight**2)))
    return weight / scale if scale > 0 else np.ones_like(weight)


@dataclass(frozen=True)
class ListFindings:
    """What answers to a random draw say about a list.

    Attributes
    ----------
    top : int
        Rows of the list.
    answered, yes : int
        Clear answers, and how many of them are yes.
    share : Estimate
        The share of positives in the list; exact, whatever the model is.
    share_anytime : Estimate
        The same, valid however the moment to stop was chosen.
    believed : Estimate or None
        What was said before.
    notes : list of str
        What was left out or assumed.
    """

    top: int
    answered: int
    yes: int
    share: Estimate
    share_anytime: Estimate
    believed: Estimate | None
    notes: list[str]

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        plain = asdict(self)
        for name in ("share", "share_anytime", "believed"):
            found = getattr(self, name)
            plain[name] = None if found is None else found._asdict()
        return plain

    def lines(self) -> list[str]:
        """Return the findings for a terminal."""
        count, low, high = (round(end * self.top) for end in self.share)
        any_low, any_high = (round(end * self.top) for end in self.share_anytime[1:])
        lines = [
            f"Of the first {self.top:,} rows {self.answered:,} were answered: {self.yes:,} yes.",
            f"Positive among the {self.top:,}: about {count:,} ({low:,} to {high:,}, exact 90 % "
            "range).",
            f"If you stopped early because of the answers: {any_low:,} to {any_high:,}.",
        ]
        if self.believed is not None:
            ends = [round(end * self.top) for end in self.believed[1:]]
            lines.append(f"Before the answers: {ends[0]:,} to {ends[1]:,}.")
        return [*lines, *self.notes]


def list_findings(model: TablePU, table: TableReview) -> ListFindings:
    """Return what the answers to a review of a list say.

    Parameters
    ----------
    model : TablePU
        Fitted.
    table : TableReview
        Of `table_review` with ``top``, with answers.
    """
    assert table.top is not None
    given = np.concatenate(table.review.answers)
    clear = given[~np.isnan(given)]
    if not clear.size:
        raise InputError("No row of the list has a clear answer.")
    yes, size = int(clear.sum()), table.top

    def share(anytime: bool) -> Estimate:
        found = list_count(yes, clear.size, size, anytime=anytime)
        return Estimate(*(end / size for end in found))

    judged = model.holdout_
    believed = None
    if judged is not None and size <= judged.hidden.rows:
        believed = judged.top(size)
    notes = [*table.notes, *table.review.notes]
    if clear.size < given.size:
        notes.append(
            f"{given.size - clear.size} rows have no clear answer and are ignored: the range holds "
            "if they are like the others."
        )
    return ListFindings(size, clear.size, yes, share(False), share(True), believed, notes)


def review_findings(
    model: TablePU,
    table: TableReview,
    *,
    cost_fp: float | None = None,
    cost_fn: float | None = None,
) -> Findings:
    """Return what the answers of a review say, beside what was believed before.

    Parameters
    ----------
    model : TablePU
        Fitted.
    table : TableReview
        With answers.
    cost_fp, cost_fn : float, optional
        What a false alarm and a miss cost; either gives the cut of least cost (the other is 1).
    """
    review = table.review
    drawn = review.draws[: len(review.answers)]
    given: tuple[Any, ...] = (review.probability, drawn, review.answers)
    audit = review.audit(threshold=table.threshold)
    believed = {"prior": float(model.prior_)}
    judged = model.holdout_
    if judged is not None and not judged.hidden.contradicted:
        believed |= {key: judged.metrics[pu].value for key, pu in _PU.items()}
    scar = cut = None
    if table.labelled_probability is not None and table.labelled_probability.size > 1:
        labelled = table.labelled_probability
        scar = scar_check(*given, labelled_probability=labelled, known=review.known)
    if cost_fp is not None or cost_fn is not None:
        fp, fn = (1.0 if cost is None else cost for cost in (cost_fp, cost_fn))
        cut = least_cost(*given, known=review.known, cost_fp=fp, cost_fn=fn)
    curve = curves(*given, known=review.known)
    return Findings(audit, curve, believed, scar, cut, [*table.notes, *review.notes])


def model_name(folder: Path) -> str:
    """Return a short name of what a model folder holds: sheets say which model asked."""
    return hashlib.sha256((find(folder) / SUMS).read_bytes()).hexdigest()[:12]


def write_rows(
    model: TablePU,
    table: TableReview,
    rows: int | None = None,
    *,
    purpose: str,
    seed: int,
    out: Path | None = None,
    page: Path | None = None,
    question: str = "",
    folder: Path | None = None,
) -> dict[str, Any]:
    """Draw rows to look at, write them, and return how many there are and the files.

    Parameters
    ----------
    model, table
        Fitted, and the review of its table.
    rows, purpose, seed
        As in `Review.draw`; by default 100 rows, 30 of a list.
    out, page : Path, optional
        The sheet and the page to write.
    question, folder
        What the page asks, and where the files that it shows are.
    """
    if rows is None:
        rows = _ROWS if table.top is None else min(_ROWS_OF_LIST, table.top)
    drawn = table.review.draw(rows, purpose=parse_purpose(purpose), random_state=seed)
    shown: dict[str, Any] = {"table": table.columns, "reasons": table.reasons(model)}
    if out:
        table.review.write(out, **shown)
    if page:
        table.review.write_page(page, question=question, folder=folder, **shown)
    return {"rows": len(drawn), "files": [str(path) for path in (out, page) if path]}


def review_page(
    model: TablePU,
    found: Findings,
    table: TableReview | None = None,
    *,
    title: str,
    footer: str = "",
) -> Page:
    """Return the report of the fit with a section on the answers.

    Parameters
    ----------
    model : TablePU
        Fitted.
    found : Findings
        Of `review_findings`.
    table : TableReview, optional
        With the answers: if it is of the rows that judged the model, all figures for unlabelled
        rows are those of the answers.
    title, footer : str
        Heading, and the command that repeats it.
    """
    from nnpu.report.sections import review_section
    from nnpu.table.pages import fit_page

    judged = None if table is None else _with_answers(model, table)
    page = fit_page(model, title=title, footer=footer, judged=judged)
    section = review_section(found.audit, found.curve, found.believed, found.remarks())
    first, *rest = page.sections
    return replace(page, sections=[first, section, *rest])


def _with_answers(model: TablePU, table: TableReview) -> Evaluation | None:
    """Return the model's judgement with the answers in it; None if it was made by other rows."""
    found, review = model.holdout_, table.review
    if found is None or len(found.s) != table.batch.n_rows:
        return None
    if model.sampling == "two-sample":
        same = np.array_equal(np.flatnonzero(found.s == 0), table.rows)
    else:
        same = np.array_equal(found.s == 1, review.known == 1)
    if not same:
        return None
    positive = np.asarray(model.classifier_.calibration_(found.scores), dtype=np.float64)
    judged = unlabelled_probability(positive, model.labelled_share_)[table.rows]
    if not np.allclose(judged, review.probability, atol=1e-4):
        return None
    known = review.known_rows()
    known = known._replace(rows=table.rows[known.rows])
    cut = unlabelled_cut(model.classifier_, model.labelled_share_)
    return audited(found, known, np.arange(len(found.s)), cut, model.label_bias)


def _plain(value: Any) -> Any:
    """Return dataclasses and audited figures by their names, and None for NaN."""
    if isinstance(value, AuditedEstimate):
        value = value.to_json()
    elif is_dataclass(value):
        value = {each.name: getattr(value, each.name) for each in fields(value)}
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and np.isnan(value) else value


def _counts_of_fit(model: TablePU) -> tuple[int, int]:
    """Return how many labelled and unlabelled rows the model was fitted to and judged by."""
    labelled, unlabelled = model.n_labelled_, model.n_unlabelled_
    if model.holdout_ is not None and model.holdout_.fold is None:
        labelled += int((model.holdout_.s == 1).sum())
        unlabelled += int((model.holdout_.s == 0).sum())
    return labelled, unlabelled


def _scored(
    model: TablePU, table: Any, label: Any
) -> tuple[Batch, NDArray[np.int8], NDArray[np.float32], list[str], Any]:
    """Return a table, its PU labels, scores out of fold, notes, and the labels or their column."""
    batch, notes = model._batch(table), list[str]()
    if label is None and model.label_ in batch.columns:
        label = model.label_
    codes = np.zeros(batch.n_rows, dtype=np.int8)
    if label is not None:
        cells, word = label_cells(batch, label), model._known_label()
        codes = read_label_cells(cells, label, batch.source, word).codes
    if label is None and model.labelled_keys_ is not None and model.row_keys_ is not None:
        rows = LabelledRows(model.labelled_keys_)  # no table of a fit to two has the labels
        scores = np.concatenate([part for _, part in model.scored(batch, overlap=rows)])
        return batch, rows.rows.astype(np.int8), scores, notes, None
    overlap = model.overlap()
    scored = model.scored(batch, labelled=label is not None, overlap=overlap)
    scores = np.concatenate([part for _, part in scored])
    known = label is not None
    if known and model.row_keys_ is not None:  # rows of the fit have scores out of fold
        return batch, codes, scores, notes, label
    if known and _is_of_fit(model, codes, overlap):
        unseen = _out_of_fold(model, batch, codes)
        scores = np.where(np.isnan(unseen), scores, unseen)
        notes.append(f"The model was fitted to these rows: they are scored in {_FOLDS} folds.")
    elif overlap is not None and overlap.matters:
        hint = "Review rows that it has not seen" if known else "Give the labels"
        warnings.warn(
            f"About {100 * overlap.of_rows:.0f} % of these rows are rows of the fit, which the "
            f"model has seen: the answers may flatter it. {hint}.",
            UserWarning,
            stacklevel=4,
        )
    return batch, codes, scores, notes, label


def _is_of_fit(model: TablePU, codes: NDArray[np.int8], overlap: Overlap | None) -> bool:
    """Return whether a table is that of the fit, some rows added or taken away."""
    counts = int((codes == 1).sum()), int((codes == 0).sum())
    same_counts = counts == _counts_of_fit(model)
    if overlap is None:  # a folder of an older version
        return same_counts
    if not overlap.tells:
        return same_counts and overlap.of_sample == 1
    return overlap.of_sample >= _MOST and overlap.of_rows >= _HALF


def _out_of_fold(model: TablePU, batch: Batch, codes: NDArray[np.int8]) -> NDArray[np.float32]:
    """Score rows by models that did not see them; NaN for those of a group that all need."""
    features = features_for(model.classifier_, model.columns_, batch)
    groups = group_numbers(batch, model.groups_)
    how = {"seed": model.random_state, "n_folds": _FOLDS}
    return out_of_fold(model.classifier_, features, codes, groups, **how).scores.astype(np.float32)
