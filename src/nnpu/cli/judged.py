"""What scored rows say about a model, as sections of a report."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from nnpu.estimators.base import BasePUClassifier
    from nnpu.report.html import Section

__all__ = ["Judged", "judged_sections", "prior_limits"]

_MEANINGS = {
    "pu_accuracy": "share of right answers",
    "pu_precision": "share of positives among the rows called positive",
    "pu_recall": "share of the positives that are called positive",
    "pu_f1": "one figure for the last two: their harmonic mean",
    "pu_roc_auc": "how often a positive scores higher than a negative",
    "pu_zero_one_risk": "share of wrong answers",
    "lee_liu_score": "recall² / share called positive; compares models without any prior",
}


@dataclass(frozen=True)
class Judged:
    """Scored rows to judge a model by.

    Parameters
    ----------
    classifier : BasePUClassifier
        The model.
    s, scores : ndarray of shape (n,)
        PU labels and scores of rows that it was not fitted to.
    metrics : mapping
        What `nnpu.cli.labelled.measure` returned for them.
    """

    classifier: BasePUClassifier
    s: NDArray[np.int8]
    scores: NDArray[np.float32]
    metrics: Mapping[str, Mapping[str, float]]


def prior_limits(classifier: BasePUClassifier) -> tuple[float, float] | None:
    """Return the interval of a model's prior, if it was estimated.

    The estimate is of P ∪ U; known negatives make the model's prior a part of it.
    """
    estimate = classifier.prior_estimate_
    if estimate is None:
        return None
    scale = classifier.prior_ / estimate.value
    return estimate.low * scale, estimate.high * scale


def judged_sections(judged: Judged, remark: str, on_calibration: str) -> dict[str, Section]:
    """Return what scored rows say: metrics, threshold, scores, probabilities.

    Parameters
    ----------
    judged : Judged
        The rows.
    remark : str
        Which rows these are.
    on_calibration : str
        What they are to the calibration.
    """
    from nnpu.cli.labelled import METRIC_WORDS
    from nnpu.metrics import reliability_table, score_table
    from nnpu.report.html import calibration_section, metrics_section, scores_section

    classifier, s, scores = judged.classifier, judged.s, judged.scores
    how: dict[str, Any] = {"prior": classifier.prior_, "sampling": classifier.sampling}
    bins = score_table(s, scores, **how)
    calibration = classifier.calibration_
    reliability = reliability_table(s, calibration(scores), **how)
    found = []
    for name, words in METRIC_WORDS.items():
        metric = judged.metrics[name]
        found.append((words, metric["value"], metric["low"], metric["high"], _MEANINGS[name]))
    return {
        "metrics": metrics_section(found, [remark, _assumption(judged.metrics)]),
        "explorer": _explorer(judged, (bins[0]["low"], bins[-1]["high"])),
        "scores": scores_section(bins),
        "calibration": calibration_section(
            reliability,
            slope=calibration.slope,
            intercept=calibration.intercept,
            remark=on_calibration,
        ),
    }


def _assumption(metrics: Mapping[str, Mapping[str, float]]) -> str:
    words = (
        "No true label was seen. The figures rest on the prior, and on labelled positives that are "
        "a random part of all positives."
    )
    shares = [value for name, value in metrics.items() if name != "lee_liu_score"]
    outside = any(share["low"] < 0 or share["high"] > 1 for share in shares)
    note = " A limit below 0 or above 1 means chance, or a wrong prior." if outside else ""
    return words + note


def _explorer(judged: Judged, score_range: tuple[float, float]) -> Section:
    from nnpu.metrics import threshold_grid, threshold_table
    from nnpu.report.html import explorer_section

    classifier, s, scores = judged.classifier, judged.s, judged.scores
    sampling, own = classifier.sampling, classifier.threshold_
    thresholds = threshold_grid(s, scores, also=own)
    tables = {
        f"{words}: {prior:.3f}": threshold_table(
            s, scores, thresholds, prior=prior, sampling=sampling
        )
        for words, prior in _priors(judged).items()
    }
    population = len(s) if sampling == "one-sample" else int((s == 0).sum())
    return explorer_section(
        tables,
        own=own,
        population=population,
        probabilities=classifier.calibration_(thresholds).tolist(),
        score_range=score_range,
    )


def _priors(judged: Judged) -> dict[str, float]:
    """The priors to look at, by the words for them: the chosen one first."""
    from nnpu.metrics import possible_prior

    prior, sampling = judged.classifier.prior_, judged.classifier.sampling
    wanted = {"20 % lower": 0.8 * prior, "20 % higher": 1.2 * prior}
    limits = prior_limits(judged.classifier)
    if limits is not None:
        low, high = limits
        wanted |= {"low end of its interval": low, "high end of its interval": high}
    found = {"as chosen": prior}
    for words, value in wanted.items():
        possible = possible_prior(value, judged.s, sampling=sampling)
        short = "" if math.isclose(possible, value) else ", as far as these rows allow"
        found[words + short] = possible
    return found
