"""What commands share: options in one wording, warnings as sentences, words or JSON out.

Options may come from a TOML file. A run of ``nnpu fit`` leaves its configuration, its log, and the
command that repeats it.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shlex
import tomllib
import warnings
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nnpu.cli._paths import ModelOut, Result, Source, also_read
from nnpu.parameters import (
    InputError,
    ParameterError,
    check_label_bias,
    check_prior,
    check_prior_range,
    shown,
)
from nnpu.terminal import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

__all__ = [
    "as_command",
    "as_label_bias",
    "as_prior",
    "as_share",
    "as_toml",
    "config_option",
    "dask_option",
    "data_argument",
    "draw",
    "drop_option",
    "fit_options",
    "given_options",
    "groups_option",
    "id_option",
    "images_option",
    "job_options",
    "json_option",
    "keep_option",
    "label_option",
    "model_argument",
    "option_key",
    "positive_option",
    "printed_warnings",
    "prior_option",
    "read_config",
    "reading_options",
    "repeating",
    "report_option",
    "sampling_option",
    "seed_option",
    "show",
    "time_option",
    "verbose_option",
    "verbosity",
]


def read_config(context: click.Context, parameter: click.Parameter, path: Path) -> None:
    """Take the options of a TOML file as defaults: what the command line says goes first."""
    try:
        options = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not TOML: {error}.") from error
    known = {option_key(option): option for option in context.command.params if option.name}
    for key in options:
        if key not in known or known[key] is parameter:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise InputError(f"{path}: there is no option {key!r}.{hint}")
    context.default_map = {
        str(known[key].name): _value(known[key], value, f"{path}: the option {key!r}")
        for key, value in options.items()
    }


def _value(option: click.Parameter, value: Any, what: str) -> Any:
    """Return a value as the command line could have given it."""
    repeatable = getattr(option, "multiple", False)
    values = value if repeatable and isinstance(value, list) else [value]
    if getattr(option, "is_flag", False):
        if isinstance(value, bool):
            return value
        raise InputError(f"{what} must be true or false. Got {shown(value)} instead.")
    if not all(isinstance(v, str | int | float) and not isinstance(v, bool) for v in values):
        listed = ", or a list of them" if repeatable else ""
        raise InputError(f"{what} must be a text or a number{listed}. Got {shown(value)} instead.")
    return [str(v) for v in values] if repeatable else str(value)


T = TypeVar("T")


def draw(save: Callable[..., list[T]], *arguments: Any, **options: Any) -> list[T]:
    """Call what saves a picture; without matplotlib say so and go on without the picture."""
    try:
        return save(*arguments, **options)
    except ImportError as error:
        click.echo(f"No picture. {error}", err=True)
        return []


def show(result: Mapping[str, Any], lines: Iterable[str], *, as_json: bool) -> None:
    """Print a result, as JSON or in words."""
    if as_json:
        click.echo(json.dumps(result, indent=2))
    else:
        say(*lines)


def _read_config(
    context: click.Context, parameter: click.Parameter, path: Path | None
) -> Path | None:
    if path is not None:
        also_read(context, path)
        read_config(context, parameter, path)
    return path


config_option = click.option(
    "--config",
    type=Source(exists=True, dir_okay=False),
    is_eager=True,
    expose_value=False,
    callback=_read_config,
    help="TOML file with any of these options.",
)


def option_key(option: click.Parameter) -> str:
    """The name of an option in the file: --id is id, whatever the function calls it."""
    long = [text for text in option.opts if text.startswith("--")]
    return long[0].removeprefix("--") if long else str(option.name)


def repeating(context: click.Context) -> dict[str, str]:
    """Return what repeats a run, from the options it was given: a command line and TOML."""
    given = {
        option_key(option): _written(option, context.params[option.name])
        for option in context.command.params
        if option.name in context.params and option.name not in ("as_json", "verbose")
    }
    plain = {name: _plain(value) for name, value in given.items() if value != "global"}
    data = plain.pop("data")
    command = as_command(str(context.info_name), data, plain)
    return {"command": command, "config": as_toml(command, {"data": data, **plain})}


def _written(option: click.Parameter, value: Any) -> Any:
    """Return a value as it is written after its option: two limits as a range."""
    if isinstance(value, tuple) and not getattr(option, "multiple", False):
        return "-".join(format(Decimal(repr(end)), "f") for end in value)  # no exponent
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, Path) else value


def as_toml(command: str, options: Mapping[str, Any]) -> str:
    """Return the configuration as TOML, with the command that repeats the run on top."""
    lines = ["# " + " ".join(command.splitlines())]  # a file name may hold a line break
    lines += [f"{name} = {_toml(value)}" for name, value in options.items() if value is not None]
    return "\n".join(lines) + "\n"


def as_command(name: str, argument: str | None, options: Mapping[str, Any]) -> str:
    """Return a command line for a shell.

    >>> as_command("fit", "my data.csv", {"label": "s", "drop": ["a", "b"], "epochs": None})
    "nnpu fit 'my data.csv' --label s --drop a --drop b"
    """
    words = [*_launcher(), "nnpu", name, *([] if argument is None else [argument])]
    for option, value in options.items():
        for single in value if isinstance(value, list | tuple) else [value]:
            if single is not None:
                words += [f"--{option}", str(single)]
    return shlex.join(words)


def _launcher() -> list[str]:
    """What comes before the command that started this process, if it has others beside it."""
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        return []
    return ["torchrun", "--nproc-per-node", os.environ["LOCAL_WORLD_SIZE"], "-m"]


def _toml(value: Any) -> str:
    """JSON's strings, numbers and lists are TOML's, but for one control character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


