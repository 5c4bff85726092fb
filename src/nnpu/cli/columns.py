"""``nnpu columns``: what would be done with each column of a table, without fitting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from nnpu.cli._paths import Command
from nnpu.cli._shared import (
    data_argument,
    drop_option,
    groups_option,
    id_option,
    images_option,
    json_option,
    keep_option,
    printed_warnings,
    reading_options,
    show,
    time_option,
)

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["columns"]


@click.command(cls=Command)
@data_argument
@click.option("--label", metavar="COLUMN", help="Label column, which is not a feature.")
@id_option
@drop_option
@keep_option
@groups_option
@time_option
@images_option
@reading_options
@json_option
def columns(data: Path, label: str | None, as_json: bool, **options: Any) -> None:
    """Show what nnpu fit would do with each column of DATA.

    A column is a number, a category, a date, yes or no, text or an id, or it is excluded. Nothing
    is fitted or written. To have a column treated otherwise, use --id, --drop, --keep, --groups or
    --time, or spell its cells another way.
    """
    from nnpu.table import TablePU
    from nnpu.table._messages import column_lines

    with printed_warnings():
        plan = TablePU(**options).plan_columns(data, label)
    lines = column_lines(plan, all_columns=True)
    if label is None:
        lines.append("No label column was named (--label): all columns are shown.")
    found = [{"name": c.name, "kind": c.kind, "treatment": c.description()} for c in plan.columns]
    show({"features": plan.width, "columns": found}, lines, as_json=as_json)
