"""A progress bar for a training run: a bar on a terminal or in a notebook, lines in a pipe."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from tqdm import tqdm

from nnpu.terminal import is_live

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Progress", "progress_bar"]


class Progress(Protocol):
    """Something that is told of every epoch."""

    def update(self, row: Mapping[str, float]) -> None:
        """Show a row of history."""


class _Silent:
    def update(self, row: Mapping[str, float]) -> None:
        pass


class _Bar:
    def __init__(self, bar: tqdm[Any]) -> None:
        self.bar = bar

    def update(self, row: Mapping[str, float]) -> None:
        self.bar.set_postfix_str(_sentence(row), refresh=False)
        self.bar.update()


class _Lines:
    """At most about twenty lines for a run, so that a log stays readable."""

    def __init__(self, epochs: int) -> None:
        self.epochs, self.every = epochs, max(1, epochs // 20)

    def update(self, row: Mapping[str, float]) -> None:
        done = int(row["epoch"]) + 1
        if done % self.every == 0 or done == self.epochs:
            print(f"epoch {done}/{self.epochs}: {_sentence(row)}", file=sys.stderr, flush=True)


def _sentence(row: Mapping[str, float]) -> str:
    text = f"risk {row['train_risk']:.4f}"
    if "valid_risk" in row:
        text += f", held out {row['valid_risk']:.4f}"
    return text + f", {row['corrected']:.0%} of steps corrected"


@contextmanager
def progress_bar(epochs: int, *, shown: bool, label: str = "training") -> Iterator[Progress]:
    """Show the epochs of a run on standard error while the body runs."""
    if not shown:
        yield _Silent()
    elif is_live(sys.stderr):
        bar: tqdm[Any]
        with tqdm(total=epochs, desc=label, unit="epoch") as bar:
            yield _Bar(bar)
    else:
        yield _Lines(epochs)
