"""Elkan and Noto (2008), Learning classifiers from only positive and unlabeled data.

If every positive is labelled with the same probability c, then P(labelled | x) = c P(y = +1 | x),
so that c is the mean probability of being labelled among positives, where classes do not overlap.
Where they do, the mean is too small and the prior too large.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from nnpu.prior.curve import FloatArray

__all__ = ["elkan_noto"]


def elkan_noto(scores_p: FloatArray, scores_u: FloatArray) -> float:
    """Return the share of positives in U.

    The scores are first turned into probabilities by a logistic regression on them (Platt). P and
    U together are a population with labelled share b, in which positives have share b / c.

    Parameters
    ----------
    scores_p, scores_u : ndarray of shape (n_p,), (n_u,)
        Out-of-fold scores.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.repeat([1.0, 0.0], [300, 700])
    >>> round(elkan_noto(np.ones(1000), x), 2)
    0.3
    """
    from sklearn.linear_model import LogisticRegression

    scores = np.concatenate([scores_p, scores_u])
    spread = scores.std()
    if spread == 0:  # a resample of ties: every row is as likely to be labelled as any other
        return 1.0
    scores = (scores - scores.mean()) / spread
    s = np.repeat([1, 0], [scores_p.size, scores_u.size])
    platt = LogisticRegression(C=1e4, max_iter=1000).fit(scores[:, None], s)
    c = float(platt.predict_proba(scores[s == 1, None])[:, 1].mean())
    b = scores_p.size / s.size
    return min(max((b / c - b) / (1 - b), 0.0), 1.0)
