"""Options from a TOML file."""

from __future__ import annotations

import difflib
import tomllib
from typing import TYPE_CHECKING, Any

from nnpu.cli._runs import option_key
from nnpu.parameters import InputError, shown

if TYPE_CHECKING:
    from pathlib import Path

    import click

__all__ = ["read_config"]


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
