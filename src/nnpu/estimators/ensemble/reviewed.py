"""What the answers of a review do to an ensemble: weights, the prior, the final correction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nnpu.calibration import ScoreCalibration
from nnpu.parameters import InputError
from nnpu.prior import PriorEstimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nnpu.estimators.labels import Labels
    from nnpu.review import KnownRows

__all__ = ["answers_count", "audited_prior", "corrected", "signed_weights"]

_HALF = 50  # answers that count as much as all that P and U say


def answers_count(n: int) -> float:
    """Return η, what n answers count in the risk (1 − η) R_PU + η R_PN of every member.

    On genuine problems 200 answers with η = .8 ranked hidden positives better than with .5 or .2 on
    nearly all, and to choose η by the answers' own loss was worse than any (``docs/genuine.md``).

    Examples
    --------
    >>> answers_count(200), answers_count(50), answers_count(0)
    (0.8, 0.5, 0.0)
    """
    return n / (n + _HALF)


def signed_weights(answers: KnownRows, codes: Labels) -> NDArray[np.float64]:
    """Return the weight of each row answered yes, minus that of each answered no, else 0.

    Examples
    --------
    >>> from nnpu.review import KnownRows
    >>> known = KnownRows(np.array([2, 0]), np.array([1.0, 0.0]), np.array([1.5, 0.5]))
    >>> signed_weights(known, np.zeros(4, dtype=np.int8))
    array([-0.5,  0. ,  1.5,  0. ])
    """
    n = len(codes)
    rows, y, weight = (np.asarray(part) for part in answers[:3])
    fits = rows.ndim == 1 and rows.shape == y.shape == weight.shape and rows.dtype.kind in "iu"
    if not fits or (rows.size and not 0 <= rows.min() <= rows.max() < n):
        raise InputError(
            f"EnsemblePU: answers must be KnownRows with row numbers in the range [0, {n}), as "
            "nnpu.review.known_rows returns them; in two samples add the place of U in X."
        )
    if not np.isin(y, (0, 1)).all() or not np.all(weight > 0):
        raise InputError("EnsemblePU: answers must be 1 or 0, and their weights above 0.")
    if np.any(codes[rows[y == 0]] == 1):
        raise InputError(
            "EnsemblePU: a row that was answered no is labelled positive. Do the answers belong to "
            "these rows? In two samples add the place of U in X to their row numbers."
        )
    signed = np.zeros(n)
    signed[rows] = np.where(y == 1, weight, -weight)
    return signed


def audited_prior(answers: KnownRows, codes: Labels, sampling: str) -> PriorEstimate:
    """Return the prior that the answers gave, as an estimate with its interval."""
    found = answers.prior
    assert found is not None
    share = float(np.mean(codes == 1)) if sampling == "one-sample" else 0.0
    low, high = max(found.low, share), max(found.high, share + 1e-6)
    value = found.value if found.value > share else (share + high) / 2
    return PriorEstimate(
        value=min(max(value, 1e-6), 1 - 1e-6),
        low=min(low, value),
        high=max(high, value),
        method="review",
        identified=True,
        message=(
            f"About {value:.1%} of the rows are positive, 90 % interval {low:.1%} to {high:.1%}: "
            "from the answers of a review, whatever the model or the labels are."
        ),
        sampling="one-sample" if sampling == "one-sample" else "two-sample",
    )


def corrected(
    calibration: ScoreCalibration, log_odds: NDArray[np.float64], answers: NDArray[np.float64]
) -> tuple[ScoreCalibration, float]:
    """Return the calibration moved to fit the answers, and the cut at one half."""
    from nnpu.review.learning import moved

    rows = np.flatnonzero(answers)
    slope, intercept = calibration.slope, calibration.intercept
    if rows.size:
        z = slope * log_odds[rows] + intercept
        found = moved(z, (answers[rows] > 0).astype(np.float64), np.abs(answers[rows]))
        slope, intercept = found.slope * slope, found.shift + found.slope * intercept
    return ScoreCalibration(slope, intercept), -intercept / slope
