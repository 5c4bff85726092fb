"""PU risks under gradient-boosted trees: what a boosting round of LightGBM needs of them.

A round fits a tree to a gradient g and a curvature h per row; a leaf gets the value −Σg/Σh. The
gradient is Algorithm 1's, the branch being chosen anew in every round. The curvature cannot be the
second derivative: that is negative where a row of P counts as a negative with the weight −π, and
zero for linear-odd losses. See `PUObjective` for what takes its place; `kl_round` is the same for
the KL risk. The risks and losses of this package are differentiated in closed form, by NumPy; a
`Risk` or a loss of your own by torch.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit

from nnpu.extras import need
from nnpu.parameters import check_choice, check_number, check_prior, check_sampling
from nnpu.risk_kinds import (
    RISKS,
    AbsoluteRisk,
    ImbalancedRisk,
    NonNegativePNURisk,
    NonNegativeRisk,
    PNURisk,
    SupervisedRisk,
    get_risk,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray
    from torch import Tensor

    from nnpu.risk_kinds import Risk

    Floats = NDArray[np.float64]
    Pair = tuple[Floats, Floats]

__all__ = [
    "BOOSTED_LOSSES",
    "PUObjective",
    "Round",
    "check_boosted_loss",
    "kl_round",
]

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
    values: bool = True,
) -> Round:
    """Return gradient, curvature and value of the KL risk, π mean_P[−log φ] + mean_X φ, φ = σ(g).

    A row of P has the gradient −(π/n_p)(1 − φ) and the curvature (π/n_p) φ(1 − φ). A row of the
    population has the gradient φ(1 − φ)/n; its exact curvature, φ(1 − φ)(1 − 2φ)/n, changes sign,
    so φ(1 − φ)/n, a bound of it, takes its place. In one sample a row of P is also a row of
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
    values : bool
        Whether to compute the values too, which takes as long as the slopes; else there are none.

    Examples
    --------
    >>> start = kl_round([0.0, 0.0], [1, 0], prior=0.5)
    >>> start.gradient, start.hessian, round(start.values["train_risk"], 4)
    (array([-0.5,  0.5]), array([0.25, 0.5 ]), 0.8466)
    """
    g, is_p = np.asarray(scores, dtype=np.float64), np.asarray(s) == 1
    n_p, n = totals or (int(is_p.sum()), len(g))
    of_p, of_x = _shares(is_p, sampling, n_p, n)
    phi, rest = expit(g), expit(-g)
    slope = phi * rest
    weight = prior * of_p
    found: dict[str, float] = {}
    if values:
        positive, negative = float(weight @ np.logaddexp(0, -g)), float(of_x @ phi)
        found = round_values(positive, negative, positive + negative, corrected=False)
    return Round(
        n * (of_x * slope - weight * rest),
        np.maximum(n * (of_x + weight) * slope, LEAST),
        found,
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


def _logistic(g: Floats) -> tuple[Pair, Pair]:
    """ℓ(z) = ln(1 + e⁻ᶻ) and ℓ′(z) = −σ(−z)."""
    small, plus, minus = _sigmoids(g)
    rest = np.log1p(small)  # ln(1 + e^−|g|)
    return (rest - np.minimum(g, 0), rest + np.maximum(g, 0)), (-minus, -plus)


def _sigmoid(g: Floats) -> tuple[Pair, Pair]:
    """ℓ(z) = σ(−z) and ℓ′(z) = −σ(z) σ(−z)."""
    _, plus, minus = _sigmoids(g)
    slope = -plus * minus
    return (minus, plus), (slope, slope)


def _sigmoids(g: Floats) -> tuple[Floats, Floats, Floats]:
    """Return e^−|g|, σ(g) and σ(−g), to the last digits on both sides."""
    small = np.exp(-np.abs(g))
    far = 1 / (1 + small)  # σ(|g|)
    near = small * far  # σ(−|g|)
    positive = g > 0
    return small, np.where(positive, far, near), np.where(positive, near, far)


class _ClosedLoss(NamedTuple):
    """A loss in closed form: from g to (ℓ(g), ℓ(−g)) and (ℓ′(g), ℓ′(−g))."""

    function: Callable[[Floats], tuple[Pair, Pair]]
    supremum: float


_CLOSED = {"logistic": _ClosedLoss(_logistic, math.inf), "sigmoid": _ClosedLoss(_sigmoid, 1.0)}
_OUR_RISKS = frozenset(map(type, RISKS.values()))

#: Losses with |ℓ″| ≤ |ℓ′| everywhere.
BOOSTED_LOSSES = tuple(_CLOSED)


class PUObjective:
    """Algorithm 1's gradient, and a positive curvature, for LightGBM.

    Pass it as ``objective`` in LightGBM's parameters, with the PU labels s (1 labelled, 0
    unlabelled, −1 known negative) as the labels of the data set; `metric` is its ``feval``.

    Parameters
    ----------
    prior, risk, beta, sampling
        As in `nnpu.PULoss`. ``risk="kl"`` is `kl_round`, which uses no other parameter; a `Risk`
        of your own needs torch.
    loss : {"logistic", "sigmoid"}, default="logistic"
        A loss with |ℓ″| ≤ |ℓ′|, which the curvature rests on.
    gamma : float, default=1.0
        γ in [0, 1], the discount of a round in which r < −β. It scales the gradient and not the
        curvature, and so the step, as in the paper.

    Notes
    -----
    The objective of a round is a weighted sum over rows, Σᵢ aᵢ ℓ(gᵢ) + bᵢ ℓ(−gᵢ), with weights of
    either sign: two-sample nnPU has a = π/n_p, b = −π/n_p in P and a = 0, b = 1/n_u in U, and in
    the other branch a = 0 and −b. Its gradient is aᵢ ℓ′(gᵢ) − bᵢ ℓ′(−gᵢ), and the curvature
    here is hᵢ = |aᵢ ℓ′(gᵢ)| + |bᵢ ℓ′(−gᵢ)|. It is positive and, as |ℓ″| ≤ |ℓ′|, no smaller than
    the absolute second derivative. Hence

    - a leaf's value −Σg/Σh lies in [−1, 1]: it says how far its rows agree, weighed by how far
      from decided they are;
    - a round lowers its objective: |ℓ″| ≤ |ℓ′| gives ℓ(z + t) ≤ ℓ(z) + ℓ′(z) t + |ℓ′(z)|
      (eᵗ − 1 − t) for t ≥ 0 and likewise for t < 0, so a leaf with sums G and H, moved by
      −η G/H, changes it by at most −η G²/H · (1 − η e^η / 2), which is negative for step sizes
      η ≤ 0.85.

    Gradient and curvature are both multiplied by n, so LightGBM's
    ``min_sum_hessian_in_leaf`` and ``lambda_l2`` mean what they mean elsewhere.

    References
    ----------
    Friedman (2001), Greedy function approximation: a gradient boosting machine. Ke et al. (2017),
    LightGBM: a highly efficient gradient boosting decision tree.

    Examples
    --------
    >>> import numpy as np
    >>> objective = PUObjective(prior=0.4)
    >>> start = objective.round([0.0, 0.0, 0.0, 0.0], [1, 0, 0, 0])
    >>> start.gradient.round(3), start.hessian.round(3)
    (array([-1.6  ,  0.667,  0.667,  0.667]), array([1.6  , 0.667, 0.667, 0.667]))

    With LightGBM itself::

        train = lightgbm.Dataset(X, s)
        objective = PUObjective(prior=0.4)
        booster = lightgbm.train({"objective": objective, "num_leaves": 31}, train, 100)
        scores = booster.predict(X_new)  # positive: the labelled class
    """

    def __init__(
        self,
        prior: float,
        *,
        risk: str | Risk = "nnpu",
        loss: str = "logistic",
        beta: float = 0.0,
        gamma: float = 1.0,
        sampling: str = "two-sample",
        owner: str = "PUObjective",
    ) -> None:
        self.prior = check_prior(prior, owner)
        self.risk: Risk = get_risk(risk, owner=owner)
        self.loss: Any = loss
        self.beta = check_number("beta", beta, owner, low=0)
        self.gamma = check_number("gamma", gamma, owner, low=0, high=1)
        self.sampling = check_sampling(sampling, owner)
        check_boosted_loss(loss, owner)
        self._closed = isinstance(loss, str) and type(self.risk) in _OUR_RISKS
        if not self._closed:
            need("torch", extra="torch", owner=f"{owner} with a risk or a loss of your own")

    def round(self, scores: ArrayLike, s: ArrayLike) -> Round:
        """Return gradient, curvature and risk at these scores.

        Parameters
        ----------
        scores : array-like of shape (n,)
            g(x) after the rounds so far.
        s : array-like of shape (n,)
            PU labels: 1 labelled positive, 0 unlabelled, −1 known negative.
        """
        if self.risk.name == "kl":
            return kl_round(scores, s, prior=self.prior, sampling=self.sampling)
        g, labels = np.asarray(scores, dtype=np.float64), np.asarray(s)
        slopes, values = (self._closed_slopes if self._closed else self._torch_slopes)(g, labels)
        as_positive, as_negative = (len(g) * slope for slope in slopes)
        discount = self.gamma if values["corrected"] else 1.0  # Algorithm 1, line 10
        return Round(
            discount * (as_positive - as_negative),
            np.maximum(np.abs(as_positive) + np.abs(as_negative), LEAST),
            values,
        )

    def _closed_slopes(self, g: Floats, s: NDArray[Any]) -> tuple[Pair, dict[str, float]]:
        """Return a ℓ′(g) and b ℓ′(−g), and the values of the round.

        Partial risks are mean losses; each part of a risk is a weighted sum of them, and so is the
        objective once its branch is known.
        """
        losses, slopes = _CLOSED[self.loss].function(g)
        if self.risk.unlabelled_is_negative:
            s = np.where(s == 1, 1, -1)
        samples = [np.flatnonzero(s == label) for label in (1, 0, -1)]  # P, U, N
        counts = np.array([len(rows) for rows in samples])
        sums = [[loss[rows].sum() for loss in losses] for rows in samples]
        means = np.array(sums) / np.maximum(counts, 1)[:, None]  # (3, 2)
        parts = np.stack(_parts(self.risk, self.prior, *counts.tolist()))  # (2, 3, 2)
        if self.sampling == "one-sample":  # U stands for the population: all rows are part of it
            shares = counts / max(counts.sum(), 1)
            population, parts[:, 1] = parts[:, 1].copy(), 0
            parts += shares[:, None] * population[:, None]
        positive, negative = (parts * means).sum(axis=(1, 2)).tolist()
        (a, b), values = self._branch(positive, negative)
        weights = (a * parts[0] + b * parts[1]) / np.maximum(counts, 1)[:, None]
        of_rows = np.zeros((2, len(g)))
        for rows, weight in zip(samples, weights, strict=True):
            of_rows[:, rows] = weight[:, None]
        return (of_rows[0] * slopes[0], of_rows[1] * slopes[1]), values

    def _branch(
        self, positive: float, negative: float
    ) -> tuple[tuple[float, float], dict[str, float]]:
        """Return how the two parts make up the objective, and the values of the round."""
        risk, corrected = positive + negative, False
        weights = (1.0, 1.0)
        if isinstance(self.risk, AbsoluteRisk):
            weights = (1.0, float(np.sign(negative)))
            negative = abs(negative)
            risk = positive + negative
        elif isinstance(self.risk, NonNegativeRisk | ImbalancedRisk | NonNegativePNURisk):
            corrected = negative < -self._tolerance()  # Algorithm 1, line 5
            weights = (0.0, -1.0) if corrected else weights  # lines 9 and 6
            risk = positive + max(negative, 0.0)  # Eq. (6)
        return weights, round_values(positive, negative, risk, corrected=corrected)

    def _tolerance(self) -> float:
        """β, or infinity from prior · sup ℓ on, where nnPU is uPU (rounding cannot undo it)."""
        if self.beta >= self.prior * _CLOSED[self.loss].supremum:
            return math.inf
        if isinstance(self.risk, ImbalancedRisk):
            return self.beta * (1 - self.risk.target_prior) / (1 - self.prior)
        return self.beta

    def _torch_slopes(self, g: Floats, s: NDArray[Any]) -> tuple[Pair, dict[str, float]]:
        """As `_closed_slopes`, by automatic differentiation."""
        import torch

        from nnpu.losses import Loss
        from nnpu.objective import Objective
        from nnpu.torch_settings import plain_torch

        objective = Objective(
            self.prior, risk=self.risk, loss=self.loss, beta=self.beta, sampling=self.sampling
        )
        margins: list[Tensor] = []

        def watched(margin: Tensor) -> Tensor:
            margins.append(margin.view_as(margin))  # a node of its own for the derivative
            return objective.loss(margins[-1])

        with plain_torch():
            terms = objective.terms(
                torch.tensor(g, requires_grad=True),
                torch.as_tensor(s),
                loss=Loss(objective.loss.name, watched),
            )
            [slopes] = torch.autograd.grad(terms.objective, margins)  # (2, n)
        values = round_values(
            terms.positive.item(),
            terms.negative.item(),
            terms.risk.item(),
            corrected=bool(terms.corrected),
        )
        return (slopes[0].numpy(), slopes[1].numpy()), values

    def __call__(self, scores: ArrayLike, dataset: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return gradient and curvature, as LightGBM asks for them."""
        start = self.round(scores, dataset.get_label())
        return start.gradient, start.hessian

    def metric(self, scores: ArrayLike, dataset: Any) -> tuple[str, float, bool]:
        """Return the PU risk as LightGBM's ``feval``: a name, a value, and that less is better.

        On a validation set of P and U it serves early stopping without negatives.

        Examples
        --------
        >>> class Rows:
        ...     def get_label(self):
        ...         return [1, 0, 0]
        >>> PUObjective(0.4).metric([0.0, 0.0, 0.0], Rows())
        ('nnpu', 0.693..., False)
        """
        values = self.round(scores, dataset.get_label()).values
        return self.risk.name, values["train_risk"], False


