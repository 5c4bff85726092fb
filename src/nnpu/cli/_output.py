"""How commands give what they found: a picture, if it can be drawn, and words or JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nnpu.terminal import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

T = TypeVar("T")

__all__ = ["draw", "show"]


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