model_argument = click.argument("model_dir", type=Source(model=True))
data_argument = click.argument("data", type=Source())
_LABEL_HELP = "Label column: 1/true/yes for known positives, 0/false/no/empty if unknown."
label_option = click.option("--label", required=True, metavar="COLUMN", help=_LABEL_HELP)
_LABEL = click.option("--label", metavar="COLUMN", help=_LABEL_HELP)  # two tables have none
positive_option = click.option(
    "--positive", metavar="WORD", help="Label that marks a positive, if labels are words."
)
_READING = (
    click.option("--sep", metavar="CHARACTER", help="Column separator.  [default: detected]"),
    click.option(
        "--decimal", type=click.Choice([".", ","]), help="Decimal mark.  [default: detected]"
    ),
    click.option("--encoding", metavar="NAME", help="Text encoding.  [default: detected]"),
    click.option(
        "--sheet", metavar="NAME", help="Sheet of a workbook.  [default: the only one with data]"
    ),
)
sampling_option = click.option(
    "--sampling",
    type=click.Choice(["one-sample", "two-sample"]),
    default="one-sample",
    show_default=True,
    help="One table with some positives labelled, or positives collected separately.",
)
id_option = click.option("--id", metavar="COLUMN", help="Column of row ids; not used as a feature.")
drop_option = click.option(
    "--drop", multiple=True, metavar="COLUMN", help="Column to exclude; repeatable."
)
groups_option = click.option(
    "--groups", metavar="COLUMN", help="Column of groups to keep together, such as patient."
)
time_option = click.option(
    "--time", metavar="COLUMN", help="Column that orders the rows; the latest are set aside."
)
images_option = click.option(
    "--images", metavar="COLUMN", help="Column of image files to learn from."
)
keep_option = click.option(
    "--keep",
    multiple=True,
    metavar="COLUMN",
    help="Column to use even if it looks like a repeated id or a leak; repeatable.",
)
seed_option = click.option(
    "--seed",
    type=click.IntRange(min=0, max=2**31 - 1),
    default=0,
    show_default=True,
    help="Random seed; the same seed gives the same result.",
)
dask_option = click.option(
    "--dask",
    metavar="ADDRESS",
    help="Work on a Dask cluster: the address of its scheduler, or local. DATA may be a pattern.",
)
verbose_option = click.option(
    "--verbose", is_flag=True, help="Print when each phase ends, and all columns."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


def report_option(default: str) -> Callable[[Any], Any]:
    """Return the option --report; `default` says where the page goes without it."""
    return click.option(
        "--report",
        type=Result(dir_okay=False),
        metavar="FILE",
        help=f"HTML report to write.  [default: {default}]",
    )


def prior_option(default: str | None, without: str) -> Callable[[Any], Any]:
    """Return the option --prior; `without` says what is taken without it."""
    return click.option(
        "--prior",
        default=default,
        callback=lambda context, _, text: as_prior(text, f"nnpu {context.info_name}"),
        help="Share of positives: 0.3, 30%, a range such as 8%-12%; auto estimates it.  "
        f"[default: {without}]",
    )


_JOB = (  # the options that `TablePU` takes, by its names
    prior_option("auto", "auto"),
    click.option(
        "--labelled",
        metavar="SHARE",
        callback=lambda context, _, text: as_share(text, "--labelled", f"nnpu {context.info_name}"),
        help="Share of the positives that is labelled, a number or a range; instead of --prior.",
    ),
    click.option(
        "--labelled-by",
        multiple=True,
        metavar="COLUMN",
        help="Column that decided who got a label; repeatable.",
    ),
    click.option(
        "--label-bias",
        default="typical",
        show_default=True,
        callback=lambda context, _, text: as_label_bias(text, f"nnpu {context.info_name}"),
        help="How far labels may be from random: typical, 1 (at random), or a factor such as 3.",
    ),
    sampling_option,
    positive_option,
    id_option,
    drop_option,
    keep_option,
    groups_option,
    time_option,
    images_option,
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
        type=click.Choice(["ensemble", "network", "trees", "linear", "biased"]),
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
_KNOWN = click.option(
    "--known",
    type=Source(exists=True, dir_okay=False),
    multiple=True,
    metavar="FILE",
    help="Sheet that --answers was drawn with (--known of nnpu review); repeatable.",
)


def fit_options(command: Any) -> Any:
    """Add the options of a fit to a command."""
    for option in reversed((_LABEL, *_MODEL, *_JOB, _ANSWERS, _KNOWN, *_READING, *_NETWORK)):
        command = option(command)
    return command


def reading_options(command: Any) -> Any:
    """Add the options that say how a file is read."""
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


def as_prior(text: str | None, owner: str) -> Any:
    """Return ``"auto"``, the share that was written, or the two limits of a range.

    Examples
    --------
    >>> as_prior("20%", "nnpu fit"), as_prior("8%-12%", "nnpu fit")
    (0.2, (0.08, 0.12))
    """
    return "auto" if text == "auto" else as_share(text, "--prior", owner, auto="auto, ")


def as_share(text: str | None, name: str, owner: str, *, auto: str = "") -> Any:
    """Return a share such as 0.3 or 30%, or the limits of a range of them; None for None.

    Examples
    --------
    >>> as_share("1e-3", "--prior", "nnpu fit"), as_share("1e-3 - 2%", "--prior", "nnpu fit")
    (0.001, (0.001, 0.02))
    """
    if text is None:
        return None
    parts = re.split(r"(?<=[\d.%\s])[-\u2013]", text)  # the minus of an exponent follows an e
    try:
        values = [
            float(part.strip().removesuffix("%")) / (100 if part.strip().endswith("%") else 1)
            for part in parts
        ]
        if len(values) > 2 or max(values) > 1:
            raise ValueError
    except ValueError:
        raise ParameterError(
            f"The {name!r} parameter of {owner} must be {auto}a share such as 0.3 or 30%, or a "
            f"range such as 8%-12%. Got {text!r} instead."
        ) from None
    if len(values) == 2:
        return check_prior_range(tuple(values), owner, name=name)
    return check_prior(values[0], owner, name=name)


def as_label_bias(text: str, owner: str) -> Any:
    """Return ``"typical"`` or the number that was written."""
    try:
        value: Any = text if text == "typical" else float(text)
    except ValueError:
        value = text
    return check_label_bias(value, owner, name="--label-bias")


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
