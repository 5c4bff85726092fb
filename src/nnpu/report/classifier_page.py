"""The report of any classifier of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nnpu.estimators.evaluation import evaluate
from nnpu.report.model_page import model_page

if TYPE_CHECKING:
    from nnpu.estimators.base import BasePUClassifier
    from nnpu.report.html.document import Page

__all__ = ["page"]


def page(clf: BasePUClassifier, X: Any, s: Any, *, title: str = "Report") -> Page:
    """Make the report of any classifier of this package.

    Parameters
    ----------
    clf : classifier
        Fitted.
    X : array-like
        Rows that it was not fitted to.
    s : array-like
        Their PU labels, as in ``fit``.
    title : str, default="Report"
        The heading.

    Returns
    -------
    Page
        It shows itself in a notebook; ``.save(path)`` writes one HTML file.

    Examples
    --------
    >>> import numpy as np
    >>> from nnpu import LinearPU, report
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(400) < 0.5
    >>> X, s = rng.normal(2.0 * y, 1)[:, None], (y & (rng.random(400) < 0.5)).astype(int)
    >>> clf = LinearPU(0.5, sampling="one-sample").fit(X[::2], s[::2])
    >>> report.page(clf, X[1::2], s[1::2]).title
    'Report'
    """
    if hasattr(clf, "classifier_"):  # a table's: it knows how its rows become features
        found: Page = clf.report(clf.evaluate(X, s), title=title)
        return found
    scores, codes = clf._scored(X, s)
    images = X if hasattr(clf, "pixels") else None
    return model_page(clf, evaluate(clf, codes, scores, images=images), title=title)
