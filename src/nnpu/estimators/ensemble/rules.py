"""Which members are worth their cost on which data: rules that were measured.

``docs/defaults.md`` has the measurements.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import scipy.sparse as sp

from nnpu.estimators.ensemble.members import MEMBERS

if TYPE_CHECKING:
    from nnpu.estimators.ensemble.task import Task

__all__ = ["MANY_COLUMNS", "PIXELS", "excluded"]

#: Dense columns beyond which squares, hinges and kernels are not worth their time; sparse ones
#: beyond which words that stand beside each other count together.
MANY_COLUMNS = 500
PIXELS = 50  # dense columns beyond which the prior is estimated by what tells pixels from others
_VERY_WIDE = 5_000  # dense columns beyond which a round of boosting takes as long as a forest
_FEW = 20  # positives below which boosted trees find no split that they may make
_FEW_WORDS = 300  # the same for words: below, trees rank hidden positives worse (docs/genuine.md)
_MANY = 2500  # positives from which one forest is enough: scoring takes as long as there are trees
_MANY_ROWS = 200_000  # beyond, the kernel's few centres add nothing and take half of the scoring
_LIGHTGBM = frozenset({"small-trees", "boosted-kl"})


def excluded(task: Task, asked: list[str] | None) -> dict[str, str]:
    """Return why each member that is not to be fitted is left out."""
    sparse = sp.issparse(task.view.x)
    words = task.view.x if sparse else task.view.words
    wide = task.view.design is not None and task.view.design.size > MANY_COLUMNS
    many_words = words is not None and words.shape[1] > MANY_COLUMNS
    few = _FEW_WORDS if sparse and many_words else _FEW
    very_wide = not sparse and task.view.x.shape[1] > _VERY_WIDE
    reasons: dict[str, str] = {}
    for name, member in MEMBERS.items():
        if asked is not None and name not in asked:
            reasons[name] = "not asked for"
        elif name in _LIGHTGBM and not _lightgbm_loads():
            reasons[name] = "LightGBM cannot be loaded here"
        elif sparse and member.needs_dense:
            reasons[name] = "the data are sparse"
        elif (words is None and name == "linear") or (
            not sparse and name == "small-trees" and asked is None
        ):
            reasons[name] = "for sparse data alone"
        elif name in ("topics", "taught") and not many_words:
            reasons[name] = f"for sparse data of more than {MANY_COLUMNS} columns"
        elif wide and name in ("products", "splines", "kernel") and asked is None:
            reasons[name] = f"more than {MANY_COLUMNS} columns"
        elif name == "kernel" and len(task.s) > _MANY_ROWS and asked is None:
            reasons[name] = f"more than {_MANY_ROWS:,} rows"
        elif very_wide and name in _LIGHTGBM and asked is None:
            reasons[name] = f"more than {_VERY_WIDE:,} columns"
        elif name == "extra-trees" and task.n_p >= _MANY and asked is None:
            reasons[name] = f"{_MANY:,} positives or more"
        elif name in _LIGHTGBM and asked is None and task.n_p < few:
            reasons[name] = f"fewer than {few} positives"
    return reasons


def _lightgbm_loads() -> bool:
    try:
        importlib.import_module("lightgbm")
    except (ImportError, OSError):  # not installed, or without the OpenMP library
        return False
    return True
