"""Options that several commands on a labelled table share, in one wording."""

from __future__ import annotations

import click

__all__ = ["drop_option", "id_option", "label_option", "sampling_option", "seed_option"]

label_option = click.option(
    "--label", required=True, metavar="COLUMN", help="1/true/yes or 0/false/no/empty."
)
sampling_option = click.option(
    "--sampling",
    type=click.Choice(["one-sample", "two-sample"]),
    default="one-sample",
    show_default=True,
    help="How the labelled rows came about.",
)
id_option = click.option("--id", "id_name", metavar="COLUMN", help="Column that names the rows.")
drop_option = click.option(
    "--drop", multiple=True, metavar="COLUMN", help="Leave a column out; repeatable."
)
seed_option = click.option(
    "--seed", type=click.IntRange(min=0, max=2**31 - 1), default=0, show_default=True
)
