"""Scorers for `GridSearchCV` and `cross_val_score` that never need a true label."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.metrics.estimates import METRICS
from nnpu.metrics.intervals import contradiction, interval
from nnpu.metrics.score_tables import possible_prior
from nnpu.parameters import ParameterError, Sampling, check_choice, check_prior, check_sampling

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["SCORERS", "PUScorer", "make_pu_scorer", "register_scorers"]


@dataclass(frozen=True)
class PUScorer:
    """A metric as scikit-learn's model selection calls it; greater is better.

    Parameters
    ----------
    metric : str
        The name of a metric in `nnpu.metrics.METRICS`.
    prior : float, optional
        π_p. Default: the fitted estimator's `prior_`, moved to the nearest one that the rows can
        have (`possible_prior`).
    sampling : {"two-sample", "one-sample"}, optional
        Default: the estimator's `sampling` if it has one, else "two-sample".
    """

    metric: str
    prior: float | None = None
    sampling: Sampling | None = None

    def __call__(self, estimator: Any, X: Any, s: Any) -> float:
        """Score a fitted estimator on held-out rows with PU labels `s`."""
        if self.metric == "pu_roc_auc":
            values = _scores(estimator, X)
        else:
            values = np.asarray(estimator.predict(X)) == np.max(estimator.classes_)
        labels, sampling = _pu_labels(s), self._sampling(estimator)
        prior = self._prior(estimator)
        if self.prior is None:  # that of the training: a fold may have more labels than it allows
            prior = possible_prior(prior, labels, sampling=sampling)
        score = METRICS[self.metric](labels, values, prior=prior, sampling=sampling)
        if not 0 <= score <= 1 and self.metric != "lee_liu_score":
            low, high = interval(self.metric, labels, values, prior=prior, sampling=sampling)
            message = contradiction(self.metric, score, low, high)
            if self.metric == "pu_zero_one_risk":  # 1 − accuracy, which has the words
                message = contradiction("pu_accuracy", 1 - score, 1 - high, 1 - low)
            if message:
                warnings.warn(f"scoring={self.metric!r}: {message}", UserWarning, stacklevel=2)
        return -score if self.metric == "pu_zero_one_risk" else score

    def _prior(self, estimator: Any) -> float:
        prior = self.prior if self.prior is not None else getattr(estimator, "prior_", None)
        if prior is None:
            raise ParameterError(
                "The 'prior' parameter of make_pu_scorer must be given for an estimator without "
                f"prior_. Got None instead, for {type(estimator).__name__}."
            )
        return float(prior)

    def _sampling(self, estimator: Any) -> str:
        return self.sampling or str(getattr(estimator, "sampling", "two-sample"))


def make_pu_scorer(
    metric: str | Callable[..., float], *, prior: float | None = None, sampling: str | None = None
) -> PUScorer:
    """Make a scorer of a PU metric; the zero-one risk is negated, so greater is better.

    With two label values the greater one is "labelled", whatever the codes; {−1, 0, 1} has known
    negatives too.

    Parameters
    ----------
    metric : str or callable
        One of `nnpu.metrics.METRICS`, or its name.
    prior : float, optional
        π_p. Default: each fitted estimator's `prior_`. A grid whose candidates have different
        priors must be given one here, or they are judged by different rules.
    sampling : {"two-sample", "one-sample"}, optional
        Default: the estimator's own `sampling`, else "two-sample".

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> X = np.r_[np.linspace(2, 4, 20), np.linspace(-3, 4, 80)][:, None]
    >>> s = np.repeat([1, 0], [20, 80])
    >>> scorer = make_pu_scorer("pu_recall", prior=0.3)
    >>> cross_val_score(LogisticRegression(), X, s, scoring=scorer, cv=2).shape
    (2,)
    """
    name = metric if isinstance(metric, str) else getattr(metric, "__name__", "")
    check_choice("metric", name, "make_pu_scorer", METRICS)
    if prior is not None:
        prior = check_prior(prior, "make_pu_scorer")
    return PUScorer(
        name, prior, None if sampling is None else check_sampling(sampling, "make_pu_scorer")
    )


#: A scorer of each metric that takes prior and sampling from the estimator.
SCORERS: Mapping[str, PUScorer] = MappingProxyType({name: PUScorer(name) for name in METRICS})


def register_scorers() -> None:
    """Let scikit-learn take the names of the metrics: ``scoring="pu_f1"``.

    It is called when the first classifier of this package is imported. scikit-learn has no public
    way to add a name; where its private one has changed, `SCORERS` and `make_pu_scorer` still work.

    Examples
    --------
    >>> from sklearn.metrics import get_scorer
    >>> register_scorers()
    >>> get_scorer("pu_f1")
    PUScorer(metric='pu_f1', prior=None, sampling=None)
    """
    try:
        from sklearn.metrics._scorer import _SCORERS
    except ImportError:
        return
    known: Any = _SCORERS
    if not isinstance(known, dict) or all(name in known for name in SCORERS):
        return
    known |= {name: scorer for name, scorer in SCORERS.items() if name not in known}
    # What was imported before has a list of the names that it takes.
    modules = [m for name, m in list(sys.modules.items()) if name.startswith("sklearn.")]
    for thing in [thing for module in modules for thing in list(vars(module).values())]:
        for attribute in ("_skl_parameter_constraints", "_parameter_constraints"):
            constraints = getattr(thing, "__dict__", {}).get(attribute)
            of_scoring = constraints.get("scoring") if isinstance(constraints, dict) else None
            for one in of_scoring if isinstance(of_scoring, list) else ():
                if isinstance(names := getattr(one, "options", None), set) and "roc_auc" in names:
                    names.update(SCORERS)


def _scores(estimator: Any, X: Any) -> Any:
    if hasattr(estimator, "decision_function"):
        return estimator.decision_function(X)
    return np.asarray(estimator.predict_proba(X))[:, -1]


def _pu_labels(s: Any) -> Any:
    """Recode two label values to 1 and 0; leave {−1, 0, 1} alone."""
    s = np.asarray(s)
    values = np.unique(s)
    if values.size == 3:
        return s
    return (s == values[-1]).astype(np.int64)
