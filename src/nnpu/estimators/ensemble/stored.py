"""An `EnsemblePU` as arrays and plain values, and back; what is read is checked first."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.data.cells import as_cells, plain_text
from nnpu.estimators.ensemble.inputs import Columns, Dense, Expansion
from nnpu.estimators.ensemble.member_scorers import (
    BoostedScorer,
    ForestScorer,
    KernelScorer,
    LinearScorer,
    SparseScorer,
)
from nnpu.estimators.ensemble.members import MEMBERS
from nnpu.estimators.ensemble.weights import Mixture, takers_of_words
from nnpu.estimators.forest import stored_forest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from nnpu.estimators.ensemble.classifier import EnsemblePU
    from nnpu.estimators.ensemble.member_scorers import Arrays, Scorer

__all__ = [
    "pack",
    "unpack",
]


def pack(classifier: EnsemblePU) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the arrays and the plain values of a fitted ensemble."""
    mixture = classifier._mixture
    arrays: dict[str, NDArray[Any]] = {
        "columns.centre": classifier.columns_.centre,
        "columns.spread": classifier.columns_.spread,
        "calibrations": mixture.calibrations,
        "weights": mixture.weights,
    }
    if mixture.stack is not None:
        arrays["stack"] = mixture.stack
    if classifier.design_ is not None:
        arrays |= {
            f"design.{one.name}": getattr(classifier.design_, one.name) for one in fields(Dense)
        }
    for name, scorer in zip(mixture.names, classifier.scorers_, strict=True):
        arrays |= {f"member.{name}.{key}": value for key, value in scorer.arrays().items()}
    return arrays, {
        "categories": list(classifier.categories_),
        "levels": [[column, levels] for column, levels in classifier.levels_.items()],
        "members": classifier.members_,
        "aside": classifier.aside_,
        "cut": classifier._cut,
        "kinds": [
            [name, scorer.kind]
            for name, scorer in zip(mixture.names, classifier.scorers_, strict=True)
        ],
    }


_DENSE = {
    "numeric": np.int32,
    "low": np.float32,
    "high": np.float32,
    "mean": np.float32,
    "scale": np.float32,
    "flagged": np.int32,
    "level_column": np.int32,
    "level_code": np.float32,
}
_MEMBER = {
    "name": str,
    "weight": float,
    "auc": float | None,
    "aside": float | None,
    "reason": str,
}


def unpack(
    classifier: EnsemblePU, tensors: Mapping[str, NDArray[Any]], fitted: Mapping[str, Any]
) -> None:
    """Restore what `pack` returned; anything invalid is a ValueError."""
    d = classifier.n_features_in_
    centre, spread = tensors["columns.centre"], tensors["columns.spread"]
    _need(centre.shape == spread.shape == (d,) and bool(np.all(spread > 0)))
    _need(centre.dtype == spread.dtype == np.float64)
    classifier.columns_ = Columns(centre, spread)
    classifier.categories_ = tuple(_count(i, d) for i in fitted["categories"])
    classifier.levels_ = {_count(i, d): _levels(levels) for i, levels in fitted["levels"]}
    beside = classifier.n_dense  # columns of words follow
    _need(0 <= beside <= d)
    n_dense = beside or d
    classifier.design_ = _design(tensors, n_dense)
    classifier.aside_, classifier._cut = fitted["aside"], fitted.get("cut", 0.0)
    _need(isinstance(classifier.aside_, float | None) and isinstance(classifier._cut, float))
    classifier.members_, classifier.seconds_ = [_member(row) for row in fitted["members"]], {}
    pairs = [(name, kind) for name, kind in fitted["kinds"]]
    names = tuple(name for name, _ in pairs)
    _need(0 < len(pairs) == len(set(names)))
    _need(all(name in MEMBERS for name in names))
    classifier.scorers_ = [
        _scorer(kind, _under(tensors, f"member.{name}."), classifier.design_, n_dense, d - n_dense)
        for name, kind in pairs
    ]
    calibrations, weights = tensors["calibrations"], tensors["weights"]
    _need(calibrations.shape == (len(pairs), 2) and weights.shape == (len(pairs),))
    _need(calibrations.dtype == weights.dtype == np.float64 and bool(np.all(weights >= 0)))
    stack = tensors.get("stack")
    if stack is not None:
        _need(beside > 0 and stack.shape == (3,) and stack.dtype == np.float64)
    of_words = takers_of_words([MEMBERS[name] for name in names], words_beside=beside > 0)
    classifier._mixture = Mixture(names, calibrations, weights, of_words, stack)


def _design(tensors: Mapping[str, NDArray[Any]], d: int) -> Dense | None:
    arrays = _under(tensors, "design.")
    if not arrays:
        return None
    _need(arrays.keys() == _DENSE.keys())
    for name, kind in _DENSE.items():
        _need(arrays[name].ndim == 1 and arrays[name].dtype == kind)
    design = Dense(**arrays)
    k = len(design.numeric)
    _need(all(len(one) == k for one in (design.low, design.high, design.mean, design.scale)))
    _need(len(design.level_column) == len(design.level_code) and bool(np.all(design.scale > 0)))
    for index in (design.numeric, design.flagged, design.level_column):
        _need(bool(np.all((index >= 0) & (index < d))))
    return design


