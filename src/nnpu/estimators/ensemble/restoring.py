"""An `EnsemblePU` from the arrays and plain values of a folder; they are checked first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.estimators.ensemble.designs import Dense
from nnpu.estimators.ensemble.inputs import Columns
from nnpu.estimators.ensemble.member_scorers import from_arrays
from nnpu.estimators.ensemble.members import MEMBERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from nnpu.estimators.ensemble.classifier import EnsemblePU

__all__ = ["unpack"]

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
_MEMBER = {"name": str, "weight": float, "auc": float, "seconds": float, "reason": str}


def unpack(
    classifier: EnsemblePU, tensors: Mapping[str, NDArray[Any]], fitted: Mapping[str, Any]
) -> None:
    """Take on what `state.pack` gave; anything odd is a ValueError."""
    d = classifier.n_features_in_
    centre, spread = tensors["columns.centre"], tensors["columns.spread"]
    _need(centre.shape == spread.shape == (d,) and bool(np.all(spread > 0)))
    _need(centre.dtype == spread.dtype == np.float64)
    classifier.columns_ = Columns(centre, spread)
    classifier.categories_ = tuple(_count(i, d) for i in fitted["categories"])
    classifier.levels_ = {_count(i, d): _levels(levels) for i, levels in fitted["levels"]}
    classifier.design_ = _design(tensors, d)
    classifier.members_ = [_member(row) for row in fitted["members"]]
    pairs = [(name, kind) for name, kind in fitted["kinds"]]
    classifier._names = [name for name, _ in pairs]
    _need(0 < len(pairs) == len(set(classifier._names)))
    _need(all(name in MEMBERS for name in classifier._names))
    classifier.scorers_ = [
        from_arrays(kind, _under(tensors, f"member.{name}."), classifier.design_, d)
        for name, kind in pairs
    ]
    calibrations, weights = tensors["calibrations"], tensors["weights"]
    _need(calibrations.shape == (len(pairs), 2) and weights.shape == (len(pairs),))
    _need(calibrations.dtype == weights.dtype == np.float64 and bool(np.all(weights >= 0)))
    classifier._calibrations, classifier._weights = calibrations, weights


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
    _need(isinstance(row, dict) and row.keys() == _MEMBER.keys())
    _need(all(isinstance(row[name], kind) for name, kind in _MEMBER.items()))
    return dict(row)


def _levels(levels: Any) -> list[Any]:
    _need(isinstance(levels, list))
    _need(all(isinstance(level, bool | int | float | str) for level in levels))
    return list(levels)


def _count(value: Any, high: int) -> int:
    _need(type(value) is int and 0 <= value < high)
    return int(value)


def _need(fits: bool) -> None:
    if not fits:
        raise ValueError("the values of the ensemble do not fit together")
