"""Predictions as a file: streamed, complete or absent."""

from __future__ import annotations

import csv
import io
import shutil
import sys
import tempfile
import time
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nnpu.files import atomic_path
from nnpu.parameters import InputError
from nnpu.table._messages import OUR_COLUMNS
from nnpu.table.columns.cells import is_string
from nnpu.table.columns.drift import DriftWatch, drift_sentence
from nnpu.terminal import is_live

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from nnpu.data.streams import Batch
    from nnpu.table.table_pu import TablePU

__all__ = ["Written", "check_out", "write_predictions"]

_BACKGROUND = 1_000  # rows of the file that explained rows are compared with
_EVERY = 60.0  # seconds between two lines about a long run


class Written(NamedTuple):
    """What was written: the rows, how many are predicted positive, and what differs in them."""

    rows: int
    positives: int
    drift: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.rows:,} rows, {self.positives:,} predicted positive"


def write_predictions(
    model: TablePU,
    data: Path,
    out: Path,
    *,
    escape_formulas: bool = False,
    explain: bool = False,
) -> Written:
    """Score every row of a file and write id, score, probability and prediction.

    Parameters
    ----------
    model : TablePU
        Fitted.
    data : Path
        The table; CSV and Parquet are streamed, so that memory does not grow with the file.
    out : Path
        A .csv or .parquet file, which appears when all rows are written; ``-`` is standard
        output, as CSV. A pipe is written to as it is.
    escape_formulas : bool, default=False
        Put an apostrophe before ids that a spreadsheet would run as a formula.
    explain : bool, default=False
        Add ``why_base`` and, for each column, ``why_NAME``: what it adds to the score of the row,
        compared with rows from the start of the file. They add up to the score.
    """
    check_out(out, data)
    rows, positives, watch = 0, 0, DriftWatch()
    reasons = _Reasons(model) if explain else None
    with _readable(data) as source, _row_counter(data.name) as count:
        batches = (
            _record_batch(model, batch, scores, count, escape_formulas, reasons)
            for batch, scores in model.scored(source, watch)
        )
        first = next(batches)  # a fault of the file mostly shows here
        with _writer(out, first.schema) as write:
            while first is not None:
                write(first)
                rows += first.num_rows
                positives += int(first.column("prediction").sum().as_py())
                first = next(batches, None)
    drift = watch.lines()
    if drift:
        warnings.warn(drift_sentence(drift), UserWarning, stacklevel=2)
    return Written(rows, positives, drift)


def check_out(out: Path, data: Path) -> None:
    """Raise `InputError` if predictions cannot be written there."""
    if str(out) == "-" or out.is_fifo() or str(out) == "/dev/stdout":
        return
    if out.is_symlink() and not out.exists():
        raise InputError(f"{out} is a link to nothing; remove it or choose another --out.")
    if out.suffix.lower() not in (".csv", ".parquet"):
        raise InputError(f"{out}: predictions are written as .csv or .parquet; change --out.")
    if out.exists() and (out.is_dir() or out.samefile(data)):
        raise InputError(f"{out} is an input of this command, or a folder; choose another --out.")


def _record_batch(
    model: TablePU,
    batch: Batch,
    scores: NDArray[np.float32],
    count: Callable[[int], None],
    escape_formulas: bool,
    reasons: _Reasons | None,
) -> Any:
    """As predict_proba and predict would have it, without scoring the rows again."""
    import pyarrow as pa
    import pyarrow.compute as pc

    count(batch.n_rows)
    ids, name = model.columns_.ids(batch), model.columns_.id_name
    if name in OUR_COLUMNS:
        raise InputError(
            f"The id column is called {name!r}, as a column of the predictions is. Rename it in "
            "the table and fit again."
        )
    if ids is not None and escape_formulas and is_string(ids.type):
        ids = pc.replace_substring_regex(ids, r"^([=+\-@\t\r])", r"'\1")
    columns = {} if ids is None else {name: ids}
    return pa.record_batch(
        columns
        | {
            "score": pa.array(scores),
            "probability": pa.array(model.classifier_.calibration_(scores)),
            "prediction": pa.array(model.flags(scores).astype(np.int8)),
        }
        | ({} if reasons is None else reasons.columns(batch))
    )


class _Reasons:
    """What each column adds to the score of a row, compared with the first rows of the file."""

    def __init__(self, model: TablePU) -> None:
        self._model, self._background = model, None

    def columns(self, batch: Batch) -> dict[str, Any]:
        """Return the columns to add to the predictions of some rows."""
        import pyarrow as pa

        from nnpu.table.named_models import features_for
        from nnpu.table.table_explain import explain_rows

        features = features_for(self._model.classifier_, self._model.columns_, batch)
        if self._background is None:
            self._background = features[:_BACKGROUND]
        base, names, values = explain_rows(self._model, features, self._background)
        columns = {"why_base": pa.array(np.full(len(values), base))}
        return columns | {
            f"why_{name}": pa.array(column) for name, column in zip(names, values.T, strict=True)
        }


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
