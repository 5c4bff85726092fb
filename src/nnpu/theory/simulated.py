"""How loose a guaranteed half-width is: the same precision in a simulated population."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.parameters import check_choice, check_count, check_number, check_prior
from nnpu.theory.comparison import break_even_n_n
from nnpu.theory.planning import guaranteed_half_width

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from nnpu.theory.planning import Plan

__all__ = ["plan_tables", "simulated_half_width"]

_MEAN, _SCALE, _ATOMS = 2.0, 2.0, 41  # of the scores: normal, with means ±2
# Table 1 in NumPy: a plan needs no torch.
_LOSSES: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "zero_one": lambda z: (1 - np.sign(z)) / 2,
    "ramp": lambda z: np.clip((1 - z) / 2, 0, 1),
    "squared": lambda z: (z - 1) ** 2 / 4,
    "logistic": lambda z: np.logaddexp(0, -z),
    "hinge": lambda z: np.maximum(0, 1 - z),
    "double_hinge": lambda z: np.maximum(-z, np.maximum(0, (1 - z) / 2)),
    "sigmoid": lambda z: 1 / (1 + np.exp(z)),
}


def simulated_half_width(
    prior: float,
    n_p: int,
    n_u: int,
    *,
    loss: str = "zero_one",
    score_bound: float = 4.0,
    delta: float = 0.05,
    draws: int = 2000,
    seed: int = 0,
) -> float:
    """The 1 − δ quantile of |R̃_pu − R| in a population with normal scores.

    Scores are normal with means ±2 and standard deviation 2, rounded to 41 values on
    [−score_bound, score_bound]; thresholded at 0 they err on about one row in six.

    Parameters
    ----------
    prior, n_p, n_u : float, int, int
        The setting.
    loss : str, default="zero_one"
        A name of Table 1.
    score_bound : float, default=4.0
        Where scores are clipped.
    delta : float, default=0.05
        1 − δ is the share of draws within the half-width.
    draws, seed : int
        How many samples, and the seed.

    Examples
    --------
    >>> 0.02 < simulated_half_width(0.5, 100, 10_000) < 0.1
    True
    """
    from scipy.special import ndtr

    owner = "simulated_half_width"
    prior = check_prior(prior, owner)
    n_p, n_u = check_count("n_p", n_p, owner), check_count("n_u", n_u, owner)
    draws = check_count("draws", draws, owner)
    score_bound = check_number("score_bound", score_bound, owner, low=0, include_low=False)
    delta = check_number(
        "delta", delta, owner, low=0, high=1, include_low=False, include_high=False
    )
    scores = np.linspace(-score_bound, score_bound, _ATOMS)
    cuts = np.concatenate([[-np.inf], (scores[:-1] + scores[1:]) / 2, [np.inf]])
    p, q = (np.diff(ndtr((cuts - mean) / _SCALE)) for mean in (_MEAN, -_MEAN))
    values = _LOSSES[check_choice("loss", loss, owner, _LOSSES)]
    losses = np.stack([values(scores), values(-scores)])  # (2, 41)
    rng = np.random.default_rng(seed)

    def mean_losses(share: float, n: int) -> NDArray[np.float64]:
        """Draw samples as counts of the scores; return their mean losses, shape (2, draws)."""
        mixture = share * p + (1 - share) * q
        counts = rng.multinomial(n, mixture / mixture.sum(), size=draws)  # (draws, 41)
        means: NDArray[np.float64] = (counts @ losses.T / n).T
        return means

    plus, minus = mean_losses(1.0, n_p)
    _, minus_u = mean_losses(prior, n_u)
    r = minus_u - prior * minus
    r[np.abs(r) < 1e-12] = 0.0  # rounding must not turn r = 0 into r < 0
    nnpu = prior * plus + np.maximum(r, 0)  # Eq. (6)
    risk = prior * p @ losses[0] + (1 - prior) * q @ losses[1]
    return float(np.quantile(np.abs(nnpu - risk), 1 - delta))


def plan_tables(
    plan: Plan, *, loss: str = "zero_one", score_bound: float = 4.0, draws: int = 1000
) -> dict[str, list[dict[str, Any]]]:
    """Half-widths along n_p and along n_u, guaranteed and simulated, and PN's break-even line.

    Parameters
    ----------
    plan : Plan
        The sizes to go around: from a tenth of each to a hundred times as much.
    loss, score_bound, draws
        As in `simulated_half_width`.

    Returns
    -------
    dict of str to list of dict
        ``by_n_p`` and ``by_n_u`` with ``n``, ``half_width``, ``simulated`` and ``now`` (whether
        these are the plan's own sizes); ``pn`` with ``n_u`` and ``break_even``.

    Examples
    --------
    >>> from nnpu.theory import plan
    >>> tables = plan_tables(plan(0.5, 100, 1000), draws=10)
    >>> [row["n"] for row in tables["by_n_p"] if row["now"]]
    [100]
    """
    half_range = (plan.prior[1] - plan.prior[0]) / 2

    def row(n: int, n_p: int, n_u: int) -> dict[str, Any]:
        return {
            "n": n,
            "half_width": guaranteed_half_width(
                plan.assumed_prior,
                n_p,
                n_u,
                delta=plan.delta,
                loss_bound=plan.loss_bound,
                prior_error=half_range,
            ),
            "simulated": simulated_half_width(
                plan.assumed_prior,
                n_p,
                n_u,
                loss=loss,
                score_bound=score_bound,
                delta=plan.delta,
                draws=draws,
            ),
            "now": n_p == plan.n_p and n_u == plan.n_u,
        }

    return {
        "by_n_p": [row(n, n, plan.n_u) for n in _ladder(plan.n_p)],
        "by_n_u": [row(n, plan.n_p, n) for n in _ladder(plan.n_u)],
        "pn": [
            {"n_u": n, "break_even": float(break_even_n_n(plan.assumed_prior, plan.n_p, n))}
            for n in _ladder(plan.n_u)
        ],
    }


def _ladder(n: int) -> list[int]:
    """Sizes from a tenth to a hundred times n, n among them."""
    return sorted({max(1, round(n * 10 ** (step / 3))) for step in range(-3, 7)})
