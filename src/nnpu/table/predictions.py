"""Predictions as a file: streamed, complete or absent."""

from __future__ import annotations

import csv
import io
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nnpu.files import atomic_path
from nnpu.parameters import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from nnpu.data.streams import Batch
    from nnpu.table.table_pu import TablePU

__all__ = ["Written", "write_predictions"]

_EVERY = 60.0  # seconds between two lines about a long run


class Written(NamedTuple):
    """What was written: the number of rows, and how many are predicted positive."""

    rows: int
    positives: int


def write_predictions(model: TablePU, data: Path, out: Path) -> Written:
    """Score every row of a file and write id, score, probability and prediction.

    Parameters
    ----------
    model : TablePU
        Fitted.
    data : Path
        The table; CSV and Parquet are streamed, so that memory does not grow with the file.
    out : Path
        A .csv or .parquet file. It appears when all rows are written.
    """
    check_out(out, data)
    rows = positives = 0
    with _row_counter(data.name) as count:
        batches = (
            _record_batch(model, batch, scores, count) for batch, scores in model.scored(data)
        )
        first = next(batches)  # a fault of the file mostly shows here
        with _writer(out, first.schema) as write:
            while first is not None:
                write(first)
                rows += first.num_rows
                positives += int(first.column("prediction").sum().as_py())
                first = next(batches, None)
    return Written(rows, positives)


def check_out(out: Path, data: Path) -> None:
    """Raise `InputError` if predictions cannot be written there."""
    if out.suffix.lower() not in (".csv", ".parquet"):
        raise InputError(f"{out}: predictions are written as .csv or .parquet; change --out.")
    if out.exists() and (out.is_dir() or out.samefile(data)):
        raise InputError(f"{out} is the file to read, or a folder; choose another --out.")


def _record_batch(
    model: TablePU, batch: Batch, scores: NDArray[np.float32], count: Callable[[int], None]
) -> Any:
    """As predict_proba and predict would have it, without scoring the rows again."""
    import pyarrow as pa

    count(batch.n_rows)
    ids = model.columns_.ids(batch)
    columns = {} if ids is None else {model.columns_.id_name: ids}
    return pa.record_batch(
        columns
        | {
            "score": pa.array(scores),
            "probability": pa.array(model.classifier_.calibration_(scores)),
            "prediction": pa.array(model.flags(scores).astype(np.int8)),
        }
    )


@contextmanager
def _writer(out: Path, schema: Any) -> Iterator[Any]:
    """Yield what writes a record batch; the file appears when all is written."""
    import pyarrow.csv
    import pyarrow.parquet

    with atomic_path(out) as temporary, temporary.open("wb") as stream:
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
def _row_counter(name: str) -> Iterator[Callable[[int], None]]:
    """Yield what counts rows: with their rate on a terminal, in a line a minute when piped."""
    from tqdm import tqdm

    if sys.stderr.isatty():
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
