"""A model folder and a file: scores for every row, a batch at a time."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import click

from nnpu.parameters import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from nnpu.data.streams import Batch
    from nnpu.estimators.base import BasePUClassifier
    from nnpu.table.columns import ColumnPlan

__all__ = ["TableModel", "load_model", "scored_batches"]

_EVERY = 60.0  # seconds between two lines


class TableModel(NamedTuple):
    """A classifier and how a table becomes its features."""

    classifier: BasePUClassifier
    plan: ColumnPlan


def load_model(folder: Path) -> TableModel:
    """Read a folder that ``nnpu fit`` wrote."""
    from nnpu.estimators import load
    from nnpu.estimators.storage import load_columns
    from nnpu.table.columns import ColumnPlan

    plain = load_columns(folder)
    if plain is None:
        raise InputError(
            f"{folder} was not written by nnpu fit: it does not say how a table becomes features; "
            "load it in Python, nnpu.load(folder)."
        )
    model = TableModel(load(folder), ColumnPlan.from_json(plain))
    if model.plan.width != model.classifier.n_features_in_:
        raise InputError(
            f"{folder}: the columns make {model.plan.width} features and the model takes "
            f"{model.classifier.n_features_in_}; fit anew."
        )
    return model


def scored_batches(model: TableModel, data: Path) -> Iterator[tuple[Batch, NDArray[np.float32]]]:
    """Yield the rows of a file with their scores; no row at all is an error."""
    from nnpu.data.streams import stream_rows

    with _row_counter(data.name) as count:
        done = 0
        for batch in stream_rows(data):
            yield batch, model.classifier.decision_function(model.plan.transform(batch))
            done += batch.n_rows
            count(batch.n_rows)
    if done == 0:
        raise InputError(f"{data} has no rows.")


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
            click.echo(f"{name}: {done:,} rows so far", err=True)
            due = time.monotonic() + _EVERY

    yield count
