"""Probabilities and cuts of a fitted classifier, from scores of held-out rows and PU labels."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from scipy.special import logit

from nnpu import metrics
from nnpu.calibration import (
    ScoreCalibration,
    Threshold,
    cut_priors,
    fit_calibration,
    least_regret_cut,
    threshold_at_prior,
    threshold_for,
)
from nnpu.parameters import (
    InputError,
    ParameterError,
    check_choice,
    check_prior,
    shown,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nnpu.estimators.base import BasePUClassifier
    from nnpu.estimators.labels import Labels

__all__ = [
    "calibration",
    "shifted",
    "threshold",
]

#: Scores are single precision: equal rows of two batches may differ by this much of their size.
_ROUNDING = 1e-6  # of the largest score: scores closer than that differ by float32's rounding

Classifier = TypeVar("Classifier", bound="BasePUClassifier")


def calibration(
    classifier: BasePUClassifier, scores: NDArray[np.float32], codes: Labels
) -> ScoreCalibration:
    """Return the calibration that held-out scores and their PU labels give."""
    _check_both(codes, "calibrate")
    if np.ptp(scores) <= _ROUNDING * np.abs(scores).max():
        raise InputError("calibrate: all scores are equal; no slope can be found.")
    if not classifier._unlabelled_is_negative():
        return fit_calibration(*_split(classifier, scores, codes), **_setting(classifier))
    # Every row has its true label: with all rows as the population and their own share of
    # positives, the PU risk is Platt's; then the share becomes the prior.
    share = float(np.mean(codes == 1))
    fitted = fit_calibration(scores[codes == 1], scores, prior=share)
    return _moved(fitted, share, classifier.prior_)


def threshold(
    classifier: BasePUClassifier,
    scores: NDArray[np.float32],
    codes: Labels,
    at: str | None,
    precision: float | None,
    recall: float | None,
) -> Threshold:
    """Return the cut that was asked for; rows that score more are predicted positive."""
    owner = "choose_threshold"
    _check_both(codes, owner)
    if sum(value is not None for value in (at, precision, recall)) != 1:
        raise ParameterError(
            f"Pass exactly one of the 'at', 'precision' and 'recall' parameters of {owner}. Got "
            f"{shown(at)}, {shown(precision)} and {shown(recall)} instead."
        )
    if classifier._unlabelled_is_negative():
        raise InputError(
            f"{owner} needs unlabelled rows, and risk='pn' has none: choose the cut by "
            "sklearn.metrics.precision_recall_curve."
        )
    scores_p, scores_u = _split(classifier, scores, codes)
    setting = _setting(classifier)
    if at is None:
        cut = threshold_for(scores_p, scores_u, precision=precision, recall=recall, **setting)
        return cut._replace(value=_just_below(cut.value))
    if check_choice("at", at, owner, ["prior", "half", "regret"]) == "prior":
        value = _just_below(threshold_at_prior(scores_p, scores_u, **setting))
    elif at == "half":
        value = _half(classifier.calibration_)
    else:
        value = _least_regret(classifier, scores_p, scores_u)
    predictions = scores.astype(np.float64) > value
    estimate = metrics.pu_precision(codes, predictions, **setting)
    return Threshold(
        value, estimate, *metrics.interval("pu_precision", codes, predictions, **setting)
    )


def _least_regret(
    classifier: BasePUClassifier, scores_p: NDArray[np.float32], scores_u: NDArray[np.float32]
) -> float:
    one_sample = classifier.sampling == "one-sample"
    population = np.concatenate([scores_p, scores_u]) if one_sample else scores_u
    share = scores_p.size / population.size if one_sample else 0.0
    priors = cut_priors(classifier.prior_, classifier.prior_estimate_, share)
    under = (
        fit_calibration(scores_p, scores_u, prior=prior, sampling=classifier.sampling)
        for prior in priors
    )
    return least_regret_cut(population, *under)


def shifted(classifier: Classifier, new_prior: float) -> Classifier:
    """Return a copy of the classifier for a population with another prior."""
    new_prior = check_prior(new_prior, "shift_prior", name="new_prior")
    moved = copy.copy(classifier)
    moved.calibration_ = _moved(classifier.calibration_, classifier.prior_, new_prior)
    slope = moved.calibration_.slope
    if slope == 0:
        raise InputError(
            "The calibrated probability does not depend on the score, and no cut can follow the "
            "prior: the scores mislead, or too few rows were held out."
        )
    step = moved.calibration_.intercept - classifier.calibration_.intercept
    moved.threshold_ = classifier.threshold_ - step / slope
    moved.prior_, moved.prior_estimate_ = new_prior, None
    return moved


def _setting(classifier: BasePUClassifier) -> dict[str, Any]:
    return {"prior": classifier.prior_, "sampling": classifier.sampling}


def _split(
    classifier: BasePUClassifier, scores: NDArray[np.float32], codes: Labels
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Scores of P and U; known negatives of one sample are part of its population."""
    rest = codes != 1 if classifier.sampling == "one-sample" else codes == 0
    return scores[codes == 1], scores[rest]


def _check_both(codes: Labels, owner: str) -> None:
    if not (codes == 1).any() or (codes == 1).all():
        raise InputError(f"{owner} needs labelled and unlabelled rows; one of them is missing.")


def _moved(fitted: ScoreCalibration, prior: float, new_prior: float) -> ScoreCalibration:
    step = float(logit(new_prior) - logit(prior))
    return ScoreCalibration(fitted.slope, fitted.intercept + step)


def _half(fitted: ScoreCalibration) -> float:
    """The score whose probability is one half."""
    if fitted.slope == 0:
        raise InputError(
            "The calibrated probability does not depend on the score, and no cut is at one half: "
            "the scores mislead, or too few rows were held out."
        )
    return -fitted.intercept / fitted.slope


def _just_below(cut: float) -> float:
    """The next float32 below: what scores at least `cut` scores more than this."""
    return float(np.nextafter(np.float32(cut), np.float32(-math.inf)))
