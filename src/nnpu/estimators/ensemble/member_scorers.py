"""What a fitted member is: a few arrays that give every row a score, and nothing else.

Scores are the logarithm of how many times likelier a row is among the positives than among the
unlabelled rows, up to a constant, or log-odds of being positive: in both cases greater is likelier.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from scipy.special import logit

from nnpu.estimators.ensemble.inputs import Dense, Expansion

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from nnpu.estimators.forest import Forest

__all__ = [
    "SURE_SHARE",
    "BoostedScorer",
    "ForestScorer",
    "KernelScorer",
    "LinearScorer",
    "Scorer",
    "SparseScorer",
    "View",
]

Arrays = dict[str, "NDArray[Any]"]
_BLOCK = 1 << 12  # rows that are expanded at a time: near the size of a cache
SURE_SHARE = 1e-4  # a share of trees nearer to 0 or 1 counts as this


@dataclass(frozen=True)
class View:
    """Rows as members take them: as they are, and dense (made when first asked for)."""

    x: Any  # (n, d) float32 with NaN, or CSR
    design: Dense | None  # None for sparse rows
    words: Any = None  # CSR: the other columns of rows that are numbers beside words

    @cached_property
    def dense(self) -> NDArray[np.float32]:
        """The rows without gaps and categories."""
        if self.design is None:
            raise TypeError("sparse rows have no dense form")
        return self.design.transform(self.x)

    @property
    def sparse(self) -> Any:
        """What members for sparse rows take: the words beside numbers, or all columns."""
        return self.x if self.words is None else self.words

    def __len__(self) -> int:
        return int(self.x.shape[0])

    def take(self, index: NDArray[np.intp]) -> View:
        """Return some rows."""
        words = None if self.words is None else self.words[index]
        part = View(self.x[index], self.design, words)
        if "dense" in self.__dict__:
            part.__dict__["dense"] = self.dense[index]
        return part


class Scorer(Protocol):
    """A fitted member."""

    kind: ClassVar[str]

    def scores(self, view: View) -> NDArray[np.float64]:
        """Return one score per row."""
        ...

    def arrays(self) -> Arrays:
        """Return what `from_arrays` takes."""
        ...


@dataclass(frozen=True, eq=False)
class LinearScorer:
    """A linear function of expanded columns."""

    kind: ClassVar[str] = "linear"
    expansion: Expansion
    weights: NDArray[np.float64]
    intercept: NDArray[np.float64]  # (1,)

    def scores(self, view: View) -> NDArray[np.float64]:
        """Return w·φ(x) + b."""
        sums = _in_blocks(view.dense, lambda x: self.expansion.dot(x, self.weights))
        return sums + float(self.intercept[0])

    def arrays(self) -> Arrays:
        """The expansion's, the weights and the intercept."""
        mine = {"weights": self.weights, "intercept": self.intercept}
        return mine | {one.name: getattr(self.expansion, one.name) for one in fields(Expansion)}


@dataclass(frozen=True, eq=False)
class KernelScorer:
    """A weighted sum of Gaussian bumps exp(−γ ‖x − c‖²)."""

    kind: ClassVar[str] = "kernel"
    centres: NDArray[np.float64]
    weights: NDArray[np.float64]
    constants: NDArray[np.float64]  # (2,): the intercept and γ

    def scores(self, view: View) -> NDArray[np.float64]:
        """Return Σ w exp(−γ ‖x − c‖²) + b."""
        intercept, gamma = self.constants.tolist()
        sums = _in_blocks(view.dense, lambda x: bumps(x, self.centres, gamma) @ self.weights)
        return sums + float(intercept)

    def arrays(self) -> Arrays:
        """Its own."""
        return {"centres": self.centres, "weights": self.weights, "constants": self.constants}


def bumps(
    x: NDArray[np.float32], centres: NDArray[np.float64], gamma: float
) -> NDArray[np.float64]:
    """Return exp(−γ ‖x − c‖²) for every row and centre."""
    x64 = x.astype(np.float64)
    out: NDArray[np.float64] = x64 @ (2 * gamma * centres.T)  # in place from here on
    out -= gamma * (centres**2).sum(axis=1)
    out -= gamma * np.einsum("ij,ij->i", x64, x64)[:, None]
    np.minimum(out, 0, out=out)
    np.exp(out, out=out)
    return out


@dataclass(frozen=True, eq=False)
class BoostedScorer:
    """The sum of boosted trees over columns with gaps and categories, or over sparse ones."""

    kind: ClassVar[str] = "boosted"
    forest: Forest
    start: NDArray[np.float64]  # (1,): the score before the first tree

    def scores(self, view: View) -> NDArray[np.float64]:
        """Return the trees' sum."""
        return self.forest.scores(view.x, n_threads=1) + float(self.start[0])

    def arrays(self) -> Arrays:
        """The forest's, and the start."""
        return self.forest.arrays() | {"start": self.start}


@dataclass(frozen=True, eq=False)
class ForestScorer:
    """The log-odds of the mean share of P in the leaves of trees over columns with gaps."""

    kind: ClassVar[str] = "forest"
    forest: Forest

    def scores(self, view: View) -> NDArray[np.float64]:
        """Return the log-odds, cut off where the trees are all but sure."""
        share = np.clip(self.forest.scores(view.x, n_threads=1), SURE_SHARE, 1 - SURE_SHARE)
        odds: NDArray[np.float64] = logit(share)
        return odds

    def arrays(self) -> Arrays:
        """The forest's."""
        return self.forest.arrays()


@dataclass(frozen=True, eq=False)
class SparseScorer:
    """A linear function of sparse columns, each divided by its scale."""

    kind: ClassVar[str] = "sparse"
    weights: NDArray[np.float64]
    intercept: NDArray[np.float64]  # (1,)

    def scores(self, view: View) -> NDArray[np.float64]:
        """Return w·x + b."""
        return np.asarray(view.sparse @ self.weights, dtype=np.float64) + float(self.intercept[0])

    def arrays(self) -> Arrays:
        """Its own."""
        return {"weights": self.weights, "intercept": self.intercept}


def _in_blocks(
    dense: NDArray[np.float32], function: Callable[[NDArray[np.float32]], NDArray[np.float64]]
) -> NDArray[np.float64]:
    parts = [function(dense[i : i + _BLOCK]) for i in range(0, len(dense), _BLOCK)]
    return np.concatenate([np.zeros(0), *parts])
