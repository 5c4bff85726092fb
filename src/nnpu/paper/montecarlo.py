"""Draws of the estimators for a fixed classifier, over a grid of priors and sample sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nnpu.paper.populations import Array, Population, Risks

__all__ = ["Draws", "Exact", "exact_zero_one", "simulate"]


@dataclass(frozen=True)
class Draws:
    """Many independent (X_p, X_u) for one g, loss, prior and pair of sample sizes.

    Parameters
    ----------
    population, loss : str
        What was drawn from, and the loss.
    prior : float
        π.
    n_p, n_u : int
        Sizes of each sample.
    risks : Risks
        The exact partial risks.
    upu, r : array of shape (draws,)
        R̂_pu, and r = R̂_u⁻ − π R̂_p⁻.
    u_minus : array of shape (draws,)
        R̂_u⁻.
    """

    population: str
    loss: str
    prior: float
    n_p: int
    n_u: int
    risks: Risks
    upu: Array
    r: Array
    u_minus: Array

    @property
    def risk(self) -> float:
        """R(g)."""
        return self.risks.total(self.prior)

    @property
    def gap(self) -> Array:
        """R̃_pu − R̂_pu = max{0, −r}."""
        return np.maximum(0.0, -self.r)

    @property
    def nnpu(self) -> Array:
        """R̃_pu, Eq. (6)."""
        return self.upu + self.gap


def simulate(
    population: Population,
    losses: Sequence[str],
    priors: Sequence[float],
    n_ps: Sequence[int],
    n_us: Sequence[int],
    *,
    draws: int,
    rng: np.random.Generator,
) -> Iterator[Draws]:
    """Draw at every point of the grid; losses, and points that differ in one size, share draws.

    The draws at one point are independent; those at two points may not be, which no comparison
    with a bound at one point minds.

    Parameters
    ----------
    population : Population
        Where scores come from.
    losses : sequence of str
        Names of Table 1.
    priors, n_ps, n_us : sequence
        The grid.
    draws : int
        Samples per point.
    rng : Generator
        Source of randomness.

    Examples
    --------
    >>> from nnpu.paper.populations import DiscretePopulation
    >>> coin = DiscretePopulation("coin", (-1.0, 1.0), (0.5, 0.5), (0.5, 0.5))
    >>> rng = np.random.default_rng(0)
    >>> (point,) = simulate(coin, ["zero_one"], [0.9], [10], [100], draws=10_000, rng=rng)
    >>> round(float((point.r < 0).mean()), 2)
    0.36
    """
    positives = {n: population.sample(losses, 1.0, n, draws, rng) for n in n_ps}
    for prior in priors:
        for n_u in n_us:
            unlabelled = population.sample(losses, prior, n_u, draws, rng)
            for n_p in n_ps:
                for loss in losses:
                    p, u_minus = positives[n_p][loss], unlabelled[loss].minus
                    r = u_minus - prior * p.minus
                    r[np.abs(r) < 1e-12] = 0.0  # rounding must not turn r = 0 into r < 0
                    yield Draws(
                        population.name,
                        loss,
                        prior,
                        n_p,
                        n_u,
                        population.risks(loss),
                        upu=prior * p.plus + r,  # Eq. (2)
                        r=r,
                        u_minus=u_minus,
                    )


@dataclass(frozen=True)
class Exact:
    """Exact values for the zero-one loss, by enumeration.

    Parameters
    ----------
    probability : float
        Pr{r < 0}.
    bias : float
        E[R̃_pu] − R.
    mse_upu, mse_nnpu : float
        Mean squared errors of R̂_pu and R̃_pu.
    exceedance : float
        Pr{R̃_pu − R̂_pu > beta}.
    """

    probability: float
    bias: float
    mse_upu: float
    mse_nnpu: float
    exceedance: float


def exact_zero_one(
    prior: float, rate_p: float, rate_n: float, n_p: int, n_u: int, *, beta: float = 0.0
) -> Exact:
    """Enumerate every outcome of (X_p, X_u) for the zero-one loss.

    Only two counts matter, of positives and of unlabelled rows that g calls positive; both are
    binomial.

    Parameters
    ----------
    prior : float
        π.
    rate_p, rate_n : float
        R_p⁻ and R_n⁻: the shares of each class that g calls positive.
    n_p, n_u : int
        Sizes of the samples.
    beta : float, default=0.0
        The threshold of `Exact.exceedance`.

    Examples
    --------
    >>> exact = exact_zero_one(0.9, 0.5, 0.5, n_p=10, n_u=100)
    >>> round(exact.probability, 3), round(exact.bias, 4)
    (0.36, 0.0388)
    """
    from scipy.stats import binom

    k_p, k_u = np.arange(n_p + 1), np.arange(n_u + 1)
    rate_u = prior * rate_p + (1 - prior) * rate_n
    weight = binom.pmf(k_p, n_p, rate_p)[:, None] * binom.pmf(k_u, n_u, rate_u)  # (n_p+1, n_u+1)
    p_minus = (k_p / n_p)[:, None]
    r = k_u / n_u - prior * p_minus
    r[np.abs(r) < 1e-12] = 0.0
    risk = prior * (1 - rate_p) + (1 - prior) * rate_n
    upu = prior * (1 - p_minus) + r
    nnpu = upu - np.minimum(r, 0)
    return Exact(
        probability=float(weight[r < 0].sum()),
        bias=float((weight * np.maximum(0, -r)).sum()),
        mse_upu=float((weight * (upu - risk) ** 2).sum()),
        mse_nnpu=float((weight * (nnpu - risk) ** 2).sum()),
        exceedance=float(weight[-r > beta].sum()),
    )
