"""A small table to try things on: real measurements, with most of the labels hidden."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["example_table"]

_SHARE, _SEED = 0.5, 0  # of the malignant tumours that keep their label, and which


def example_table() -> Any:
    """Return a real table with labelled positives and unlabelled rows.

    569 breast tumours, measured under the microscope: scikit-learn's embedded copy of the
    Wisconsin diagnostic data (Wolberg, Street and Mangasarian, 1995; CC BY 4.0). 212 are malignant.
    Half of those, drawn at random with a fixed seed, are labelled in the column ``known``; all
    other cells of ``known`` are empty. The truth is in scikit-learn, in the same order of rows:
    ``load_breast_cancer().target == 0`` is malignant.

    Returns
    -------
    pyarrow.Table
        ``id``, 30 measurements, and ``known``: 1 or missing.

    Examples
    --------
    >>> table = example_table()
    >>> table.num_rows, table.num_columns, table["known"].null_count
    (569, 32, 473)
    """
    import pyarrow as pa
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    malignant = data.target == 0
    known = malignant & (np.random.default_rng(_SEED).random(len(malignant)) < _SHARE)
    columns: dict[str, Any] = {"id": [f"T{row:03d}" for row in range(len(malignant))]}
    for name, values in zip(data.feature_names, data.data.T, strict=True):
        columns[name.replace(" ", "_")] = values
    columns["known"] = pa.array(np.where(known, 1, 0), mask=~known)
    return pa.table(columns)
