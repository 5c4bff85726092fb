"""The methods whose interval is a bootstrap: loaded when one of them is asked for by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import rankdata

from nnpu.prior.dedpul import dedpul
from nnpu.prior.elkan_noto import elkan_noto
from nnpu.prior.kernel_mean import kernel_mean
from nnpu.prior.penalised import penalised_l1

if TYPE_CHECKING:
    from collections.abc import Callable

    from nnpu.prior.curve import FloatArray

    Estimator = Callable[[FloatArray, FloatArray, np.random.Generator], float]

__all__ = ["bootstrap"]


def bootstrap(
    method: str, p: FloatArray, u: FloatArray, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Estimate on the rows and on resampled ones, P and U separately; percentiles as limits.

    They show how much the method varies, not how far it is off.

    Parameters
    ----------
    method : {"dedpul", "elkan_noto", "km", "pen_l1"}
        The method.
    p, u : ndarray of shape (n_p,), (n_u,)
        Scores of rows that the model was not fitted to.
    rng : numpy.random.Generator
        The source of chance.
    """
    function, repeats = _FUNCTIONS[method]
    value = function(p, u, rng)
    repeated = [
        function(p[rng.integers(len(p), size=len(p))], u[rng.integers(len(u), size=len(u))], rng)
        for _ in range(repeats)
    ]
    low, high = np.quantile(repeated, [0.05, 0.95])
    return value, float(low), float(high)


def _on_ranks(function: Estimator) -> Estimator:
    """Give a method for features one: the rank of the score, whatever the model's scale."""

    def estimate(p: FloatArray, u: FloatArray, rng: np.random.Generator) -> float:
        ranks = rankdata(np.concatenate([p, u]))[:, None]
        return function(ranks[: p.size], ranks[p.size :], rng)

    return estimate


#: The methods, and how many samples the bootstrap can afford.
_FUNCTIONS: dict[str, tuple[Estimator, int]] = {
    "dedpul": (lambda p, u, _: dedpul(p, u), 100),
    "elkan_noto": (lambda p, u, _: elkan_noto(p, u), 100),
    "km": (_on_ranks(kernel_mean), 10),
    "pen_l1": (_on_ranks(penalised_l1), 20),
}
