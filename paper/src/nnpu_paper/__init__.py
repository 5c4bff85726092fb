"""The experiments of the nnPU paper, on the library `nnpu`: what was run, and what it showed.

`load` gives the paper's data sets; the command ``nnpu-paper`` runs its figures and tables. Names
are loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nnpu_paper.datasets import DATASETS, load
    from nnpu_paper.newsgroups import WordVectors, load_glove

__version__ = "0.3.0"

__all__ = ["DATASETS", "WordVectors", "load", "load_glove"]

_HOMES = {
    "DATASETS": "datasets",
    "WordVectors": "newsgroups",
    "load": "datasets",
    "load_glove": "newsgroups",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562)."""
    if name in _HOMES:
        return getattr(importlib.import_module(f"nnpu_paper.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'nnpu_paper' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
