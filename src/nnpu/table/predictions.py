"""Predictions as a file: streamed, complete or absent."""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
import shutil
import sys
import tempfile
import time
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import logit

from nnpu.data.cells import is_string
from nnpu.data.folds import LabelledRows
from nnpu.data.streams import Faults
from nnpu.estimators.evaluation import unlabelled_cut
from nnpu.files import atomic_path
from nnpu.parameters import InputError
from nnpu.table._messages import OUR_COLUMNS
from nnpu.table.columns import find_column
from nnpu.table.columns.drift import DriftWatch, drift_sentence
from nnpu.table.fitting import features_for
from nnpu.table.table_explain import explain_rows, row_reasons
from nnpu.terminal import how_many, is_live

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from nnpu.data.streams import Batch
    from nnpu.table.table_pu import TablePU

__all__ = [
    "MOST_RANKED",
    "Cut",
    "PartWritten",
    "Written",
    "check_out",
    "cut_at",
    "cut_at_probability",
    "write_part",
    "write_predictions",
    "write_top",
]

#: Rows up to which a file of predictions has a rank: they wait in memory for it.
MOST_RANKED = 1_000_000

_SHORTEST = 10  # rows of a list; of fewer the best guess is all or nothing
_EVERY = 60.0  # seconds between two lines about a long run


class Written(NamedTuple):
    """What was written.

    Attributes
    ----------
    rows, positives : int
        The rows, and how many of them are predicted positive.
    drift : tuple of str
        What differs in them from the rows of the fit.
    labelled : bool
        Whether the rows had the label column: probabilities are then those of rows that are known
        to be unlabelled, and labelled rows are positive.
    known : int
        How many rows are labelled ones of a fit to two tables: they are not in the list.
    """

    rows: int
    positives: int
    drift: tuple[str, ...] = ()
    labelled: bool = False
    known: int = 0

    def __str__(self) -> str:
        said = f"{how_many(self.rows, 'row')}, {self.positives:,} predicted positive"
        if self.labelled:
            said += ", labelled ones included"
        return said


def _labelled_rows(model: TablePU) -> LabelledRows | None:
    """Return what finds the labelled rows of a fit to two tables; None after other fits."""
    return None if model.labelled_keys_ is None else LabelledRows(model.labelled_keys_)


def write_predictions(
    model: TablePU,
    data: Path,
    out: Path,
    *,
    escape_formulas: bool = False,
    explain: bool = False,
    keep: Sequence[str] = (),
    cut: Cut | None = None,
) -> Written:
    """Score every row of a file and write id, score, probability, prediction and rank.

    Rows without an id have their number in the file instead, ``row``; the first is 1.
    The rank is the place in the list of unlabelled rows, the likeliest positive first; files of
    more than a million rows have none.

    Parameters
    ----------
    model : TablePU
        Fitted.
    data : Path
        The table; CSV and Parquet are streamed, so memory does not grow with the file.
    out : Path
        A .csv or .parquet file, which appears when all rows are written; ``-`` is standard
        output, as CSV. A pipe is written to as it is.
    escape_formulas : bool, default=False
        Put an apostrophe before ids that a spreadsheet would run as a formula.
    explain : bool, default=False
        Add ``why_base`` and, for each column, ``why_NAME``: what it adds to the score of the row,
        compared with rows from the start of the file. They add up to the score; with the rows of
        a fit ``why_out_of_fold`` does its part, the difference between the model and the one
        that scored the row without having seen it.
    keep : sequence of str
        Columns of the file to write too.
    cut : Cut, optional
        Where to cut; by default where the model does.
    """
    check_out(out, data)
    watch = model.drift_watch()
    reasons, known = _Reasons(model) if explain else None, _labelled_rows(model)
    made = _Made(model, escape_formulas, reasons, tuple(keep), cut, known)
    with _readable(data) as source, _row_counter(data.name) as count:
        scored = model.scored(source, watch, overlap=known)
        batches = (made.batch(*each, count) for each in scored)
        first = next(batches)  # a fault of the file mostly shows here
        waiting, more = [first], True
        while more and sum(one.num_rows for one in waiting) <= MOST_RANKED:
            following = next(batches, None)
            more = following is not None
            waiting += [following] if more else []
        if not more:
            waiting = _ranked(waiting, made)
        with _writer(out, waiting[0].schema) as write:
            for one in itertools.chain(waiting, batches if more else ()):
                write(one)
    return made.part(made.rows, watch).concluded(cut)


