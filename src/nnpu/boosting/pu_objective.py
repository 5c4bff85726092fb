"""Algorithm 1 for boosted trees: any PU risk with a loss whose curvature its slope bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.boosting import LEAST, Round, kl_round, round_values
from nnpu.parameters import ParameterError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from torch import Tensor

    from nnpu.risk import Risk

__all__ = ["BOOSTED_LOSSES", "PUObjective", "check_boosted_loss"]

#: Losses with |ℓ″| ≤ |ℓ′| everywhere.
BOOSTED_LOSSES = ("logistic", "sigmoid")


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
            np.maximum(np.abs(as_positive) + np.abs(as_negative), LEAST),
            round_values(
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
