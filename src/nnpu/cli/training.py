"""The long part of ``nnpu fit``: prior, training, and figures of rows that were held out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from nnpu.cli.judged import prior_limits
from nnpu.cli.labelled import (
    PRIOR_ROWS,
    find_prior,
    for_json,
    measure,
    metric_lines,
    telling_warnings,
)
from nnpu.parameters import InputError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray
    from torch import nn

    from nnpu.estimators import PUClassifier
    from nnpu.objective import Objective
    from nnpu.training import Training
    from nnpu.training.options import EpochEnd

__all__ = ["Fitted", "train_and_measure"]

_SHOWN = ("pu_accuracy", "pu_precision", "pu_recall")


@dataclass(frozen=True)
class Fitted:
    """What came out.

    Parameters
    ----------
    classifier : PUClassifier
        Fitted to the rows that were not held out.
    epochs : int
        Passes over the data.
    metrics : dict
        The PU metrics of the held-out rows with their intervals; empty if they cannot judge.
    scores : ndarray
        Of the held-out rows.
    """

    classifier: PUClassifier
    epochs: int
    metrics: dict[str, dict[str, float]]
    scores: NDArray[np.float32]

    @property
    def prior(self) -> dict[str, Any]:
        """The prior that was used, and its interval and message if it was estimated."""
        about: dict[str, Any] = {"value": self.classifier.prior_}
        estimate, limits = self.classifier.prior_estimate_, prior_limits(self.classifier)
        if estimate is not None and limits is not None:
            about["low"], about["high"] = limits
            about |= {"identified": estimate.identified, "message": estimate.message}
        return about

    def events(self, columns: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the log of the run, in the order in which things happened."""
        return [
            {"event": "columns", "columns": columns},
            {"event": "prior", **self.prior},
            *({"event": "epoch", **row} for row in self.classifier.history_),
            {"event": "held_out", "metrics": for_json(self.metrics)},
        ]


def train_and_measure(
    x: Any,
    s: NDArray[np.int8],
    held_out: NDArray[np.bool_],
    *,
    prior: float | str,
    sampling: str,
    epochs: int | None,
    seed: int,
    training: Training,
    tell: Callable[..., None],
) -> Fitted:
    """Estimate the prior unless it is given, train, and judge the model.

    Parameters
    ----------
    x, s : array or sparse matrix, ndarray
        Features and PU labels of all rows.
    held_out : ndarray of bool
        Rows to judge the model by; nothing is fitted to them.
    prior, sampling, epochs, seed
        As in ``nnpu fit``.
    training : Training
        Says where checkpoints are kept.
    tell : callable
        Prints lines.
    """
    from nnpu.estimators import PUClassifier
    from nnpu.estimators.network import budget
    from nnpu.objective import Objective

    x_train, s_train = x[~held_out], s[~held_out]
    estimate = None
    with telling_warnings():
        if isinstance(prior, str):
            rows = min(len(s_train), PRIOR_ROWS)
            tell(f"Prior: estimating it from {rows:,} rows ...")
            value, estimate = find_prior(x_train, s_train, sampling, seed)
            tell(f"Prior: {estimate.message}")
        else:
            value = prior
            tell(f"Prior: {prior:g}, as given.")
        known_negatives = bool((s_train == -1).any())
        if known_negatives:
            tell("Known negatives are used too (risk nnpnu).")
        passes = budget(len(s_train), "auto", epochs or "auto")[1]
        tell(f"Training: {len(s_train):,} rows, {passes} epochs ...")
        risk = "nnpnu" if known_negatives else "nnpu"
        watch = _held_out_risk(
            Objective(value, risk=risk, sampling=sampling), x[held_out], s[held_out]
        )
        classifier = PUClassifier(
            value,
            risk=risk,
            sampling=sampling,
            epochs=passes,
            random_state=seed,
            verbose=1,
            training=replace(training, on_epoch_end=watch),
        ).fit(x_train, s_train)
    classifier.prior_estimate_ = estimate
    scores = classifier.decision_function(x[held_out])
    metrics = _judge(classifier, x[held_out], s[held_out], scores, tell)
    return Fitted(classifier, passes, metrics, scores)


def _held_out_risk(objective: Objective, x: Any, s: NDArray[np.int8]) -> EpochEnd:
    """Return what adds the risks of rows that nothing is fitted to, to each row of the history."""
    import torch

    from nnpu.data.rows import as_rows
    from nnpu.training import predict_scores
    from nnpu.training.history import evaluate

    rows, labels = as_rows(x), torch.from_numpy(s)

    def add(row: dict[str, float], model: nn.Module) -> None:
        risks = evaluate(objective, predict_scores(model, rows), labels)
        row |= {f"valid_{name}": value for name, value in risks.items()}

    return add


def _judge(
    classifier: PUClassifier,
    x: Any,
    s: NDArray[np.int8],
    scores: NDArray[np.float32],
    tell: Callable[..., None],
) -> dict[str, dict[str, float]]:
    """Measure and calibrate by the held-out rows; what they cannot say is told, not the end."""
    try:
        found = measure(classifier, s, scores)
        classifier.calibrate(x, s)
    except (ParameterError, InputError) as error:
        tell(f"The held-out rows cannot judge the model: {error}")
        return {}
    tell(
        f"On {len(s):,} held-out rows, if the prior is right (90 % intervals):",
        *metric_lines(found, _SHOWN),
    )
    return found
