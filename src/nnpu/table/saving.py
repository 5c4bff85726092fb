"""What a model folder keeps of a `TablePU` beside its classifier."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.hidden import AuditedHidden

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nnpu.table.table_pu import TablePU

__all__ = ["PLAIN", "stored"]

PLAIN = (  # parameters that JSON can say as they are
    *("images", "sampling", "pos_label", "id", "groups", "time", "holdout", "label_bias"),
    *("sep", "decimal", "encoding", "sheet", "random_state"),
)


def stored(model: TablePU) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the plain values and the arrays that a folder keeps of a fitted model."""

    def plain(value: Any) -> Any:
        return value.item() if isinstance(value, np.generic) else value

    table = {
        "columns": model.columns_.to_json(),
        "parameters": {name: plain(getattr(model, name)) for name in PLAIN}
        | {"drop": list(model.drop), "keep": list(model.keep)},
        "kept_together": model.groups_,
        "leaks": list(model.leaks_),
        "label": model.label_,
        "pos_label": model.pos_label_,
        "rows": [model.n_labelled_, model.n_unlabelled_],
        "labelled_share": model.labelled_share_,
        "explained": list(model.explained_),
    }
    if (test := model.classifier_.scar_test_) is not None:
        table["labels"] = asdict(test)
    arrays = dict(model.columns_.arrays())
    if model.holdout_ is not None:
        arrays |= {"s": model.holdout_.s.astype(np.int8), "scores": model.holdout_.scores}
        if model.holdout_.fold is not None and model.row_keys_ is not None:
            arrays["fold"] = model.holdout_.fold.astype(np.int16)
            arrays["row_keys"] = model.row_keys_.view(np.int64)
        if isinstance(model.holdout_.hidden, AuditedHidden):
            table["answers"] = model.holdout_.hidden.answers.to_json()
        if model.holdout_.plain is not None:
            table["plain"] = model.holdout_.plain.to_json()
        if model.holdout_.ranking is not None:
            table["ranking"] = model.holdout_.ranking.to_json()
    return table, arrays
