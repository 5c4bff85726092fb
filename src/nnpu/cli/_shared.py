"""What commands share: options in one wording, warnings as sentences."""

from __future__ import annotations

import os
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nnpu.cli._paths import ModelOut, Result, Source
from nnpu.parameters import ParameterError, check_prior
from nnpu.terminal import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "as_prior",
    "data_argument",
    "drop_option",
    "fit_options",
    "given_options",
    "id_option",
    "job_options",
    "json_option",
    "label_option",
    "model_argument",
    "positive_option",
    "printed_warnings",
    "reading_options",
    "report_option",
    "sampling_option",
    "seed_option",
    "verbose_option",
    "verbosity",
]

model_argument = click.argument("model_dir", type=Source(model=True))
data_argument = click.argument("data", type=Source())
label_option = click.option(
    "--label",
    required=True,
    metavar="COLUMN",
    help="Label column: 1/true/yes for known positives, 0/false/no/empty if unknown.",
)
positive_option = click.option(
    "--positive", metavar="WORD", help="Label that marks a positive, if labels are words."
)
_READING = (
    click.option("--sep", metavar="CHARACTER", help="Column separator.  [default: detected]"),
    click.option(
        "--decimal", type=click.Choice([".", ","]), help="Decimal mark.  [default: detected]"
    ),
    click.option("--encoding", metavar="NAME", help="Text encoding.  [default: detected]"),
)
sampling_option = click.option(
    "--sampling",
    type=click.Choice(["one-sample", "two-sample"]),
    default="one-sample",
    show_default=True,
    help="One table, some of its positives labelled; or positives collected separately.",
)
id_option = click.option("--id", metavar="COLUMN", help="Column of row ids; not used as a feature.")
drop_option = click.option(
    "--drop", multiple=True, metavar="COLUMN", help="Column to exclude; repeatable."
)
seed_option = click.option(
    "--seed",
    type=click.IntRange(min=0, max=2**31 - 1),
    default=0,
    show_default=True,
    help="Random seed; the same seed gives the same result.",
)
verbose_option = click.option("--verbose", is_flag=True, help="Print when each phase ends.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


def report_option(default: str) -> Callable[[Any], Any]:
    """Return the option --report; `default` says where the page goes without it."""
    return click.option(
        "--report",
        type=Result(dir_okay=False),
        metavar="FILE",
        help=f"HTML report to write.  [default: {default}]",
    )


_JOB = (  # the options that `TablePU` takes, by its names
    click.option(
        "--prior",
        default="auto",
        show_default=True,
        callback=lambda context, _, text: as_prior(text, f"nnpu {context.info_name}"),
        help="Share of positives, such as 0.3; auto estimates it.",
    ),
    sampling_option,
    positive_option,
    id_option,
    drop_option,
    click.option(
        "--groups", metavar="COLUMN", help="Column of groups to keep together, such as patient."
    ),
    click.option(
        "--time", metavar="COLUMN", help="Column that orders the rows; the latest are set aside."
    ),
    click.option("--images", metavar="COLUMN", help="Column of image files to learn from."),
    seed_option,
)
_NETWORK = (
    click.option(
        "--image-size",
        type=click.IntRange(min=5),
        metavar="PIXELS",
        help="Resize images to squares of this size.",
    ),
    click.option("--epochs", type=click.IntRange(min=1), help="Training epochs of the network."),
    click.option(
        "--parallel",
        type=click.Choice(["global", "local"]),
        default="global",
        show_default=True,
        help="Under torchrun: correct the risk of the whole batch, or each process's share.",
    ),
)
_MODEL = (
    click.option(
        "--out",
        type=ModelOut(),
        default=Path("nnpu-model"),
        show_default=True,
        help="Model folder; an existing one is replaced, unless it holds other files.",
    ),
    click.option(
        "--model",
        type=click.Choice(["ensemble", "network", "trees", "linear"]),
        help="Model to fit.  [default: ensemble]",
    ),
)


_ANSWERS = click.option(
    "--answers",
    type=Source(exists=True, dir_okay=False),
    multiple=True,
    metavar="FILE",
    help="Answered sheet from nnpu review to learn from; repeatable.",
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


def as_prior(text: str, owner: str) -> float | str:
    """Return ``"auto"`` or the number that was written."""
    if text == "auto":
        return text
    try:
        return check_prior(float(text), owner, name="--prior")
    except ValueError:
        raise ParameterError(
            f"The '--prior' parameter of {owner} must be 'auto' or a float in the range (0, 1). "
            f"Got {text!r} instead."
        ) from None


@contextmanager
def printed_warnings() -> Iterator[None]:
    """Print this package's warnings as sentences at the end; hide those of the libraries below it.

    After an error there is that one line alone. Of several processes the first prints.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for message in dict.fromkeys(
        " ".join(str(warning.message).split())
        for warning in caught
        if warning.category is UserWarning
    ):
        if os.environ.get("RANK", "0") == "0":
            say(f"Note: {message}", err=True)


def verbosity(talks: bool, verbose: bool) -> int:
    """Return the `verbose` of `TablePU`: 0 is silent, 1 says what is done, 2 also when."""
    return talks * (1 + verbose)
