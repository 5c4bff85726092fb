"""Model folders that version 0.1.0 wrote keep loading and keep their scores."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import nnpu
from nnpu.cli import main

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.mark.parametrize("name", ["boosted", "linear"])
def test_a_classifier_of_0_1_0_keeps_its_scores(name):
    expected = json.loads((FIXTURES / f"{name}-v1-scores.json").read_text())
    clf = nnpu.load(FIXTURES / f"{name}-v1")
    X = np.array(expected["X"], dtype=np.float32)
    assert clf.decision_function(X) == pytest.approx(expected["scores"], abs=1e-5)
    assert clf.predict_proba(X)[:, 1] == pytest.approx(expected["probability"], abs=1e-5)


def test_a_table_model_of_0_1_0_keeps_its_predictions(tmp_path):
    out = tmp_path / "scores.csv"
    main(["predict", str(FIXTURES / "table-v1"), str(FIXTURES / "mixed.csv"), "--out", str(out)])
    with out.open() as new, (FIXTURES / "table-v1-scores.csv").open() as old:
        pairs = list(zip(csv.DictReader(new), csv.DictReader(old), strict=True))
    assert len(pairs) == 600
    assert all(a["id"] == b["id"] and a["prediction"] == b["prediction"] for a, b in pairs)
    for column in ("score", "probability"):
        new_values = [float(a[column]) for a, _ in pairs]
        assert new_values == pytest.approx([float(b[column]) for _, b in pairs], abs=1e-4)