@dataclass
class PartWritten:
    """What was written of some rows of a table; parts can be added up.

    Attributes
    ----------
    rows, positives, free, flagged : int
        The rows, those that are predicted positive, those without a label, and those of the last
        that are predicted positive.
    labelled, known
        As in `Written`.
    watch : DriftWatch
        Compares them with the rows of the fit.
    faults : Faults
        Counts cells that cannot be read.
    """

    rows: int
    positives: int
    free: int
    flagged: int
    labelled: bool
    known: int
    watch: DriftWatch
    faults: Faults = field(default_factory=Faults)

    def merge(self, other: PartWritten) -> None:
        """Take what was written of other rows."""
        self.rows += other.rows
        self.positives += other.positives
        self.free += other.free
        self.flagged += other.flagged
        self.labelled |= other.labelled
        self.known += other.known
        self.watch.merge(other.watch)
        self.faults.merge(other.faults)

    def concluded(self, cut: Cut | None = None) -> Written:
        """Return what was written, with a warning if it is unlike the fit or nothing is flagged."""
        drift = self.watch.lines()
        if drift:
            warnings.warn(drift_sentence(drift), UserWarning, stacklevel=3)
        if self.free and not self.flagged:
            why = cut.why_none if cut is not None else ""
            warnings.warn(
                f"{why or 'No unlabelled row is above the cut.'} Nothing is predicted positive: go "
                "by the list (--top 100), or choose a lower cut (--at prior, --at recall=0.8).",
                UserWarning,
                stacklevel=3,
            )
        return Written(self.rows, self.positives, drift, self.labelled, self.known)


def write_part(
    model: TablePU,
    batch: Batch,
    out: Path,
    *,
    escape_formulas: bool = False,
    explain: bool = False,
    keep: Sequence[str] = (),
    cut: Cut | None = None,
) -> PartWritten:
    """Score some rows of a table and write them, without a rank, which takes all rows.

    Parameters
    ----------
    batch : Batch
        The rows; ``first`` rows of the table stand before them.
    model, out, escape_formulas, explain, keep, cut
        As in `write_predictions`.
    """
    faults, watch = Faults(), model.drift_watch()
    reasons, known = _Reasons(model) if explain else None, _labelled_rows(model)
    made = _Made(model, escape_formulas, reasons, tuple(keep), cut, known, rows=batch.first)
    ((rows, scores),) = model.scored(replace(batch, faults=faults), watch, overlap=known)
    found = made.batch(rows, scores, lambda _: None)
    with _writer(out, found.schema) as write:
        write(found)
    return made.part(batch.n_rows, watch, faults)


class Cut(NamedTuple):
    """Where unlabelled rows are cut into positive and negative.

    Attributes
    ----------
    score : float
        Rows with a greater score are predicted positive, if it is not known whether they are
        labelled.
    unlabelled : float
        The same for rows that are known to be unlabelled.
    why_none : str
        Why no row of the judgement is above it; else empty.
    """

    score: float
    unlabelled: float
    why_none: str = ""


