"""Options that several commands on a labelled table share, in one wording."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "drop_option",
    "fit_options",
    "given_options",
    "id_option",
    "job_options",
    "json_option",
    "label_option",
    "positive_option",
    "reading_options",
    "report_option",
    "sampling_option",
    "seed_option",
    "verbose_option",
]

label_option = click.option(
    "--label", required=True, metavar="COLUMN", help="1/true/yes or 0/false/no/empty."
)
positive_option = click.option(
    "--positive", metavar="WORD", help="The label of the positives, if it is a word such as fraud."
)
_READING = (
    click.option("--sep", metavar="CHARACTER", help="Separator of a text.  [default: detected]"),
    click.option(
        "--decimal", type=click.Choice([".", ","]), help="Decimal mark.  [default: detected]"
    ),
    click.option("--encoding", metavar="NAME", help="Of a text.  [default: detected]"),
)
sampling_option = click.option(
    "--sampling",
    type=click.Choice(["one-sample", "two-sample"]),
    default="one-sample",
    show_default=True,
    help="How the labelled rows came about.",
)
id_option = click.option("--id", metavar="COLUMN", help="Column that names the rows.")
drop_option = click.option(
    "--drop", multiple=True, metavar="COLUMN", help="Exclude a column; repeatable."
)
seed_option = click.option(
    "--seed", type=click.IntRange(min=0, max=2**31 - 1), default=0, show_default=True
)
verbose_option = click.option("--verbose", is_flag=True, help="Print when each phase ends.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


def report_option(default: str) -> Callable[[Any], Any]:
    """Return the option --report; `default` says where the page goes without it."""
    return click.option(
        "--report",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help=f"Write the report, a page to look at, to this file.  [default: {default}]",
    )


_JOB = (  # the options that `TablePU` takes, by its names
    click.option("--prior", default="auto", show_default=True, help="Share of positives, or auto."),
    sampling_option,
    positive_option,
    id_option,
    drop_option,
    click.option("--groups", metavar="COLUMN", help="Set rows of a group aside together."),
    click.option("--time", metavar="COLUMN", help="Set the latest rows aside."),
    click.option("--images", metavar="COLUMN", help="Learn from image files, relative to DATA."),
    seed_option,
)
_NETWORK = (
    click.option(
        "--image-size",
        type=click.IntRange(min=5),
        metavar="PIXELS",
        help="Resize the images to squares of this side.",
    ),
    click.option("--epochs", type=click.IntRange(min=1), help="Passes of the network."),
    click.option(
        "--parallel",
        type=click.Choice(["global", "local"]),
        default="global",
        show_default=True,
        help="What the processes of a torchrun minimise together.",
    ),
)
_MODEL = (
    click.option(
        "--out",
        type=click.Path(path_type=Path),
        default=Path("nnpu-model"),
        show_default=True,
        help="Model folder; an existing one is replaced.",
    ),
    click.option(
        "--model",
        type=click.Choice(["ensemble", "network", "trees", "linear"]),
        help="What is fitted.",
    ),
)


_ANSWERS = click.option(
    "--answers",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    metavar="FILE",
    help="Answered sheets of nnpu review: the prior, and what they teach; repeatable.",
)


def fit_options(command: Any) -> Any:
    """Add the options of a fit to a command."""
    for option in reversed((label_option, *_MODEL, *_JOB, _ANSWERS, *_READING, *_NETWORK)):
        command = option(command)
    return command


def reading_options(command: Any) -> Any:
    """Add the options that say how a text file is written."""
    for option in reversed(_READING):
        command = option(command)
    return command


def job_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a command under the names that `TablePU` has for them."""
    return {_JOB_NAMES.get(name, name): value for name, value in options.items()}


def given_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were given, for a model that has its own values for the others."""
    return {name: value for name, value in job_options(options).items() if value is not None}


_JOB_NAMES = {"seed": "random_state", "positive": "pos_label"}
