"""``nnpu demo``: the main job on the bundled table, and what to look at in its report."""

from __future__ import annotations

import csv
import io
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nnpu.cli._paths import Command, ResultFolder
from nnpu.cli._shared import json_option, printed_warnings, repeating, show
from nnpu.parameters import InputError
from nnpu.terminal import status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nnpu.ranges import Estimate
    from nnpu.table import TablePU

__all__ = ["demo"]

_TABLE, _PREDICTIONS, _REPORT, _MODEL = "demo.csv", "predictions.csv", "report.html", "model"
_LABEL = "known"
_HEAD = 4096  # bytes of a file in which its mark is looked for
_MARKS = {  # by which the files of an earlier demo are recognised; 0.2.0 wrote no rank
    _PREDICTIONS: (
        b'id,score,probability,prediction,rank\n"T000",',
        b'id,score,probability,prediction\n"T000",',
    ),
    _REPORT: (b"<title>Report: demo.csv</title>",),
}
_FIRST = (20, 50)  # rows of the list that are compared with the truth
_LOOK_AT = """\
Look at these parts of it:
  In short               what was learned, what to expect, what to do next
  The unlabelled rows    how many are malignant, and how many of the first ones
  Rows to look at first  the unlabelled tumours that are most likely malignant
  Choose a threshold     a slider: what another threshold would do"""
_BY_HAND = "The same by hand (labels were drawn at random here, which --label-bias 1 says):"
_YOUR_OWN = "Your own table: nnpu fit FILE.csv --label COLUMN"


@click.command(cls=Command)
@click.option(
    "--out",
    type=ResultFolder(files=(_TABLE, _PREDICTIONS, _REPORT), model=_MODEL),
    default=Path("nnpu-demo"),
    show_default=True,
    help="Folder for demo.csv, predictions.csv, report.html and model. Those of an earlier demo "
    "are replaced; other files of these names are refused.",
)
@json_option
def demo(out: Path, as_json: bool) -> None:
    """Fit a model to a bundled table and write its report, in seconds.

    The table holds measurements of 569 breast tumours. 96 of the malignant ones are labelled; the
    model has to find the others. The output ends with the commands that do the same by hand.
    """
    text = _table_text()
    _check_ours(out, text)
    table, predictions, report, model = files = [
        out / name for name in (_TABLE, _PREDICTIONS, _REPORT, _MODEL)
    ]
    options = [str(table), "--label", _LABEL, "--out", str(model), "--report", str(report)]
    options += ["--label-bias", "1"]
    commands = [
        ["nnpu", "fit", *options],
        ["nnpu", "predict", str(model), str(table), "--out", str(predictions)],
        ["nnpu", "evaluate", str(model), str(table), "--label", _LABEL],
    ]
    with printed_warnings():
        job = _fit(text, table, model, report, options)
        _predict(model, table, predictions)
    found = _compared(job, predictions)
    typed = [shlex.join(command) for command in commands]
    result = {**found, "files": [str(path) for path in files], "commands": typed}
    page = f"Report: {report} (opens in a browser)"
    show(result, [*_lines(found), page, _LOOK_AT, _BY_HAND], as_json=as_json)
    if not as_json:  # whole lines, to be copied
        click.echo("\n".join([*(f"  {command}" for command in typed), _YOUR_OWN]))


def _table_text() -> bytes:
    """Return the bundled table as CSV."""
    from nnpu.data import example_table

    table, stream = example_table(), io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return stream.getvalue().encode()


def _check_ours(out: Path, text: bytes) -> None:
    """Raise `InputError` if the demo would replace anything but an earlier demo."""
    names = [
        name for name in (_TABLE, _PREDICTIONS, _REPORT, _MODEL) if os.path.lexists(out / name)
    ]
    for name in names:
        # The demo writes the table first: without it, the other files are not ours.
        if _TABLE not in names or not _is_ours(out / name, text):
            raise InputError(
                f"{out / name} would be replaced, but is not from an earlier run of this demo; "
                "choose another --out, or move it elsewhere."
            )