def cut_at(model: TablePU, wanted: str) -> Cut:
    """Return the cut that a user asked for.

    Parameters
    ----------
    model : TablePU
        Fitted and judged.
    wanted : str
        "accuracy": the model's own. "prior": as many positives as there are. "precision=0.5",
        "recall=0.8": the longest list with that share of positives, and the shortest that finds
        that share of them, both by the best guess. "cost=5": a missed positive costs
        five times as much as a false alarm.
    """
    name, _, text = wanted.partition("=")
    own = Cut(
        float(model.classifier_.threshold_),
        unlabelled_cut(model.classifier_, model.labelled_share_),
    )
    if wanted == "accuracy":
        return own
    if name == "cost":
        return cut_at_probability(model, 1 / (1 + _number(wanted, text, None)))
    found = model.holdout_
    if name not in ("prior", "precision", "recall") or (name == "prior") == bool(text):
        raise InputError(
            f"--at {wanted} is not understood: write accuracy, prior, precision=0.5, recall=0.8 or "
            "cost=5."
        )
    if found is None:
        raise InputError(f"--at {wanted} needs a model that was judged, and this one was not.")
    scores = np.sort(found.scores.astype(np.float64)[found.s == 0])[::-1]
    hidden = found.hidden
    if name == "prior":
        everything = np.sort(found.scores.astype(np.float64))[::-1]
        if model.sampling == "two-sample":
            everything = scores
        among = hidden.at_random.share.value  # what the prior leaves for the unlabelled rows
        counts = round(float(model.prior_) * len(everything)), round(among * len(scores))
        return Cut(_below(everything, counts[0]), _below(scores, counts[1]))
    sizes = np.unique(np.geomspace(1, len(scores), 200).astype(int))
    share = _number(wanted, text, 1.0)
    if name == "precision":
        least = min(_SHORTEST, len(scores))
        tops = {int(n): hidden.top(int(n)) for n in sizes if n >= least}
        n = max((n for n, top in tops.items() if top.value >= share), default=0)
        if not n:
            best, top = max(tops.items(), key=lambda each: (each[1].value, each[0]))
            why = (
                f"No list is expected to be {100 * share:.0f} % positive. The best one, the first "
                f"{how_many(best, 'row')}, is {100 * top.value:.0f} % ({100 * top.low:.0f} % to "
                f"{100 * top.high:.0f} %)."
            )
            return Cut(_below(scores, 0), _below(scores, 0), why)
    else:
        good = [n for n in sizes if hidden.found(int(n)).value >= share]
        n = int(min(good, default=len(scores)))
    return Cut(_below(scores, n), _below(scores, n))


def cut_at_probability(model: TablePU, probability: float) -> Cut:
    """Return the cut at a probability, of the kind that is shown for the row."""
    if not 0 < probability < 1:
        raise InputError(
            f"--threshold must be a probability above 0 and below 1. Got {probability:g} instead."
        )
    calibration, c = model.classifier_.calibration_, model.labelled_share_
    if calibration.slope <= 0:
        raise InputError(
            "The probabilities of this model do not grow with its scores: cut by --at prior, "
            "precision=... or recall=..."
        )

    def score(f: float) -> float:
        return float((logit(f) - calibration.intercept) / calibration.slope)

    return Cut(score(probability), score(probability / (1 - c + c * probability)))


def _below(scores: NDArray[np.float64], n: int) -> float:
    """Return a number that exactly the first `n` of falling scores exceed, ties apart."""
    if n <= 0:
        return float(scores[0])
    if n >= len(scores):
        return float(np.nextafter(scores[-1], -np.inf))
    return float((scores[n - 1] + scores[n]) / 2)


def _number(wanted: str, text: str, most: float | None) -> float:
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 < value < math.inf or (most is not None and value > most):
        what = "a number above 0" if most is None else "a share above 0 and at most 1"
        raise InputError(f"--at {wanted} is not understood: after = comes {what}.")
    return value


