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

from nnpu.parameters import ParameterError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from torch import Tensor

    from nnpu.risk import Risk

__all__ = ["BOOSTED_LOSSES", "PUObjective", "Round", "check_boosted_loss", "kl_round"]

#: Losses with |ℓ″| ≤ |ℓ′| everywhere.
BOOSTED_LOSSES = ("logistic", "sigmoid")

_LEAST = 1e-12  # of a curvature: where a loss is flat to the last bit, a leaf must not be 0/0


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
        np.maximum(n * (of_x + weight) * slope, _LEAST),
        _values(positive, negative, positive + negative, corrected=False),
    )


def _shares(
    is_p: NDArray[np.bool_], sampling: str, n_p: int, n: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the weight of each row in the mean over P, and in that over the population."""
    if sampling == "one-sample":
        return is_p / max(n_p, 1), np.full(len(is_p), 1 / max(n, 1))
    return is_p / max(n_p, 1), ~is_p / max(n - n_p, 1)


def _values(positive: float, negative: float, risk: float, *, corrected: bool) -> dict[str, float]:
    return {
        "train_risk": risk,
        "train_positive": positive,
        "train_negative": negative,
        "corrected": float(corrected),
    }


class PUObjective:
    """Algorithm 1's gradient, and a positive curvature, for LightGBM.

    Pass it as ``objective`` in LightGBM's parameters, with the PU labels s (1 labelled, 0
    unlabelled, −1 known negative) as the labels of the data set; `metric` is its ``feval``.

    Parameters
    ----------
    prior, risk, beta, sampling
        As in `nnpu.PULoss`. ``risk="kl"`` is `kl_round`, which uses no other parameter.
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
      (eᵗ − 1 − t) for t ≥ 0 and likewise for t < 0, so that a leaf with sums G and H, moved by
      −η G/H, changes it by at most −η G²/H · (1 − η e^η / 2), which is negative for step sizes
      η ≤ 0.85.

    Gradient and curvature are both multiplied by n, so that LightGBM's
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
        from nnpu.objective import Objective  # here: only a fit needs torch

        self.objective = Objective(
            prior, risk=risk, loss=loss, beta=beta, gamma=gamma, sampling=sampling, owner=owner
        )
        check_boosted_loss(loss, owner)

    def round(self, scores: ArrayLike, s: ArrayLike) -> Round:
        """Return gradient, curvature and risk at these scores.

        Parameters
        ----------
        scores : array-like of shape (n,)
            g(x) after the rounds so far.
        s : array-like of shape (n,)
            PU labels: 1 labelled positive, 0 unlabelled, −1 known negative.
        """
        from nnpu.ambient import plain_torch

        with plain_torch():
            return self._round(scores, s)

    def _round(self, scores: ArrayLike, s: ArrayLike) -> Round:
        import torch

        from nnpu.losses import Loss

        if self.objective.risk.name == "kl":
            prior, sampling = self.objective.prior, self.objective.sampling
            return kl_round(scores, s, prior=prior, sampling=sampling)
        margins: list[Tensor] = []

        def watched(margin: Tensor) -> Tensor:
            margins.append(margin.view_as(margin))  # a node of its own for the derivative
            return self.objective.loss(margins[-1])

        g = torch.tensor(np.asarray(scores, dtype=np.float64), requires_grad=True)
        terms = self.objective.terms(
            g, torch.as_tensor(np.asarray(s)), loss=Loss(self.objective.loss.name, watched)
        )
        (slopes,) = torch.autograd.grad(terms.objective, margins)  # (2, n): a ℓ′(g) and b ℓ′(−g)
        as_positive, as_negative = len(g) * slopes.numpy()
        corrected = bool(terms.corrected)
        discount = self.objective.gamma if corrected else 1.0  # Algorithm 1, line 10
        return Round(
            discount * (as_positive - as_negative),
            np.maximum(np.abs(as_positive) + np.abs(as_negative), _LEAST),
            _values(
                terms.positive.item(),
                terms.negative.item(),
                terms.risk.item(),
                corrected=corrected,
            ),
        )

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
        return self.objective.risk.name, values["train_risk"], False


def check_boosted_loss(loss: Any, owner: str) -> None:
    """Raise `ParameterError` for a loss whose curvature is not known to be bounded by its slope.

    >>> check_boosted_loss("ramp", "BoostedPU")
    Traceback (most recent call last):
    nnpu.parameters.ParameterError: The 'loss' parameter of BoostedPU must be a str among
    {'logistic', 'sigmoid'}: the curvature rests on |l''| <= |l'|. Got 'ramp' instead; PUClassifier
    takes any loss.
    """
    from nnpu.losses import get_loss

    if get_loss(loss, owner=owner).name not in BOOSTED_LOSSES:
        raise ParameterError(
            f"The 'loss' parameter of {owner} must be a str among "
            f"{{{', '.join(map(repr, BOOSTED_LOSSES))}}}: the curvature rests on |l''| <= |l'|."
            f" Got {loss!r} instead; PUClassifier takes any loss."
        )