def _is_ours(path: Path, text: bytes) -> bool:
    """Return whether an earlier demo may have written this; a link is never ours."""
    if path.is_symlink():
        return False
    if path.name == _MODEL:
        return True  # `Command` has looked into it
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        if path.name == _TABLE:
            return stream.read(len(text) + 1) == text
        head = stream.read(_HEAD)
    return any(mark in head for mark in _MARKS[path.name])


def _fit(text: bytes, table: Path, model: Path, report: Path, options: list[str]) -> TablePU:
    """Write the table, then do what ``nnpu fit`` does with these options."""
    from nnpu.cli.fit import fit
    from nnpu.files import atomic_path
    from nnpu.table import TablePU
    from nnpu.table.run import fit_to_folder

    with atomic_path(table) as temporary:
        temporary.write_bytes(text)
    status(f"Fitting a model to {table} ...")
    job = TablePU(label_bias=1.0)
    again: dict[str, Any] = repeating(fit.make_context("fit", options))
    fit_to_folder(job, table, _LABEL, model, report=report, **again)
    return job


def _predict(model: Path, table: Path, predictions: Path) -> None:
    from nnpu.table import load_table, write_predictions

    write_predictions(load_table(model), table, predictions)


def _compared(job: TablePU, predictions: Path) -> dict[str, Any]:
    """Return what the model says about the unlabelled rows, and what is true."""
    import numpy as np
    from sklearn.datasets import load_breast_cancer

    from nnpu.data import example_table

    malignant = load_breast_cancer().target == 0
    s = example_table()[_LABEL].fill_null(0).to_numpy()
    with predictions.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    flagged = np.array([row["prediction"] == "1" for row in rows])
    rank = np.array([int(row["rank"] or 0) for row in rows])  # labelled rows have none
    hidden, found = (s == 0) & malignant, job.holdout_
    assert found is not None
    return {
        "rows": len(s),
        "labelled": int(s.sum()),
        "unlabelled": int((s == 0).sum()),
        "flagged": int((flagged & (s == 0)).sum()),
        "hidden": _counted(found.hidden.share, found.hidden.rows),
        "top": {str(n): _counted(found.top(n), n) for n in _FIRST},
        "recall": found.hidden.recall._asdict(),
        "held_out": found.to_json(),
        "truth": {
            "hidden": int(hidden.sum()),
            "flagged": int((flagged & hidden).sum()),
            "top": {str(n): int((hidden & (rank <= n)).sum()) for n in _FIRST},
            "recall": float(flagged[hidden].mean()),
        },
    }


def _counted(share: Estimate, rows: int) -> dict[str, int]:
    """Return a share of rows as numbers of rows."""
    return {name: round(end * rows) for name, end in share._asdict().items()}


def _lines(found: Mapping[str, Any]) -> list[str]:
    truth = found["truth"]
    return [
        f"Table: {found['rows']} breast tumours, {found['labelled']} labelled malignant, "
        f"{found['unlabelled']} unlabelled.",
        f"It predicts {found['flagged']} of the unlabelled tumours to be malignant; "
        f"{truth['flagged']} of them are.",
        "What it says about the unlabelled tumours, and the truth, which it never saw:",
        _row("", "estimate", "90 % range", "truth"),
        _compare("malignant among all", found["hidden"], truth["hidden"], "d"),
        *(
            _compare(f"malignant among the first {n}", found["top"][n], truth["top"][n], "d")
            for n in map(str, _FIRST)
        ),
        _compare("share of the malignant found", found["recall"], truth["recall"], ".2f"),
    ]


def _compare(name: str, estimate: Mapping[str, float], truth: float, how: str) -> str:
    value, low, high = (format(estimate[key], how) for key in ("value", "low", "high"))
    return _row(name, value, f"{low} to {high}", format(truth, how))


def _row(name: str, value: str, limits: str, truth: str) -> str:
    return f"  {name:30}{value:>8}   {limits:13}{truth:>8}"