def write_top(
    model: TablePU, data: Path, out: Path, n: int, *, escape_formulas: bool = False
) -> Written:
    """Write the unlabelled rows that rank highest, with their own cells.

    Parameters
    ----------
    model, data, out, escape_formulas
        As in `write_predictions`.
    n : int
        How many rows. Rows with a label, if the file has that column, are not in the list; after
        a fit to two tables its labelled rows are not.
    """
    import pyarrow as pa

    check_out(out, data)
    _check_id(model, ("rank", "probability", "why"))
    watch, rows, best, labelled = model.drift_watch(), 0, None, False
    known = _labelled_rows(model)
    with _readable(data) as source, _row_counter(data.name) as count:
        for batch, scores in model.scored(source, watch, overlap=known):
            count(batch.n_rows)
            codes = model.labels_of(batch)
            labelled = labelled or codes is not None
            free = np.flatnonzero(_unlabelled(len(scores), codes, known))
            kept = free[np.argsort(-scores[free], kind="stable")[:n]]
            part = (batch.take(kept), scores[kept], rows + 1 + kept)
            best = part if best is None else _best(best, part, n)
            rows += batch.n_rows
    assert best is not None
    chosen, scores, numbers = best
    codes = np.zeros(len(scores), dtype=np.int8) if labelled else None
    ids = model.columns_.ids(chosen)
    name = model.columns_.id_name if ids is not None else None
    columns: dict[str, Any] = {"rank": pa.array(np.arange(1, len(scores) + 1))}
    columns[name or "row"] = pa.array(numbers) if ids is None else ids
    columns["probability"] = pa.array(model.probabilities(scores, codes))
    columns["why"] = pa.array(row_reasons(model, chosen, np.arange(chosen.n_rows)))
    for key, cells in chosen.columns.items():
        if key != name:
            columns[f"{key} (table)" if key in columns else key] = _plain(cells)
    if escape_formulas:
        columns = _escaped(columns)
    found = pa.RecordBatch.from_pydict(columns)
    with _writer(out, found.schema) as write:
        write(found)
    drift = watch.lines()
    if drift:
        warnings.warn(drift_sentence(drift), UserWarning, stacklevel=2)
    positives, left_out = int(model.flags(scores, codes).sum()), 0 if known is None else known.found
    return Written(len(scores), positives, drift, labelled, left_out)


def _unlabelled(
    n: int, codes: NDArray[np.int8] | None, known: LabelledRows | None
) -> NDArray[np.bool_]:
    """Return which of some rows are in the list: those that are not known to be labelled."""
    if codes is not None:
        return np.asarray(codes == 0)
    return np.ones(n, dtype=bool) if known is None or not n else ~known.rows


def _best(
    first: tuple[Batch, Any, Any], second: tuple[Batch, Any, Any], n: int
) -> tuple[Batch, Any, Any]:
    """Return the n best rows of two parts, the earlier one first among equals."""
    scores = np.concatenate([first[1], second[1]])
    kept = np.argsort(-scores, kind="stable")[:n]
    rows = first[0].joined(second[0]).take(kept)
    return rows, scores[kept], np.concatenate([first[2], second[2]])[kept]


def _plain(cells: Any) -> Any:
    """Return cells as a type that both CSV and Parquet take."""
    import pyarrow as pa

    cells = cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    if pa.types.is_nested(cells.type) or pa.types.is_duration(cells.type):
        texts = [None if value is None else str(value) for value in cells.to_pylist()]
        cells = pa.array(texts, pa.string())
    return cells


def _escaped(columns: dict[str, Any]) -> dict[str, Any]:
    """Return columns with an apostrophe before names and strings that are formulas."""
    import pyarrow.compute as pc

    formula, marked = r"^([=+\-@\t\r])", r"'\1"
    found = {}
    for name, cells in columns.items():
        if is_string(cells.type):
            cells = pc.replace_substring_regex(_plain(cells), formula, marked)
        found[re.sub(formula, marked, name)] = cells
    return found


