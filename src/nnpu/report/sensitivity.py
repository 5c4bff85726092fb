"""What hangs on the prior: the table of `nnpu.estimators.sensitivity` as two panels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nnpu.parameters import InputError
from nnpu.report.panels import Curve, Panel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["sensitivity_panels"]

_COLOURS = {"accuracy": "blue", "precision": "orange", "recall": "green"}


def sensitivity_panels(rows: Sequence[Mapping[str, float]]) -> list[Panel]:
    """Draw the estimates with their 90 % intervals, and the predictions, against assumed priors.

    Parameters
    ----------
    rows : sequence of mappings
        What `nnpu.estimators.sensitivity` returned.

    Returns
    -------
    list of Panel
        For `save_figure`.

    Examples
    --------
    >>> metrics = ("accuracy", "precision", "recall")
    >>> row = {name + end: 0.9 for name in metrics for end in ("", "_low", "_high")}
    >>> rows = [row | {"assumed_prior": p, "share_flagged": p, "agreement": 1} for p in (0.2, 0.3)]
    >>> [panel.title for panel in sensitivity_panels(rows)]
    ['Estimates as if the prior were right', 'Predictions']
    """
    if not rows:
        raise InputError("sensitivity_panels needs the rows of a table; there are none.")
    column = {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}
    prior = column["assumed_prior"]
    estimates = [
        Curve(
            name,
            prior,
            column[name],
            (column[f"{name}_high"] - column[f"{name}_low"]) / 2,
            colour,
        )
        for name, colour in _COLOURS.items()
    ]
    predictions = [
        Curve("share predicted positive", prior, column["share_flagged"], None, "purple"),
        Curve("the assumed prior", prior, prior, None, "grey", "dashed"),
        Curve("agreement with the base prior", prior, column["agreement"], None, "black"),
    ]
    return [
        Panel(
            "Estimates as if the prior were right", "assumed prior", "PU estimate (90 %)", estimates
        ),
        Panel("Predictions", "assumed prior", "share of the population", predictions),
    ]
