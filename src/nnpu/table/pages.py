"""The reports of a table's model: of its fit, and of an evaluation on other rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nnpu.report.model_page import ASSUMPTION, model_page
from nnpu.report.sections import ColumnFate
from nnpu.table.table_explain import reasons_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nnpu.estimators.evaluation import Evaluation
    from nnpu.report.html import Page
    from nnpu.table.table_pu import TablePU

__all__ = ["evaluation_page", "fit_page"]


def fit_page(
    model: TablePU,
    *,
    title: str,
    footer: str = "",
    judged: Evaluation | None = None,
) -> Page:
    """Return the report of a fit, judged by the rows that were set aside.

    Parameters
    ----------
    model : TablePU
        Fitted.
    title, footer : str
        Heading, and the command that repeats the fit.
    judged : Evaluation, optional
        What the rows that were set aside say, if a review has said more since.
    """
    found = model.holdout_ if judged is None else judged
    facts = {
        "Fitted to": f"{model.n_labelled_ + model.n_unlabelled_:,} rows",
        "Labelled": f"{model.n_labelled_:,}",
        "Judged on": f"{found.rows if found else 0:,} rows",
        "Features": f"{model.columns_.width:,}",
    }
    about_rows = "Estimated from rows that the model had not seen. " + ASSUMPTION
    return model_page(
        model.classifier_,
        found,
        title=title,
        lead="What was learned from the table, and how far to trust it.",
        learned=_learned(model),
        facts=facts,
        columns=_column_fates(model),
        about_columns="Cells are counted in the rows that the model was fitted to.",
        leaks=getattr(model, "leaks_", ()),
        importance=model.explained_.importance,
        why=model.explained_.why,
        suspects=model.explained_.suspects,
        about_rows=about_rows,
        about_calibration=(
            "The formula was fitted to the same rows: new rows are a stricter test "
            "(nnpu evaluate --report)."
        ),
        prior_counts=(model.n_labelled_, model.n_unlabelled_),
        labelled=model.labelled_share_,
        footer=footer,
    )


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
        learned=_learned(model) if model.n_labelled_ else "",
        columns=_column_fates(model, found.cells),
        about_columns=f"Cells are counted in these {found.rows:,} rows.",
        why=reasons_of(model, found),
        drift=found.drift,
        about_rows=ASSUMPTION,
        about_calibration=f"Estimated from {found.rows:,} rows.",
        prior_counts=(model.n_labelled_, model.n_unlabelled_) if model.n_labelled_ else None,
        labelled=model.labelled_share_,
        footer=footer,
    )


def _learned(model: TablePU) -> str:
    """Say what a model was fitted to."""
    columns = sum(column.width > 0 for column in model.columns_.columns)
    return (
        f"The model learned from {model.n_labelled_:,} labelled and {model.n_unlabelled_:,} "
        f"unlabelled rows with {columns:,} column{'' if columns == 1 else 's'}."
    )


def _column_fates(
    model: TablePU, counts: Mapping[str, tuple[int, int | None]] | None = None
) -> list[ColumnFate]:
    """Say what became of each column; the counts are of these rows, else of the training's."""
    fates = []
    for column in model.columns_.columns:
        missing, unseen = None, None
        if counts is not None:
            missing, unseen = counts.get(column.name, (None, None))
        elif column.seen is not None:
            missing = column.seen["missing"]
            if column.is_category:
                unseen = round(column.seen.get("unseen", 0) * (column.seen["rows"] - missing))
        fates.append(ColumnFate(column.name, column.description(), missing, unseen))
    return fates