def check_out(out: Path, data: Path) -> None:
    """Raise `InputError` if predictions cannot be written there."""
    if str(out) == "-" or out.is_fifo() or str(out) == "/dev/stdout":
        return
    if out.is_symlink() and not out.exists():
        raise InputError(f"{out} is a broken link; remove it or choose another --out.")
    if out.suffix.lower() not in (".csv", ".parquet"):
        raise InputError(f"{out}: predictions are written as .csv or .parquet; change --out.")
    if out.exists() and (out.is_dir() or out.samefile(data)):
        raise InputError(f"{out} is an input of this command, or a folder; choose another --out.")


def _check_id(model: TablePU, taken: tuple[str, ...]) -> None:
    name = model.columns_.id_name
    if name in taken:
        raise InputError(
            f"The id column must not be called {name!r}: a column of the predictions has that "
            "name. Rename it in the table and fit again."
        )


@dataclass
class _Made:
    """Makes the rows of the predictions, and counts them."""

    model: TablePU
    escape_formulas: bool
    reasons: _Reasons | None
    keep: tuple[str, ...]
    cut: Cut | None
    known: LabelledRows | None
    rows: int = 0
    positives: int = 0
    free: int = 0  # the rows without a label, and those of them that are predicted positive
    flagged: int = 0
    labelled: bool = False
    unlabelled: list[NDArray[np.bool_]] = field(default_factory=list)

    def batch(self, batch: Batch, scores: NDArray[np.float32], count: Callable[[int], None]) -> Any:
        """As predict_proba and predict would have it, without scoring the rows again."""
        import pyarrow as pa

        count(batch.n_rows)
        model = self.model
        ids, name = model.columns_.ids(batch), model.columns_.id_name
        _check_id(model, OUR_COLUMNS)
        numbers = pa.array(np.arange(self.rows + 1, self.rows + batch.n_rows + 1))
        columns: dict[str, Any] = {"row": numbers} if ids is None else {str(name): ids}
        for extra in self.keep:
            find_column(extra, batch.columns, batch.source)
            taken = extra in OUR_COLUMNS or (extra == "row" and ids is None)
            columns[f"{extra} (table)" if taken else extra] = _plain(batch.columns[extra])
        if self.escape_formulas:
            columns = _escaped(columns)
        codes = model.labels_of(batch)
        flags = self._flags(scores, codes)
        self.rows += batch.n_rows
        self.positives += int(flags.sum())
        if codes is not None and model.sampling == "one-sample":
            self.labelled = True
        free = _unlabelled(len(scores), codes, self.known)
        self.unlabelled.append(free)
        self.free += int(free.sum())
        self.flagged += int(flags[free].sum())
        ours = {
            "score": pa.array(scores),
            "probability": pa.array(model.probabilities(scores, codes)),
            "prediction": pa.array(flags.astype(np.int8)),
        }
        more = {} if self.reasons is None else self.reasons.columns(batch, scores)
        return pa.RecordBatch.from_pydict(columns | ours | more)

    def part(self, rows: int, watch: DriftWatch, faults: Faults | None = None) -> PartWritten:
        """Return what was written of so many rows."""
        known = 0 if self.known is None else self.known.found
        counts = self.positives, self.free, self.flagged, self.labelled, known
        return PartWritten(rows, *counts, watch, faults or Faults())

    def _flags(
        self, scores: NDArray[np.float32], codes: NDArray[np.int8] | None
    ) -> NDArray[np.bool_]:
        if self.cut is None:
            return self.model.flags(scores, codes)
        values = scores.astype(np.float64)
        if codes is None:
            return np.asarray(values > self.cut.score)
        known = self.model.sampling == "one-sample"
        above = values > (self.cut.unlabelled if known else self.cut.score)
        return np.select([codes == 1, codes == -1], [True, False], above) if known else above


