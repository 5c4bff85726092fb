"""A run of ``nnpu fit`` on paper: its configuration, its log, and the command that repeats it."""

from __future__ import annotations

import json
import os
import shlex
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nnpu.cli._paths import Source, also_read

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["as_command", "as_toml", "config_option", "option_key", "repeating"]


def _read_config(
    context: click.Context, parameter: click.Parameter, path: Path | None
) -> Path | None:
    if path is not None:
        from nnpu.cli._config import read_config

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
