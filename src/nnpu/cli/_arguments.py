"""What is checked before a command does any work, and how warnings are printed."""

from __future__ import annotations

import os
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nnpu.files import TEMPORARY_PREFIX
from nnpu.parameters import InputError, ParameterError, check_prior
from nnpu.terminal import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

T = TypeVar("T")

__all__ = ["as_prior", "check_readable", "check_writable", "draw", "printed_warnings"]


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


def check_readable(data: Path, model_dir: Path | None = None) -> None:
    """Raise `InputError` if a table or a model folder is not there: before anything is imported."""
    if (
        model_dir is not None
        and not model_dir.exists()
        and not model_dir.with_name(f"{TEMPORARY_PREFIX}old-{model_dir.name}").exists()
    ):
        raise InputError(f"{model_dir} is not a model folder: there is no such folder.")
    if str(data) != "-" and not data.exists():
        raise InputError(f"{data} is not there, or is not a file.")


def check_writable(path: Path | None, option: str = "--out", *, source: Path | None = None) -> None:
    """Raise `InputError` if nothing can be written at `path`: before the work, not after it."""
    if path is None:
        return
    if source is not None and path.exists() and source.exists() and path.samefile(source):
        raise InputError(f"{path} is the file to read; choose another {option}.")
    above = path.absolute().parent
    while not above.exists():
        above = above.parent
    if not above.is_dir():
        raise InputError(
            f"{path} cannot be written: {above} is not a folder; choose another {option}."
        )
    if not os.access(above, os.W_OK | os.X_OK):
        raise InputError(
            f"{path} cannot be written: no permission for {above}; choose another {option}."
        )


def draw(save: Callable[..., list[T]], *arguments: Any, **options: Any) -> list[T]:
    """Call what saves a picture; without matplotlib say so and go on without the picture."""
    try:
        return save(*arguments, **options)
    except ImportError as error:
        click.echo(f"No picture. {error}", err=True)
        return []


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
