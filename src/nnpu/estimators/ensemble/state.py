"""An `EnsemblePU` as arrays and plain values."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from nnpu.estimators.ensemble.designs import Dense

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nnpu.estimators.ensemble.classifier import EnsemblePU

__all__ = ["pack"]


def pack(classifier: EnsemblePU) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the arrays and the plain values of a fitted ensemble."""
    arrays: dict[str, NDArray[Any]] = {
        "columns.centre": classifier.columns_.centre,
        "columns.spread": classifier.columns_.spread,
        "calibrations": classifier._calibrations,
        "weights": classifier._weights,
    }
    if classifier._stack is not None:
        arrays["stack"] = classifier._stack
    if classifier.design_ is not None:
        arrays |= {
            f"design.{one.name}": getattr(classifier.design_, one.name) for one in fields(Dense)
        }
    for name, scorer in zip(classifier._names, classifier.scorers_, strict=True):
        arrays |= {f"member.{name}.{key}": value for key, value in scorer.arrays().items()}
    return arrays, {
        "categories": list(classifier.categories_),
        "levels": [[column, levels] for column, levels in classifier.levels_.items()],
        "members": classifier.members_,
        "aside": classifier.aside_,
        "cut": classifier._cut,
        "kinds": [
            [name, scorer.kind]
            for name, scorer in zip(classifier._names, classifier.scorers_, strict=True)
        ],
    }