def _under(tensors: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    return {
        name.removeprefix(prefix): array
        for name, array in tensors.items()
        if name.startswith(prefix)
    }


def _member(row: Mapping[str, Any]) -> dict[str, Any]:
    _need(isinstance(row, dict))
    member = dict(row)
    if member.pop("seconds", None) == 0:  # version 0.2.0 kept the time, and .5 for one not tried
        member["auc"] = None
    _need(member.keys() == _MEMBER.keys())
    _need(all(isinstance(member[name], kind) for name, kind in _MEMBER.items()))
    return member


def _levels(levels: Any) -> list[str]:
    _need(isinstance(levels, list))
    _need(all(isinstance(level, bool | int | float | str) for level in levels))
    # Version 0.2.0 kept numbers and truth values as such, and words with their blanks.
    words: list[str] = plain_text(as_cells(levels)).to_pylist()
    return words


def _count(value: Any, high: int) -> int:
    _need(type(value) is int and 0 <= value < high)
    return int(value)


def _need(fits: bool) -> None:
    if not fits:
        raise ValueError("the values of the ensemble do not fit together")


def _scorer(
    kind: Any,
    arrays: Mapping[str, NDArray[Any]],
    design: Dense | None,
    n_features: int,
    n_words: int,
) -> Scorer:
    """Return a member from what a model folder holds of it; anything invalid is a ValueError."""
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ValueError(f"there is no member of the kind {str(kind)[:50]!r}")
    if kind == "sparse" and n_words:
        n_features = n_words
    restored: Scorer = _KINDS[kind](arrays, design, n_features)
    return restored


def _linear(arrays: Mapping[str, NDArray[Any]], design: Dense | None, d: int) -> LinearScorer:
    expansion = Expansion(**_picked(arrays, _EXPANSION))
    size = _size(design)
    n = size + len(expansion.hinge_column) + len(expansion.left)
    _fit_together(
        _below(expansion.hinge_column, size)
        and _below(expansion.left, size)
        and _below(expansion.right, size)
        and expansion.hinge_knot.shape == expansion.hinge_column.shape
        and expansion.left.shape == expansion.right.shape
        and expansion.mean.shape == expansion.scale.shape == (n,)
        and np.all(expansion.scale > 0)
    )
    weights, intercept = _typed(arrays, "weights", np.float64), _typed(arrays, "intercept")
    _fit_together(weights.shape == (n,) and intercept.shape == (1,))
    return LinearScorer(expansion, weights, intercept)


def _kernel(arrays: Mapping[str, NDArray[Any]], design: Dense | None, d: int) -> KernelScorer:
    centres, weights = _typed(arrays, "centres"), _typed(arrays, "weights")
    constants = _typed(arrays, "constants")
    _fit_together(
        centres.ndim == 2
        and centres.shape[1] == _size(design)
        and weights.shape == (len(centres),)
        and constants.shape == (2,)
        and constants[1] >= 0
    )
    return KernelScorer(centres, weights, constants)


def _boosted(arrays: Mapping[str, NDArray[Any]], design: Dense | None, d: int) -> BoostedScorer:
    start = _typed(arrays, "start")
    _fit_together(start.shape == (1,))
    return BoostedScorer(stored_forest(_without(arrays, "start"), d), start)


def _forest(arrays: Mapping[str, NDArray[Any]], design: Dense | None, d: int) -> ForestScorer:
    return ForestScorer(stored_forest(dict(arrays), d))


def _sparse(arrays: Mapping[str, NDArray[Any]], design: Dense | None, d: int) -> SparseScorer:
    weights, intercept = _typed(arrays, "weights"), _typed(arrays, "intercept")
    _fit_together(weights.shape == (d,) and intercept.shape == (1,))
    return SparseScorer(weights, intercept)


_EXPANSION = {
    "hinge_column": np.int32,
    "hinge_knot": np.float32,
    "left": np.int32,
    "right": np.int32,
    "mean": np.float32,
    "scale": np.float32,
}
_KINDS: Mapping[str, Callable[..., Scorer]] = {
    "linear": _linear,
    "kernel": _kernel,
    "boosted": _boosted,
    "forest": _forest,
    "sparse": _sparse,
}


def _picked(arrays: Mapping[str, NDArray[Any]], types: Mapping[str, Any]) -> Arrays:
    return {name: _typed(arrays, name, kind) for name, kind in types.items()}


def _typed(arrays: Mapping[str, NDArray[Any]], name: str, kind: Any = np.float64) -> NDArray[Any]:
    array = arrays[name]
    _fit_together(array.dtype == kind and (array.ndim == 1 or name == "centres"))
    return array


def _without(arrays: Mapping[str, NDArray[Any]], name: str) -> Arrays:
    return {key: value for key, value in arrays.items() if key != name}


def _below(index: NDArray[Any], size: int) -> bool:
    return bool(np.all((index >= 0) & (index < size)))


def _size(design: Dense | None) -> int:
    _fit_together(design is not None)
    return 0 if design is None else design.size


def _fit_together(fits: Any) -> None:
    if not fits:
        raise ValueError("the arrays of a member do not fit together")
