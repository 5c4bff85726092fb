"""The reports of a table's model: of its fit, and of an evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nnpu.report.model_page import ASSUMPTION, model_page

if TYPE_CHECKING:
    from nnpu.estimators.evaluation import Evaluation
    from nnpu.report.html import Page
    from nnpu.table.table_pu import TablePU

__all__ = ["CAVEAT", "evaluation_page", "fit_page"]

CAVEAT = (
    "These figures hold for rows that the model was not fitted to; for rows of the training table "
    "they are too good. " + ASSUMPTION
)
_NOT_JUDGED = (
    "No row could judge the model: too few rows were set aside, or the prior cannot be theirs."
)


def fit_page(model: TablePU, *, title: str, footer: str = "") -> Page:
    """Return the report of a fit, judged by the rows that were set aside."""
    found = model.holdout_
    fitted = model.n_labelled_ + model.n_unlabelled_
    facts = {
        "Fitted to": f"{fitted:,}",
        "Labelled": f"{model.n_labelled_:,}",
        "Set aside": f"{found.rows if found else 0:,}",
        "Features": f"{model.columns_.width:,}",
    }
    judged = (
        [f"The model was fitted to {fitted:,} rows; {found.rows:,} others judge it here."]
        if found
        else [_NOT_JUDGED]
    )
    return model_page(
        model.classifier_,
        found,
        title=title,
        lead="What was learned from the table, and how far it can be trusted.",
        facts=facts,
        remarks=judged,
        columns=[(column.name, column.told()) for column in model.columns_.columns],
        about_rows=f"Estimated from the {found.rows if found else 0:,} rows that were set aside. "
        + ASSUMPTION,
        about_calibration=(
            "The formula was fitted to the same rows: new rows are a stricter test "
            "(nnpu evaluate --report)."
        ),
        prior_counts=(model.n_labelled_, model.n_unlabelled_),
        footer=footer,
    )


def evaluation_page(model: TablePU, found: Evaluation, *, title: str, footer: str = "") -> Page:
    """Return the report of an evaluation on other rows."""
    return model_page(
        model.classifier_,
        found,
        title=title,
        lead="How good the model is on these rows.",
        about_rows=CAVEAT,
        about_calibration=f"Estimated from {found.rows:,} rows.",
        prior_counts=(model.n_labelled_, model.n_unlabelled_) if model.n_labelled_ else None,
        footer=footer,
    )
