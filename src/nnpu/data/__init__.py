"""Data: samplers of PU data, folds, readers of files, rows for a model.

`example_table` is a small table to try things on. `load` gives digits with their true labels;
`sample_pu` and `sample_censored` turn a data set into PU data;
`read_table` reads a user's own file; `ParquetRows` and `read_csr` leave a table on disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nnpu.extras import lazy_names

if TYPE_CHECKING:
    from nnpu.data.datasets import Dataset, binary_labels, example_table, load
    from nnpu.data.disk_rows import ParquetRows, read_csr, write_csr
    from nnpu.data.folds import PUStratifiedKFold
    from nnpu.data.rows import ChosenRows, as_rows
    from nnpu.data.sampling import (
        CensoredSample,
        PUSample,
        negative_count,
        sample_censored,
        sample_pu,
    )
    from nnpu.data.streams import Table, read_table

__all__ = [
    "CensoredSample",
    "ChosenRows",
    "Dataset",
    "PUSample",
    "PUStratifiedKFold",
    "ParquetRows",
    "Table",
    "as_rows",
    "binary_labels",
    "example_table",
    "load",
    "negative_count",
    "read_csr",
    "read_table",
    "sample_censored",
    "sample_pu",
    "write_csr",
]

__getattr__ = lazy_names(
    __name__,
    disk_rows="read_csr write_csr ParquetRows",
    datasets="Dataset binary_labels load example_table",
    folds="PUStratifiedKFold",
    rows="ChosenRows as_rows",
    sampling="CensoredSample PUSample negative_count sample_censored sample_pu",
    streams="Table read_table",
)
