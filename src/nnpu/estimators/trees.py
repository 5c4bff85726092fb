"""`BoostedPU`: gradient-boosted trees under the nnPU risk, grown by LightGBM.

The score of a row can be divided among the comparisons on its way through the trees.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp

from nnpu.boosting import PUObjective, check_boosted_loss
from nnpu.estimators.base import BasePUClassifier, FitData
from nnpu.estimators.forest import Forest, along_paths, stored_forest
from nnpu.estimators.on_dask import fit_on_dask
from nnpu.estimators.threads import count_jobs
from nnpu.extras import need_lightgbm
from nnpu.parameters import InputError, check_count, check_number
from nnpu.risk_kinds import get_risk
from nnpu.storage import check_history

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nnpu.risk_kinds import Risk

__all__ = [
    "BoostedPU",
]

_OWNER = "BoostedPU"


class BoostedPU(BasePUClassifier):
    """Gradient-boosted trees from labelled positives and unlabelled data.

    Every round grows a tree to the gradient of the nnPU risk of all rows, with Algorithm 1's other
    branch where r < −β; see `nnpu.boosting.PUObjective`. It needs LightGBM
    to fit, and not to score.

    Parameters
    ----------
    prior : float or "auto", default="auto"
        The class prior π_p: the share of positives among the unlabelled rows (two-sample) or
        among all rows (one-sample). "auto" estimates it; see ``prior_estimate_``.
    risk : str or Risk, default="nnpu"
        What is minimised; see `nnpu.PULoss`.
    loss : {"logistic", "sigmoid"}, default="logistic"
        With "logistic" scores are near log-odds; it was also the more accurate one with trees
        (``docs/lab/trees.md``).
    beta, gamma : float, default=0.0, 1.0
        Algorithm 1's tolerance, and its discount of the step size where r < −β.
    sampling : {"two-sample", "one-sample"}, default="two-sample"
        "two-sample": the positives were collected separately from the unlabelled rows.
        "one-sample": all rows are one sample, and some of its positives got a label.
    n_estimators : int, default=100
        Rounds, each with one tree.
    learning_rate : float, default=0.1
        The step size of a round. Up to 0.85 a round lowers the risk that it descends.
    num_leaves : int, default=15
        The most leaves of a tree.
    min_child_samples : int, default=20
        The least rows in a leaf.
    reg_lambda : float, default=0.0
        ℓ2 regularisation of the leaves' values.
    colsample_bytree : float, default=1.0
        Share of the features that a tree may use.
    n_jobs : int or None, default=None
        Threads; None means one for each processor that is free. Results do not depend on it.
    random_state : int, RandomState or None, default=None
        Draws the features of each tree, and the folds in which the prior is estimated. The same
        seed on the same machine gives the same bits.

    Attributes
    ----------
    classes_, sampling_, prior_, prior_estimate_, calibration_, threshold_, n_features_in_,
    feature_names_in_
        As in `BasePUClassifier`.
    feature_importances_ : ndarray of shape (n_features,)
        What the splits on each feature gained, as a share of all.
    forest_ : Forest
        The trees as arrays.
    history_ : list of dict
        One row per round: ``train_risk``, its parts ``train_positive`` and ``train_negative``, and
        whether the gradient was ``corrected``.

    Notes
    -----
    Missing values (NaN) are taken as they are: each comparison learns where they go. They are
    replaced by medians only to estimate the prior. All features are compared as numbers; encode
    categories first, as ``nnpu fit`` does.

    Scores of rows that the trees were grown on are too sure; judge other rows.

    Examples
    --------
    >>> import numpy as np
    >>> from nnpu import BoostedPU
    >>> rng = np.random.default_rng(0)
    >>> x_p = rng.normal(2, 1, (100, 2))                                 # positives
    >>> x_u = np.r_[rng.normal(2, 1, (150, 2)), rng.normal(-2, 1, (350, 2))]  # 30 % positive
    >>> X, s = np.r_[x_p, x_u], np.r_[np.ones(100), np.zeros(500)]
    >>> clf = BoostedPU(prior=0.3, random_state=0).fit(X, s)
    >>> clf.predict([[2, 2], [-2, -2]])
    array([1., 0.])
    """

    def __init__(
        self,
        prior: float | str = "auto",
        *,
        risk: str | Risk = "nnpu",
        loss: str = "logistic",
        beta: float = 0.0,
        gamma: float = 1.0,
        sampling: str = "two-sample",
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        num_leaves: int = 15,
        min_child_samples: int = 20,
        reg_lambda: float = 0.0,
        colsample_bytree: float = 1.0,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.prior = prior
        self.risk = risk
        self.loss = loss
        self.beta = beta
        self.gamma = gamma
        self.sampling = sampling
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.min_child_samples = min_child_samples
        self.reg_lambda = reg_lambda
        self.colsample_bytree = colsample_bytree
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, groups: Any = None) -> Self:
        """Fit to rows in memory, as every classifier here, or to a Dask DataFrame.

        Parameters
        ----------
        X, y, groups
            As in `BasePUClassifier.fit`; or a Dask DataFrame and a Dask Series, without groups:
            see `nnpu.estimators.on_dask.fit_on_dask`.
        """
        if type(X).__module__.startswith("dask."):
            return fit_on_dask(self, X, y)
        return super().fit(X, y, groups=groups)

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        get_risk(self.risk, owner=_OWNER)
        check_boosted_loss(self.loss, _OWNER)
        check_number("beta", self.beta, _OWNER, low=0)
        check_number("gamma", self.gamma, _OWNER, low=0, high=1)
        check_count("n_estimators", self.n_estimators, _OWNER)
        check_number("learning_rate", self.learning_rate, _OWNER, low=0, high=1, include_low=False)
        check_count("num_leaves", self.num_leaves, _OWNER, low=2)
        check_count("min_child_samples", self.min_child_samples, _OWNER)
        check_number("reg_lambda", self.reg_lambda, _OWNER, low=0, include_high=False)
        share = self.colsample_bytree
        check_number("colsample_bytree", share, _OWNER, low=0, high=1, include_low=False)
        if self.n_jobs is not None:
            check_count("n_jobs", self.n_jobs, _OWNER)

    def _objective(self, prior: float) -> PUObjective:
        return PUObjective(
            prior,
            risk=self.risk,
            loss=self.loss,
            beta=self.beta,
            gamma=self.gamma,
            sampling=self.sampling,
            owner=_OWNER,
        )

    def _unlabelled_is_negative(self) -> bool:
        return get_risk(self.risk).unlabelled_is_negative

    def _ignores_negatives(self) -> str:
        risk = get_risk(self.risk)
        return "" if -1 in risk.reads else f"risk={risk.name!r}; risk='nnpnu' uses them."

    def _allows_missing(self) -> bool:
        return True

    def _prepare(self, data: FitData) -> None:
        need_lightgbm(_OWNER)

    def _prior_samples(self, data: FitData, work: None) -> tuple[Any, Any, Any]:
        return super()._prior_samples(replace(data, x=_with_medians(data.x)), work)

    def _fit_scores(self, data: FitData, work: None) -> None:
        lightgbm = need_lightgbm(_OWNER)
        X, codes = data.x, data.codes
        objective = self._objective(self.prior_)
        options = self._options(data.seed)
        rows = lightgbm.Dataset(
            sp.csr_matrix(X) if sp.issparse(X) else X,  # it knows no sparse arrays
            label=codes,
            params=options,
        )
        self.history_: list[dict[str, float]] = []
        self.forest_ = Forest.from_text("")
        self.feature_importances_ = np.zeros(X.shape[1])
        rows.construct()
        if not any(rows.feature_num_bin(number) > 1 for number in range(X.shape[1])):
            return  # no feature tells rows apart, which LightGBM takes for an error
        booster = lightgbm.Booster(options, rows)

        def grow(scores: NDArray[np.float64], _: Any) -> tuple[Any, Any]:
            start = objective.round(scores, codes)
            self.history_.append({"round": len(self.history_), **start.values})
            return start.gradient, start.hessian

        for _ in range(self.n_estimators):
            if booster.update(fobj=grow):  # no leaf can be split any more
                break
        self.forest_ = Forest.from_text(booster.model_to_string(num_iteration=-1))
        gain = booster.feature_importance("gain", iteration=-1)
        self.feature_importances_ = gain / (gain.sum() or 1.0)

    def _options(self, seed: int) -> dict[str, Any]:
        """Return LightGBM's parameters, under its own names."""
        return {
            "objective": "custom",
            "learning_rate": self.learning_rate,
            "num_leaves": self.num_leaves,
            "min_data_in_leaf": self.min_child_samples,
            "lambda_l2": self.reg_lambda,
            "feature_fraction": self.colsample_bytree,
            "num_threads": count_jobs(self.n_jobs),
            "seed": seed,
            "deterministic": True,
            "feature_pre_filter": False,
            "force_row_wise": True,  # LightGBM would time both ways and take one
            "verbosity": -1,
        }

    def _scores(self, X: Any) -> NDArray[np.float32]:
        return self.forest_.scores(X).astype(np.float32)

    def _divided(self, X: Any, background: Any) -> tuple[float, NDArray[np.float64]]:
        return along_paths(self.forest_, X, background)

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        tensors, fitted = super()._state()
        tensors |= self.forest_.arrays()
        if hasattr(self, "feature_importances_"):  # a folder of version 0.1.0 has none
            tensors["importances"] = self.feature_importances_
        return tensors, fitted | {"history": self.history_}

    def _restore(
        self, tensors: dict[str, NDArray[Any]], fitted: dict[str, Any], module: Any
    ) -> None:
        super()._restore(tensors, fitted, module)
        arrays = dict(tensors)
        importances = arrays.pop("importances", None)
        self.forest_ = stored_forest(arrays, self.n_features_in_)
        if importances is not None:
            if importances.shape != (self.n_features_in_,) or importances.dtype != np.float64:
                raise InputError("The array 'importances' has a wrong shape or type.")
            self.feature_importances_ = importances
        self.history_ = check_history(fitted["history"])


def _with_medians(X: Any) -> Any:
    """Return X with every missing value replaced by its column's median, or 0 if it has none."""
    if sp.issparse(X) or not np.isnan(X).any():
        return X
    medians = [
        np.median(column[~np.isnan(column)]) if not np.isnan(column).all() else 0.0
        for column in X.T
    ]
    return np.where(np.isnan(X), np.array(medians, dtype=X.dtype), X)
