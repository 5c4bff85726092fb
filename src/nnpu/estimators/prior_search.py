"""A search over `prior` by scores that each candidate computes under its own prior is refused."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from nnpu.parameters import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["refuse_search_over_prior"]

_NEAR = 8  # frames between the search and the step of a pipeline whose prior it sets


def refuse_search_over_prior(parameters: Mapping[str, Any], owner: str) -> None:
    """Raise `ParameterError` if scikit-learn sets `prior` for a candidate that it will score.

    A score under the candidate's own prior says nothing about the prior: on most data the largest
    one wins. A scorer with a prior of its own, or one of true labels, may judge candidates.

    Parameters
    ----------
    parameters : mapping
        What `set_params` was given.
    owner : str
        The class, for the message.
    """
    if "prior" not in parameters:
        return
    frame = sys._getframe(1)
    for _ in range(_NEAR):
        if frame.f_code.co_name == "_fit_and_score":
            break
        if frame.f_back is None:
            return
        frame = frame.f_back
    else:
        return
    if not _goes_by_own_prior(frame.f_locals.get("scorer")):
        return
    raise ParameterError(
        f"The 'prior' parameter of {owner} cannot be searched over: each candidate would be scored "
        "under its own prior, and such scores do not say which prior is right. Give the prior, or "
        "let prior='auto' estimate it; to compare models with different priors, judge all by one: "
        "scoring=make_pu_scorer('pu_accuracy', prior=...)."
    )


def _goes_by_own_prior(scorer: Any) -> bool:
    """Return whether a scorer, or one of several, takes the prior from the estimator."""
    from nnpu.metrics.scorers import PUScorer

    several = getattr(scorer, "_scorers", None)  # scikit-learn's scorer of several metrics
    each = list(several.values()) if isinstance(several, dict) else [scorer]
    by_default = [type(one).__name__ == "_PassthroughScorer" for one in each]
    return any(by_default) or any(one.prior is None for one in each if isinstance(one, PUScorer))
