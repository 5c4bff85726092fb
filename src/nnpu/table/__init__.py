"""The main job: a table in, a judged model and a page out.

`TablePU` does it; `load` reads what it saved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nnpu.extras import lazy_names

if TYPE_CHECKING:
    from nnpu.table.fitting import MODELS, named_model
    from nnpu.table.folder import load, load_table
    from nnpu.table.predictions import write_predictions
    from nnpu.table.reading import as_batch
    from nnpu.table.ready_scores import ScorePU, scores_in_table
    from nnpu.table.table_pu import TablePU

__all__ = [
    "MODELS",
    "ScorePU",
    "TablePU",
    "as_batch",
    "load",
    "load_table",
    "named_model",
    "scores_in_table",
    "write_predictions",
]

__getattr__ = lazy_names(
    __name__,
    folder="load load_table",
    fitting="MODELS named_model",
    predictions="write_predictions",
    reading="as_batch",
    ready_scores="ScorePU scores_in_table",
    table_pu="TablePU",
)
