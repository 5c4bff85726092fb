"""PU risks under gradient-boosted trees: what a boosting round of LightGBM needs of them.

A round fits a tree to a gradient g and a curvature h per row; a leaf gets the value −Σg/Σh. The
gradient is Algorithm 1's, the branch being chosen anew in every round. The curvature cannot be the
second derivative: that is negative where a row of P counts as a negative with the weight −π, and
zero for linear-odd losses. See `PUObjective` for what takes its place; `kl_round` is
the same for the KL risk, in closed form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit

from nnpu.lazy import lazy_names

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from nnpu.boosting.pu_objective import BOOSTED_LOSSES, PUObjective, check_boosted_loss

__all__ = ["BOOSTED_LOSSES", "PUObjective", "Round", "check_boosted_loss", "kl_round"]

__getattr__ = lazy_names(__name__, pu_objective="BOOSTED_LOSSES PUObjective check_boosted_loss")

LEAST = 1e-12  # of a curvature: where a loss is flat to the last bit, a leaf must not be 0/0


class Round(NamedTuple):
    """What one boosting round starts from.

    ``gradient`` and ``hessian`` of shape (n,) go to LightGBM. ``values`` are those of a row of
    history: ``train_risk``, its parts ``train_positive`` and ``train_negative`` (for nnPU π R̂_p⁺
    and r), and ``corrected``, 1 where r < −β.
    """

    gradient: NDArray[np.float64]
    hessian: NDArray[np.float64]
    values: dict[str, float]


def kl_round(
    scores: ArrayLike,
    s: ArrayLike,
    *,
    prior: float,
    sampling: str = "two-sample",
    totals: tuple[int, int] | None = None,
) -> Round:
    """Return gradient, curvature and value of the KL risk, π mean_P[−log φ] + mean_X φ, φ = σ(g).

    A row of P has the gradient −(π/n_p)(1 − φ) and the curvature (π/n_p) φ(1 − φ). A row of the
    population has the gradient φ(1 − φ)/n; its exact curvature, φ(1 − φ)(1 − 2φ)/n, changes sign,
    so that φ(1 − φ)/n, a bound of it, takes its place. In one sample a row of P is also a row of
    the population. All is multiplied by the number of rows, as in `PUObjective`.

    Parameters
    ----------
    scores : array-like of shape (n,)
        g(x).
    s : array-like of shape (n,)
        1 labelled positive, 0 unlabelled.
    prior, sampling
        As in `nnpu.PULoss`.
    totals : pair of int, optional
        How many rows of P, and rows, there are in all, if these are a part of them; the risk is
        then this part's share of the whole.

    Examples
    --------
    >>> start = kl_round([0.0, 0.0], [1, 0], prior=0.5)
    >>> start.gradient, start.hessian, round(start.values["train_risk"], 4)
    (array([-0.5,  0.5]), array([0.25, 0.5 ]), 0.8466)
    """
    g, is_p = np.asarray(scores, dtype=np.float64), np.asarray(s) == 1
    n_p, n = totals or (int(is_p.sum()), len(g))
    of_p, of_x = _shares(is_p, sampling, n_p, n)
    phi = expit(g)
    slope = phi * expit(-g)
    weight = prior * of_p
    positive, negative = float(weight @ np.logaddexp(0, -g)), float(of_x @ phi)
    return Round(
        n * (of_x * slope - weight * expit(-g)),
        np.maximum(n * (of_x + weight) * slope, LEAST),
        round_values(positive, negative, positive + negative, corrected=False),
    )


def _shares(
    is_p: NDArray[np.bool_], sampling: str, n_p: int, n: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the weight of each row in the mean over P, and in that over the population."""
    if sampling == "one-sample":
        return is_p / max(n_p, 1), np.full(len(is_p), 1 / max(n, 1))
    return is_p / max(n_p, 1), ~is_p / max(n - n_p, 1)


def round_values(
    positive: float, negative: float, risk: float, *, corrected: bool
) -> dict[str, float]:
    """Return the values of a row of history."""
    return {
        "train_risk": risk,
        "train_positive": positive,
        "train_negative": negative,
        "corrected": float(corrected),
    }
