"""`LinearPU`: the convex cases of Section 2, solved to the global optimum, with its proof."""

from __future__ import annotations

import dataclasses
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_random_state

from nnpu.convex import (
    BASES,
    CONVEX_LOSSES,
    Certificate,
    Features,
    Problem,
    fit_features,
    solve_path,
)
from nnpu.data.folds import PUStratifiedKFold
from nnpu.data.vectors import row_blocks
from nnpu.estimators.base import BasePUClassifier, FitData
from nnpu.estimators.labels import encode
from nnpu.metrics import pu_zero_one_risk
from nnpu.parameters import (
    InputError,
    ParameterError,
    check_choice,
    check_count,
    check_number,
    shown,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from nnpu.convex import Solution
    from nnpu.estimators.labels import Labels

    Floats = NDArray[np.float64]

__all__ = ["LinearPU"]

_OWNER = "LinearPU"


class LinearPU(BasePUClassifier):
    """A linear classifier from labelled positives and unlabelled data, at its global optimum.

    Minimises R̂_pu of Eq. (2) plus α/2 ‖w‖² over g(x) = w·φ(x) + b. With a loss that satisfies
    Eq. (5) this is −π mean_P g + mean_U ℓ(−g) + α/2 ‖w‖² and convex. Features are brought to
    mean 0 and variance 1 inside, so `alpha` and `gamma` mean the same on all data; sparse
    features are scaled but not centred, and never made dense.

    Parameters
    ----------
    prior : float or "auto", default="auto"
        The class prior π_p: the share of positives among the unlabelled rows (two-sample) or
        among all rows (one-sample). "auto" estimates it; see ``prior_estimate_``.
    loss : {"logistic", "squared", "double_hinge"}, default="logistic"
        A loss that satisfies Eq. (5). "logistic": scores are log-odds. "squared": closed form.
        "double_hinge": the support vector machine's relative.
    alpha : float, default=0.01
        α > 0, the strength of the ℓ2 regularisation of w; b is free. Without any, the unbiased
        risk need not have a minimum.
    fit_intercept : bool, default=True
        Whether there is a b. Dense features are not centred if there is neither b nor basis.
    sampling : {"two-sample", "one-sample"}, default="two-sample"
        "two-sample": the positives were collected separately from the unlabelled rows.
        "one-sample": all rows are one sample, and some of its positives got a label.
    basis : {"rff", "gaussian"} or None, default=None
        φ. None: the features. "gaussian": exp(−γ ‖x − c‖²) around unlabelled rows c drawn at
        random. "rff": random Fourier features of the same kernel.
    n_components : int, default=200
        The number of basis functions.
    gamma : float or None, default=None
        γ > 0; None means one over the number of features.
    tol : float, default=1e-6
        The duality gap to reach: how far ``objective_`` may be from the least value.
    max_iter : int, default=200
        The most Newton steps.
    random_state : int, RandomState or None, default=None
        Draws the basis, and the folds of `regularisation_path`.

    Attributes
    ----------
    classes_, sampling_, prior_, prior_estimate_, n_features_in_, feature_names_in_
        As in `BasePUClassifier`.
    coef_ : ndarray of shape (1, n_features) or (1, n_components)
        The weights, in the units of X if there is no basis: ``g(x) = x·coef_ + intercept_``.
    intercept_ : ndarray of shape (1,)
        b, in the same units.
    objective_ : float
        R̂_pu + α/2 ‖w‖² at the solution, w being the weights of the features at one scale.
    certificate_ : Certificate
        ``gap``, ``gradient_norm``, ``iterations`` and ``reached``; see `nnpu.convex.Certificate`.
    n_iter_ : int
        ``certificate_.iterations``.
    features_ : Features
        φ.

    References
    ----------
    du Plessis, Niu and Sugiyama (2015), Convex formulation for learning from positive and
    unlabeled data, ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from nnpu import LinearPU
    >>> rng = np.random.default_rng(0)
    >>> x_p = rng.normal(2, 1, (100, 2))                                 # positives
    >>> x_u = np.r_[rng.normal(2, 1, (150, 2)), rng.normal(-2, 1, (350, 2))]  # 30 % positive
    >>> X, s = np.r_[x_p, x_u], np.r_[np.ones(100), np.zeros(500)]
    >>> clf = LinearPU(prior=0.3).fit(X, s)
    >>> clf.predict([[2, 2], [-2, -2]]), clf.certificate_.reached
    (array([1., 0.]), True)
    """

    _negatives_are_population = True

    def __init__(
        self,
        prior: float | str = "auto",
        *,
        loss: str = "logistic",
        alpha: float = 1e-2,
        fit_intercept: bool = True,
        sampling: str = "two-sample",
        basis: str | None = None,
        n_components: int = 200,
        gamma: float | None = None,
        tol: float = 1e-6,
        max_iter: int = 200,
        random_state: Any = None,
    ) -> None:
        self.prior = prior
        self.loss = loss
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.sampling = sampling
        self.basis = basis
        self.n_components = n_components
        self.gamma = gamma
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def regularisation_path(
        self, X: Any, y: Any, alphas: Iterable[float], *, n_splits: int = 5
    ) -> list[dict[str, float]]:
        """Return what each strength of regularisation gives; the classifier itself is not fitted.

        The prior is found once, from all rows; scale and basis anew in each fold.

        Parameters
        ----------
        X, y
            As in `fit`.
        alphas : iterable of float
            Strengths, all positive.
        n_splits : int, default=5
            The number of folds, with the same share of labelled rows in each.

        Returns
        -------
        list of dict
            One row per α, as given: ``alpha``; ``objective``, the least value on all rows; and
            means over held-out folds: ``risk``, R̂_pu of the loss, and ``zero_one``, R̂_pu of the
            zero-one loss.

        Examples
        --------
        >>> import numpy as np
        >>> from nnpu import LinearPU
        >>> X = np.random.default_rng(0).normal(size=(60, 2))
        >>> path = LinearPU(prior=0.4).regularisation_path(X, np.arange(60) % 3 == 0, [1.0, 0.1])
        >>> [row["alpha"] for row in path], path[0]["objective"] > path[1]["objective"]
        ([1.0, 0.1], True)
        """
        strengths = np.array([_check_alpha(alpha, "alphas") for alpha in alphas])
        if not len(strengths):
            raise ParameterError(f"The 'alphas' parameter of {_OWNER} must not be empty.")
        # Quick, checks everything and finds the prior.
        model = clone(self).set_params(alpha=float(strengths.max())).fit(X, y)
        X, s = model._validate(X, y)
        codes = encode(s, model.classes_, known_negatives=model._known_negatives)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        order = np.argsort(-strengths)  # each solution is a good start for the next smaller α
        least = [fit.objective for fit in model._solve(X, codes, seed, strengths[order])[0]]
        held_out = np.zeros((len(order), 2))
        for train, test in PUStratifiedKFold(n_splits, random_state=seed).split(X, codes):
            fits, features = model._solve(X[train], codes[train], seed, strengths[order])
            held_out += model._held_out_risks(X[test], codes[test], fits, features)
        columns = np.column_stack([strengths[order], least, held_out / n_splits])
        names = ("alpha", "objective", "risk", "zero_one")
        return [
            dict(zip(names, map(float, row), strict=True)) for row in columns[np.argsort(order)]
        ]

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        _check_loss(self.loss)
        _check_alpha(self.alpha, "alpha")
        if not isinstance(self.fit_intercept, bool | np.bool_):
            raise ParameterError(
                f"The 'fit_intercept' parameter of {_OWNER} must be a bool. "
                f"Got {shown(self.fit_intercept)} instead."
            )
        if self.basis is not None:
            check_choice("basis", self.basis, _OWNER, BASES, also="None")
        check_count("n_components", self.n_components, _OWNER)
        if self.gamma is not None:
            check_number("gamma", self.gamma, _OWNER, low=0, include_low=False, include_high=False)
        check_number("tol", self.tol, _OWNER, low=0, include_low=False)
        check_count("max_iter", self.max_iter, _OWNER)

    def _may_centre(self) -> bool:
        return bool(self.fit_intercept) or self.basis is not None

    def _fit_scores(self, data: FitData, work: None) -> None:
        [solution], self.features_ = self._solve(data.x, data.codes, data.seed, [self.alpha])
        self.objective_, self.certificate_ = solution.objective, solution.certificate
        self.n_iter_ = self.certificate_.iterations
        self.coef_, self.intercept_ = self._in_units_of_x(solution, self.features_)
        if not self.certificate_.reached:
            warnings.warn(
                f"The duality gap is {self.certificate_.gap:.3g} after "
                f"{self.certificate_.iterations} steps, above tol={self.tol}. Increase max_iter, "
                "alpha or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _solve(
        self, X: Any, codes: Labels, seed: int, alphas: Iterable[float]
    ) -> tuple[list[Solution], Features]:
        """Return the minimum for each α, and φ."""
        if self.sampling == "two-sample" and np.any(codes == -1):
            X, codes = X[codes >= 0], codes[codes >= 0]  # known negatives are not part of U
        population = codes == 0 if self.sampling == "two-sample" else np.full(len(codes), True)
        features = fit_features(
            X,
            centre=self.fit_intercept or self.basis is not None,
            basis=self.basis,
            candidates=np.flatnonzero(codes == 0),
            n_components=self.n_components,
            gamma=self.gamma,
            rng=np.random.default_rng(seed),
        )
        problem = Problem(
            X, codes == 1, population, features, self.prior_, intercept=bool(self.fit_intercept)
        )
        fits = solve_path(problem, self.loss, alphas, tol=self.tol, max_iter=self.max_iter)
        return fits, features

    def _in_units_of_x(self, solution: Solution, features: Features) -> tuple[Floats, Floats]:
        """Return the weights and the intercept that undo the scaling; a basis does its own."""
        w = solution.theta[: features.size]
        b = solution.theta[-1] if self.fit_intercept else 0.0
        if features.basis is None:
            w = w / features.scale
            b = b if features.mean is None else b - features.mean @ w
            b = b if self._offset is None else b - self._offset @ w
        return w.reshape(1, -1), np.array([b])

    def _scores(self, X: Any) -> NDArray[np.float32]:
        return self._linear_scores(X, self.features_, self.coef_, self.intercept_)[:, 0]

    def _linear_scores(
        self, X: Any, features: Features, coef: Floats, intercept: Floats
    ) -> NDArray[np.float32]:
        """Return the scores of validated rows, from which the offset is subtracted already."""
        if features.basis is None and self._offset is not None:
            intercept = intercept + coef @ self._offset
        return _linear_scores(X, features, coef, intercept)

    def _held_out_risks(
        self, X: Any, codes: Labels, fits: list[Solution], features: Features
    ) -> list[tuple[float, float]]:
        """Return R̂_pu of the loss and of the zero-one loss on held-out rows, for each solution."""
        weights = [self._in_units_of_x(fit, features) for fit in fits]
        coef, intercept = (np.concatenate(parts) for parts in zip(*weights, strict=True))
        scores = self._linear_scores(X, features, coef, intercept)
        return [self._risks(np.ascontiguousarray(column), codes) for column in scores.T]

    def _risks(self, scores: NDArray[np.float32], codes: Labels) -> tuple[float, float]:
        g, h = scores.astype(np.float64), CONVEX_LOSSES[self.loss].value  # h(g) = ℓ(−g)
        x_p, x_u = g[codes == 1], g if self.sampling == "one-sample" else g[codes == 0]
        risk = self.prior_ * float(np.mean(h(-x_p) - h(x_p))) + float(np.mean(h(x_u)))  # Eq. (2)
        predictions = (scores > 0).astype(int)
        return risk, pu_zero_one_risk(codes, predictions, prior=self.prior_, sampling=self.sampling)

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        tensors, fitted = super()._state()
        tensors |= {"coef": self.coef_, "intercept": self.intercept_}
        for name in _FEATURE_ARRAYS:
            value = getattr(self.features_, name)
            if value is not None:
                tensors[name] = value
        fitted["objective"] = self.objective_
        fitted["certificate"] = dataclasses.asdict(self.certificate_)
        fitted["basis"], fitted["gamma"] = self.features_.basis, self.features_.gamma
        return tensors, fitted

    def _restore(
        self, tensors: dict[str, NDArray[Any]], fitted: dict[str, Any], module: Any
    ) -> None:
        super()._restore(tensors, fitted, module)
        self.coef_, self.intercept_ = tensors["coef"], tensors["intercept"]
        basis = fitted["basis"]
        if basis is not None:
            check_choice("basis", basis, _OWNER, BASES)
        self.features_ = Features(
            tensors.get("mean"),
            tensors["scale"],
            basis,
            tensors.get("points"),
            tensors.get("phase"),
            float(fitted["gamma"]),
        )
        self.objective_ = float(fitted["objective"])
        self.certificate_ = Certificate(**fitted["certificate"])
        self.n_iter_ = self.certificate_.iterations
        _check_shapes(self.features_, self.coef_, self.intercept_, self.n_features_in_)


_FEATURE_ARRAYS = ("mean", "scale", "points", "phase")


def _linear_scores(
    X: Any, features: Features, coef: Floats, intercept: Floats
) -> NDArray[np.float32]:
    """g(x) = φ(x)·coef + b, one column per row of coef; without a basis the weights are X's own."""
    scores = np.empty((X.shape[0], len(coef)), np.float32)
    for rows, block in row_blocks(X, features.size):
        plain = features.basis is None
        phi = block.astype(np.float64) if plain else features.transform(block)
        scores[rows] = phi @ coef.T + intercept
    return scores


def _check_loss(loss: Any) -> None:
    check_choice(
        "loss",
        loss,
        _OWNER,
        CONVEX_LOSSES,
        why="the problem is convex only if l(t, +1) - l(t, -1) = -t, Eq. (5); PUClassifier takes "
        "any loss",
    )


def _check_alpha(alpha: Any, name: str) -> float:
    return check_number(name, alpha, _OWNER, low=0, include_low=False, include_high=False)


def _check_shapes(features: Features, coef: Floats, intercept: Floats, d: int) -> None:
    """Refuse a stored model whose parts do not fit together."""
    sizes = {
        "scale": (features.scale, (d,)),
        "mean": (features.mean, (d,)),
        "points": (features.points, (features.size, d)),
        "phase": (features.phase, (features.size,)),
        "coef": (coef, (1, features.size)),
        "intercept": (intercept, (1,)),
    }
    for name, (array, shape) in sizes.items():
        if array is not None and array.shape != shape:
            raise InputError(f"The weights {name!r} have the shape {array.shape}, not {shape}.")
    needs = {None: (), "gaussian": ("points",), "rff": ("points", "phase")}[features.basis]
    if any(getattr(features, name) is None for name in needs):
        raise InputError(f"The weights for basis={features.basis!r} are not complete.")
