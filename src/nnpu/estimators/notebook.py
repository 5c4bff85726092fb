"""The box that a notebook shows: scikit-learn's diagram, and what is known of the prior."""

from __future__ import annotations

from html import escape
from importlib import metadata
from typing import Any

__all__ = ["NotebookBox"]


class NotebookBox:
    """Adds a line about the fitted prior, and a link, to scikit-learn's HTML of an estimator."""

    _doc_link_module = "nnpu"

    @property
    def _doc_link_template(self) -> str:
        """The page of a class on the site that ``[project.urls]`` names; without one no link."""
        try:
            urls = metadata.metadata("nnpu").get_all("Project-URL") or []
        except metadata.PackageNotFoundError:
            urls = []
        site = dict(url.split(", ", 1) for url in urls).get("Documentation", "")
        return f"{site.rstrip('/')}/api/nnpu.{{estimator_name}}.html" if site else ""

    def _repr_html_inner(self) -> str:
        return f"{super()._repr_html_inner()}{_about_prior(self)}"  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += _about_prior(self)
        return bundle


def _about_prior(estimator: Any) -> str:
    """Say which prior was given or estimated; nothing before `fit`."""
    from nnpu.estimators.evaluation import prior_interval, prior_lines

    classifier = getattr(estimator, "classifier_", estimator)
    if not hasattr(classifier, "prior_"):
        return ""
    estimate = classifier.prior_estimate_
    known = estimate is None or estimate.identified
    lines = prior_lines(prior_interval(classifier), known)
    return f"<p><small>{escape(' '.join(lines))}</small></p>"