def _parts(
    risk: Risk, prior: float, n_p: int, n_u: int, n_n: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weights of the partial risks in the two parts of a risk of ours.

    Shape (3, 2) each: the samples P, U and N, taken as positive and as negative. `Risk.terms` is
    the same with tensors.
    """
    p_plus, p_minus, u_plus, u_minus, n_plus, n_minus = np.eye(6).reshape(6, 3, 2)
    positive, known = prior * p_plus, (1 - prior) * n_minus
    r = u_minus - prior * p_minus
    if isinstance(risk, SupervisedRisk):
        return positive, known
    if isinstance(risk, ImbalancedRisk):
        return risk.target_prior * p_plus, (1 - risk.target_prior) / (1 - prior) * r
    if isinstance(risk, PNURisk):
        weight = abs(risk.eta)
        if risk.eta >= 0:
            return positive, (1 - weight) * known + weight * r
        estimate = u_plus - (1 - prior) * n_plus
        return (1 - weight) * positive + weight * estimate, known
    if isinstance(risk, NonNegativePNURisk):
        t = risk.negative_weight
        if t == "auto":
            precision_n = n_n / (1 - prior) ** 2
            precision_r = n_p * n_u / max(n_p + prior**2 * n_u, 1)
            t = precision_n / max(precision_n + precision_r, 1)
        return positive, t * known + (1 - t) * r
    return positive, r  # nnPU, uPU, abs-PU


def check_boosted_loss(loss: Any, owner: str) -> None:
    """Raise `ParameterError` for a loss whose curvature is not known to be bounded by its slope.

    >>> check_boosted_loss("ramp", "BoostedPU")
    Traceback (most recent call last):
    nnpu.parameters.ParameterError: The 'loss' parameter of BoostedPU must be a str among
    {'logistic', 'sigmoid'} (the curvature rests on |l''| <= |l'|; PUClassifier takes any loss). Got
    'ramp' instead.
    """
    name = getattr(loss, "name", loss)  # of a `Loss`, whatever computes it
    why = "the curvature rests on |l''| <= |l'|; PUClassifier takes any loss"
    check_choice("loss", name, owner, BOOSTED_LOSSES, why=why)
