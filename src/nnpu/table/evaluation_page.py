"""The report of an evaluation on other rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nnpu.report.model_page import model_page
from nnpu.table._messages import CAVEAT
from nnpu.table.pages import column_fates, learned
from nnpu.table.table_explain import reasons_of

if TYPE_CHECKING:
    from nnpu.estimators.evaluation import Evaluation
    from nnpu.report.html import Page
    from nnpu.table.table_pu import TablePU

__all__ = ["evaluation_page"]


def evaluation_page(
    model: TablePU,
    found: Evaluation,
    *,
    title: str,
    footer: str = "",
) -> Page:
    """Return the report of an evaluation on other rows.

    Parameters
    ----------
    model : TablePU
        Fitted.
    found : Evaluation
        What the rows say.
    title, footer : str
        Heading, and how the page came about.
    """
    return model_page(
        model.classifier_,
        found,
        title=title,
        lead="How good the model is on these rows.",
        learned=learned(model) if model.n_labelled_ else "",
        columns=column_fates(model, found.cells),
        about_columns=f"Cells are counted in these {found.rows:,} rows.",
        why=reasons_of(model, found),
        drift=found.drift,
        about_rows=CAVEAT,
        about_calibration=f"Estimated from {found.rows:,} rows.",
        prior_counts=(model.n_labelled_, model.n_unlabelled_) if model.n_labelled_ else None,
        labelled=model.labelled_share_,
        footer=footer,
    )
