"""``nnpu predict``: a model folder and a table in, a score for every row out."""

from __future__ import annotations

import csv
import io
import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nnpu.parameters import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from nnpu.cli.scoring import TableModel
    from nnpu.data.streams import Batch

__all__ = ["predict"]


@click.command()
@click.argument("model_dir", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("predictions.csv"),
    show_default=True,
    help="File to write, .csv or .parquet.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
def predict(model_dir: Path, data: Path, out: Path, as_json: bool) -> None:
    """Score every row of DATA with the model in MODEL_DIR.

    One row for each row of DATA, in its order: the id column if there is one, score, probability,
    prediction (1 or 0). CSV and Parquet, a file or a folder of files, are streamed: memory does
    not grow with the data.
    """
    from nnpu.cli.labelled import check_writable
    from nnpu.cli.scoring import load_model, scored_batches

    if out.suffix.lower() not in (".csv", ".parquet"):
        raise InputError(f"{out}: predictions are written as .csv or .parquet; change --out.")
    if out.exists() and (out.is_dir() or out.samefile(data)):
        raise InputError(f"{out} is the file to read, or a folder; choose another --out.")
    check_writable(out)
    model = load_model(model_dir)
    rows = positives = 0
    batches = (_record_batch(model, batch, scores) for batch, scores in scored_batches(model, data))
    first = next(batches)  # what is wrong with the file mostly shows here
    with _writer(out, first.schema) as write:
        while first is not None:
            write(first)
            rows += first.num_rows
            positives += int(first.column("prediction").sum().as_py())
            first = next(batches, None)
    if as_json:
        click.echo(json.dumps({"out": str(out), "rows": rows, "positives": positives}))
    else:
        click.echo(f"{rows:,} rows, {positives:,} of them predicted positive: {out}")


def _record_batch(model: TableModel, batch: Batch, scores: NDArray[np.float32]) -> Any:
    """As predict_proba and predict would have it, without scoring the rows again."""
    import numpy as np
    import pyarrow as pa

    ids = model.plan.ids(batch)
    columns = {} if ids is None else {model.plan.id_name: ids}
    positive = scores > model.classifier.threshold_
    return pa.record_batch(
        columns
        | {
            "score": pa.array(scores),
            "probability": pa.array(model.classifier.calibration_(scores)),
            "prediction": pa.array(positive.astype(np.int8)),
        }
    )


@contextmanager
def _writer(out: Path, schema: Any) -> Iterator[Any]:
    """Yield what writes a record batch; the file appears when all is written."""
    import pyarrow.csv
    import pyarrow.parquet

    from nnpu.files import atomic_path

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
