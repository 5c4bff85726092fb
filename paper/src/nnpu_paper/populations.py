"""Populations of scores g(x) in which every risk is known, and draws of the estimators from them.

For a fixed g only the distribution of g(x) in each class matters, so a population is given by its
scores: two Gaussians, or a discrete one. Both draw many samples at once and return the means that
the estimators are made of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import torch

from nnpu.losses import get_loss

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

__all__ = [
    "DiscretePopulation",
    "Draws",
    "Exact",
    "GaussianPopulation",
    "Means",
    "Population",
    "Risks",
    "discretised_gaussian",
    "exact_zero_one",
    "loss_values",
    "simulate",
]

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

# Scores that are drawn at a time: a few tens of megabytes.
_CHUNK = 1 << 21


class Risks(NamedTuple):
    """Exact partial risks: R_p⁺, R_p⁻ and R_n⁻."""

    p_plus: float
    p_minus: float
    n_minus: float

    def total(self, prior: float) -> float:
        """R = π R_p⁺ + π_n R_n⁻.

        >>> Risks(0.2, 0.8, 0.4).total(0.5)
        0.30000000000000004
        """
        return prior * self.p_plus + (1 - prior) * self.n_minus


class Means(NamedTuple):
    """Mean losses of many samples, taken as positive and as negative: arrays of shape (draws,)."""

    plus: Array
    minus: Array


class Population(Protocol):
    """What a simulation needs of a population."""

    @property
    def name(self) -> str:
        """How tables call it."""

    def risks(self, loss: str) -> Risks:
        """Return the exact partial risks."""

    def sample(
        self, losses: Sequence[str], share: float, n: int, draws: int, rng: np.random.Generator
    ) -> dict[str, Means]:
        """Draw samples of size n with that share of positives; return their mean losses."""


def loss_values(loss: str, margins: NDArray[np.floating]) -> Array:
    """Evaluate a loss of Table 1 on an array of margins.

    >>> loss_values("ramp", np.array([0.0, 2.0]))
    array([0.5, 0. ])
    """
    values = get_loss(loss)(torch.from_numpy(margins))
    return values.numpy()


@dataclass(frozen=True)
class DiscretePopulation:
    """A finite set of scores with a probability each in either class.

    A sample is drawn as the multinomial counts of its scores, so the cost of a draw does not
    grow with the size of the sample.

    Parameters
    ----------
    name : str
        How tables call it.
    scores, p, q : tuple of float
        The values of g(x), their probabilities given y = +1, and given y = −1.

    Examples
    --------
    >>> coin = DiscretePopulation("coin", (-1.0, 1.0), (0.5, 0.5), (0.5, 0.5))
    >>> coin.risks("zero_one")
    Risks(p_plus=0.5, p_minus=0.5, n_minus=0.5)
    """

    name: str
    scores: tuple[float, ...]
    p: tuple[float, ...]
    q: tuple[float, ...]

    def risks(self, loss: str) -> Risks:
        """Sum over the scores."""
        plus, minus = self._losses(loss)
        p, q = np.array(self.p), np.array(self.q)
        return Risks(float(p @ plus), float(p @ minus), float(q @ minus))

    def sample(
        self, losses: Sequence[str], share: float, n: int, draws: int, rng: np.random.Generator
    ) -> dict[str, Means]:
        """Draw counts and average the losses over them."""
        mixture = share * np.array(self.p) + (1 - share) * np.array(self.q)
        counts = rng.multinomial(n, mixture / mixture.sum(), size=draws)  # (draws, scores)
        return {loss: Means(*(counts @ np.stack(self._losses(loss)).T / n).T) for loss in losses}

    def _losses(self, loss: str) -> tuple[Array, Array]:
        scores = np.array(self.scores)
        return loss_values(loss, scores), loss_values(loss, -scores)


@dataclass(frozen=True)
class GaussianPopulation:
    """Scores that are normal in each class, as for a linear g and normal class-conditionals.

    Risks come from Gauss-Legendre quadrature between the kinks of the losses; samples are drawn
    row by row.

    Parameters
    ----------
    name : str
        How tables call it.
    mean_p, mean_n : float
        Means of g(x) given y = +1 and y = −1.
    scale : float
        Standard deviation of g(x) in either class.

    Examples
    --------
    >>> g = GaussianPopulation("gaussian", 1.0, -1.0, 1.0)
    >>> round(g.risks("zero_one").n_minus, 6)  # Φ(−1)
    0.158655
    """

    name: str
    mean_p: float
    mean_n: float
    scale: float

    def risks(self, loss: str) -> Risks:
        """Integrate over the scores."""
        return Risks(
            self._expect(loss, self.mean_p, 1),
            self._expect(loss, self.mean_p, -1),
            self._expect(loss, self.mean_n, -1),
        )

    def sample(
        self, losses: Sequence[str], share: float, n: int, draws: int, rng: np.random.Generator
    ) -> dict[str, Means]:
        """Draw rows, a chunk of samples at a time."""
        result = {loss: Means(np.empty(draws), np.empty(draws)) for loss in losses}
        step = max(1, _CHUNK // n)
        for start in range(0, draws, step):
            part = slice(start, min(start + step, draws))
            scores = self._scores(share, n, part.stop - part.start, rng)
            for loss, means in result.items():
                means.plus[part] = loss_values(loss, scores).mean(axis=1, dtype=np.float64)
                means.minus[part] = loss_values(loss, -scores).mean(axis=1, dtype=np.float64)
        return result

    def _scores(
        self, share: float, n: int, draws: int, rng: np.random.Generator
    ) -> NDArray[np.float32]:
        scores = rng.standard_normal((draws, n), dtype=np.float32)
        scores *= np.float32(self.scale)
        # The order within a sample does not matter, so the positives come first.
        positives = rng.binomial(n, share, size=draws)
        scores += np.where(
            np.arange(n) < positives[:, None], np.float32(self.mean_p), np.float32(self.mean_n)
        )
        return scores

    def _expect(self, loss: str, mean: float, y: int) -> float:
        low, high = mean - 12 * self.scale, mean + 12 * self.scale
        kinks = [kink for kink in (-1.0, 0.0, 1.0) if low < kink < high]
        edges = np.array([low, *kinks, high])
        nodes, weights = np.polynomial.legendre.leggauss(200)
        half = np.diff(edges)[:, None] / 2
        t = edges[:-1, None] + half * (nodes + 1)  # (pieces, nodes)
        density = np.exp(-(((t - mean) / self.scale) ** 2) / 2) / (self.scale * np.sqrt(2 * np.pi))
        return float((half * weights * density * loss_values(loss, y * t)).sum())


def discretised_gaussian(
    name: str, mean_p: float, mean_n: float, scale: float, *, clip: float, atoms: int = 41
) -> DiscretePopulation:
    """Round Gaussian scores to a grid on [−clip, clip]: a discrete population in its own right.

    Its risks are sums, not approximations, and a sample of any size costs the same to draw.

    Parameters
    ----------
    name, mean_p, mean_n, scale
        As in `GaussianPopulation`.
    clip : float
        Scores beyond are moved there, so |g| ≤ clip.
    atoms : int, default=41
        Points of the grid.

    Examples
    --------
    >>> population = discretised_gaussian("rounded", 1.0, -1.0, 1.0, clip=4.0)
    >>> round(population.risks("zero_one").n_minus, 2)  # Φ(−1) is 0.1587
    0.16
    """
    from scipy.special import ndtr

    scores = np.linspace(-clip, clip, atoms)
    cuts = np.concatenate([[-np.inf], (scores[:-1] + scores[1:]) / 2, [np.inf]])
    p, q = (np.diff(ndtr((cuts - mean) / scale)) for mean in (mean_p, mean_n))
    return DiscretePopulation(name, tuple(scores.tolist()), tuple(p.tolist()), tuple(q.tolist()))


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