def _ranked(batches: list[Any], made: _Made) -> list[Any]:
    """Add the place of each unlabelled row in the list; labelled rows have none."""
    import pyarrow as pa

    free = np.concatenate(made.unlabelled)
    scores = np.concatenate([one.column("score").to_numpy() for one in batches])
    rank = np.zeros(len(scores), dtype=np.int64)
    rows = np.flatnonzero(free)
    rank[rows[np.argsort(-scores[rows], kind="stable")]] = np.arange(1, len(rows) + 1)
    found, first = [], 0
    for one in batches:
        part = slice(first, first + one.num_rows)
        cells = pa.array(rank[part], mask=~free[part])
        place = one.schema.get_field_index("prediction") + 1
        names = [*one.schema.names[:place], "rank", *one.schema.names[place:]]
        arrays = [*one.columns[:place], cells, *one.columns[place:]]
        found.append(pa.RecordBatch.from_arrays(arrays, names))
        first += one.num_rows
    return found


class _Reasons:
    """What each column adds to the score of a row."""

    def __init__(self, model: TablePU) -> None:
        self._model = model

    def columns(self, batch: Batch, scores: NDArray[np.float32]) -> dict[str, Any]:
        """Return the columns to add to the predictions of some rows; they add up to `scores`."""
        import pyarrow as pa

        features = features_for(self._model.classifier_, self._model.columns_, batch)
        found = explain_rows(self._model, features)
        columns = {"why_base": pa.array(np.full(len(found.values), found.base))}
        columns |= {
            f"why_{name}": pa.array(column)
            for name, column in zip(found.columns, found.values.T, strict=True)
        }
        known = self._model.labels_of(batch) is not None or self._model.labelled_keys_ is not None
        if self._model.row_keys_ is not None and known:
            rest = scores - found.base - found.values.sum(axis=1)
            columns["why_out_of_fold"] = pa.array(rest)
        return columns


@contextmanager
def _writer(out: Path, schema: Any) -> Iterator[Any]:
    """Yield what writes a record batch; the file appears when all is written."""
    import pyarrow.csv
    import pyarrow.parquet

    with _opened(out) as stream:
        if out.suffix.lower() == ".parquet":
            with pyarrow.parquet.ParquetWriter(stream, schema) as parquet:
                yield parquet.write_batch
        else:
            header = io.StringIO(newline="")
            csv.writer(header, lineterminator="\n").writerow(schema.names)
            stream.write(header.getvalue().encode())
            options = pyarrow.csv.WriteOptions(include_header=False)
            with pyarrow.csv.CSVWriter(stream, schema, write_options=options) as text:
                yield text.write_batch


@contextmanager
def _opened(out: Path) -> Iterator[IO[bytes]]:
    """Open standard output, a pipe, or a file that appears when it is complete."""
    if str(out) in ("-", "/dev/stdout"):
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    elif out.is_fifo():
        with out.open("wb") as stream:
            yield stream
    else:
        with atomic_path(out) as temporary, temporary.open("wb") as stream:
            yield stream


@contextmanager
def _readable(data: Path) -> Iterator[Path]:
    """Yield the file, or a copy of standard input, which can be read only once."""
    if str(data) != "-":
        yield data
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "standard input.csv"
        with copy.open("wb") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream)
        yield copy


@contextmanager
def _row_counter(name: str) -> Iterator[Callable[[int], None]]:
    """Yield what counts rows: with their rate on a terminal, in a line a minute when piped."""
    from tqdm import tqdm

    if is_live(sys.stderr):
        with tqdm(desc=name, unit=" rows", unit_scale=True, leave=False) as bar:

            def advance(rows: int) -> None:
                bar.update(rows)

            yield advance
        return
    done, due = 0, time.monotonic() + _EVERY

    def count(rows: int) -> None:
        nonlocal done, due
        done += rows
        if time.monotonic() >= due:
            print(f"{name}: {done:,} rows so far", file=sys.stderr)
            due = time.monotonic() + _EVERY

    yield count
