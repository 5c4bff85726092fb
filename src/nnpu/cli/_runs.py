"""A run of ``nnpu fit`` on paper: its configuration, its log, and the command that repeats it."""

from __future__ import annotations

import difflib
import json
import os
import shlex
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nnpu.parameters import InputError, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["as_command", "as_toml", "config_option", "repeating"]


def read_config(ctx: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Take the options of a TOML file as defaults: what the command line says goes first."""
    if path is None:
        return None
    try:
        options = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not TOML: {error}.") from error
    known = {_key(option): option for option in ctx.command.params if option.name}
    for key in options:
        if key not in known or known[key] is parameter:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise InputError(f"{path}: there is no option {key!r}.{hint}")
    ctx.default_map = {
        str(known[key].name): _value(known[key], value, f"{path}: the option {key!r}")
        for key, value in options.items()
    }
    return path


config_option = click.option(
    "--config",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    is_eager=True,
    expose_value=False,
    callback=read_config,
    help="TOML file with any of these options.",
)


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


def _key(option: click.Parameter) -> str:
    """The name of an option in the file: --id is id, whatever the function calls it."""
    long = [text for text in option.opts if text.startswith("--")]
    return long[0].removeprefix("--") if long else str(option.name)


def repeating(context: click.Context) -> dict[str, str]:
    """Return what repeats a run, from the options it was given: a command line and TOML."""
    given = {
        _key(option): context.params[option.name]
        for option in context.command.params
        if option.name in context.params and option.name not in ("as_json", "verbose")
    }
    plain = {name: _plain(value) for name, value in given.items() if value != "global"}
    data = plain.pop("data")
    command = as_command(str(context.info_name), data, plain)
    return {"command": command, "config": as_toml(command, {"data": data, **plain})}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, Path) else value


def as_toml(command: str, options: Mapping[str, Any]) -> str:
    """Return the configuration as TOML, with the command that repeats the run on top."""
    lines = ["# " + " ".join(command.splitlines())]  # a file name may hold a line break
    lines += [f"{name} = {_toml(value)}" for name, value in options.items() if value is not None]
    return "\n".join(lines) + "\n"


def as_command(name: str, argument: str, options: Mapping[str, Any]) -> str:
    """Return a command line for a shell.

    >>> as_command("fit", "my data.csv", {"label": "s", "drop": ["a", "b"], "epochs": None})
    "nnpu fit 'my data.csv' --label s --drop a --drop b"
    """
    words = [*_launcher(), "nnpu", name, argument]
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
