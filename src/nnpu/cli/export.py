"""``nnpu export``: a model folder in, an ONNX graph out."""

from __future__ import annotations

from pathlib import Path

import click

from nnpu.cli._paths import Command, Result
from nnpu.cli._shared import json_option, model_argument, show
from nnpu.parameters import InputError

__all__ = ["export"]


@click.command(cls=Command)
@model_argument
@click.option(
    "--out",
    type=Result(dir_okay=False),
    default=Path("model.onnx"),
    show_default=True,
    help="Output file, .onnx.",
)
@json_option
def export(model_dir: Path, out: Path, as_json: bool) -> None:
    """Write the model in MODEL_DIR as an ONNX graph, which runs without nnpu.

    Works for the default ensemble (without text), linear models, trees and networks. The graph
    takes the features and gives score, probability and prediction; it is written only if it gives
    the model's scores. Columns become features (dates, levels, spellings) in Python:
    TablePU.transform. The metadata say how, under nnpu.columns.
    """
    if out.suffix.lower() != ".onnx":
        raise InputError(f"{out}: a graph is written as .onnx; change --out.")
    from nnpu.export import to_onnx
    from nnpu.table import TablePU, load

    model = load(model_dir)
    is_table = isinstance(model, TablePU)
    classifier = model.classifier_ if is_table else model
    to_onnx(classifier, None, out, columns=model.columns_.to_json() if is_table else None)
    name, width = type(classifier).__name__, classifier.n_features_in_
    found = {"out": str(out), "model": name, "features": width}
    lines = [f"{name} with {width:,} features: {out}"]
    if is_table:
        lines.append(
            "The graph takes features, not cells. Python turns cells into features (dates, "
            "categories, spellings, units): nnpu.load(MODEL).transform(table) makes them, and "
            "get_feature_names_out() names them."
        )
    show(found, lines, as_json=as_json)
