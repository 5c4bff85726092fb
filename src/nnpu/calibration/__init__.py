"""Scores to probabilities, probabilities to cuts, without negatives.

Pure functions of NumPy arrays. Scores must come from rows that the model was not fitted to. The
population is U (two-sample) or P ∪ U (one-sample).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nnpu.lazy import lazy_names

if TYPE_CHECKING:
    from nnpu.calibration.posteriors import posterior, shift_prior, shift_threshold
    from nnpu.calibration.score_calibration import (
        ScoreCalibration,
        fit_calibration,
        least_regret_cut,
    )
    from nnpu.calibration.targets import Threshold, threshold_at_prior, threshold_for

__all__ = [
    "ScoreCalibration",
    "Threshold",
    "fit_calibration",
    "least_regret_cut",
    "posterior",
    "shift_prior",
    "shift_threshold",
    "threshold_at_prior",
    "threshold_for",
]

__getattr__ = lazy_names(
    __name__,
    posteriors="posterior shift_prior shift_threshold",
    score_calibration="ScoreCalibration fit_calibration least_regret_cut",
    targets="Threshold threshold_at_prior threshold_for",
)
