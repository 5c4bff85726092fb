"""Whether a table's labels can have been given at random, in a line and as a test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nnpu.prior import ScarTest

__all__ = ["check_labels", "label_line"]


def check_labels(
    features: Any,
    codes: NDArray[np.int8],
    owners: Sequence[str],
    *,
    prior: float,
    sampling: str,
    seed: int,
) -> ScarTest | None:
    """Run `nnpu.scar_test` on labelled and unlabelled rows; None for what is no matrix.

    Parameters
    ----------
    features, codes
        Of the rows: what the model takes, PU labels.
    owners : sequence of str
        The column of the table that each feature comes from.
    prior, sampling, seed
        As in `nnpu.scar_test`; the prior is not estimated from these rows.
    """
    from dataclasses import replace

    from nnpu.prior import scar_test

    matrix = isinstance(features, np.ndarray) or sparse.issparse(features)
    p, u = codes == 1, codes == 0
    if not matrix or min(p.sum(), u.sum()) < 2:
        return None
    if sampling == "one-sample":  # the share in P ∪ U; known negatives are left out of the test
        prior = min(prior * len(codes) / int((codes >= 0).sum()), 1 - 1e-9)
        if prior <= p.sum() / (p.sum() + u.sum()):
            return None
    test = scar_test(features[p], features[u], prior=prior, sampling=sampling, random_state=seed)
    names = tuple(dict.fromkeys(owners[number] for number in test.columns))
    ending = f" These rows differ from others in: {', '.join(map(str, test.columns))}."
    message = test.message.replace(
        ending, f" These rows differ from others in: {', '.join(names)}."
    )
    return replace(test, columns=names, message=message)


def label_line(test: ScarTest) -> str:
    """Say in one line what the test found.

    Examples
    --------
    >>> from nnpu.prior import ScarTest
    >>> label_line(ScarTest(0.4, (), ""))
    'Labels: nothing contradicts labels given at random (p = 0.4).'
    """
    if test.pvalue >= 0.05:
        return f"Labels: nothing contradicts labels given at random (p = {test.pvalue:.2g})."
    where = f", by {', '.join(map(str, test.columns))}" if test.columns else ""
    return (
        f"Labels: not given at random (p = {test.pvalue:.2g}): clear cases are labelled too "
        f"often{where}, or the prior is too large."
    )
