"""The share of positives in a table, in words, in rows, and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from nnpu.prior import PriorEstimate

__all__ = ["TablePrior", "draw_prior", "in_rows"]


class TablePrior(NamedTuple):
    """The estimate for a table.

    Attributes
    ----------
    value : float
        The prior of all rows, known negatives included (one-sample), or of the unlabelled ones.
    estimate : PriorEstimate
        How it was estimated, from labelled and unlabelled rows.
    labelled, unlabelled, rows : int
        How many there are.
    """

    value: float
    estimate: PriorEstimate
    labelled: int
    unlabelled: int
    rows: int


def in_rows(found: TablePrior) -> str:
    """Say in numbers of rows what the share means.

    Examples
    --------
    >>> from nnpu.prior import PriorEstimate
    >>> estimate = PriorEstimate(0.3, 0.2, 0.4, "bbe", True, "", "one-sample")
    >>> in_rows(TablePrior(0.3, estimate, 20, 80, 100))
    'In rows: of 100, about 30 would be positive: 20 labelled and about 10 others.'
    """
    if found.estimate.sampling == "one-sample":
        positives = round(found.value * found.rows)
        return (
            f"In rows: of {found.rows:,}, about {positives:,} would be positive: "
            f"{found.labelled:,} labelled and about {max(positives - found.labelled, 0):,} others."
        )
    return (
        f"In rows: of {found.unlabelled:,} unlabelled ones, about "
        f"{round(found.value * found.unlabelled):,} would be positive."
    )


def draw_prior(found: TablePrior, out: Path) -> list[str]:
    """Write the picture behind the estimate as PNG and SVG, and return the two paths."""
    from nnpu.report import save_figure
    from nnpu.report.panels import prior_panel

    stem = out.with_suffix("") if out.suffix in (".png", ".svg") else out
    panel = prior_panel(found.estimate, found.labelled, found.unlabelled)
    return [str(path) for path in save_figure([panel], stem, columns=1)]
