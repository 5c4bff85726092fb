"""`nnpu.report.page(clf, X, s)` makes the report of every classifier of this package."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from nnpu import (
    BiasedLabelPU,
    BoostedPU,
    EnsemblePU,
    ImagePU,
    LinearPU,
    PUClassifier,
    PUWrapper,
    TablePU,
    report,
)
from nnpu.report.html import render

HOW = {"sampling": "one-sample", "random_state": 0}
CLASSIFIERS = {
    "PUClassifier": lambda: PUClassifier(0.5, epochs=2, **HOW),
    "LinearPU": lambda: LinearPU(0.5, sampling="one-sample"),
    "BoostedPU": lambda: BoostedPU(0.5, n_estimators=10, **HOW),
    "EnsemblePU": lambda: EnsemblePU(0.5, members=["products", "boosted-kl"], **HOW),
    "PUWrapper": lambda: PUWrapper(LogisticRegression(), 0.5, sampling="one-sample"),
    "BiasedLabelPU": lambda: BiasedLabelPU(random_state=0),
    "ImagePU": lambda: ImagePU(0.5, epochs=1, **HOW),
    "TablePU": lambda: TablePU(0.5, model="linear", holdout=0.0),
}


def rows(name: str) -> tuple[object, np.ndarray]:
    """Two classes that overlap; half of the positives are labelled."""
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.5
    X = rng.normal(2.0 * y[:, None], 1, (400, 3))
    s = (y & (rng.random(400) < 0.5)).astype(int)
    if name == "ImagePU":
        noise = rng.integers(0, 100, (400, 8, 8, 1))
        return (noise + 100 * y[:, None, None, None]).astype(np.uint8), s
    return (pd.DataFrame(X, columns=["a", "b", "c"]) if name == "TablePU" else X), s


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_has_a_page_with_its_figures(name, tmp_path):
    X, s = rows(name)
    clf = CLASSIFIERS[name]().fit(X[:200], s[:200])
    page = report.page(clf, X[200:], s[200:], title=f"Report of {name}")
    text = render(page)
    assert f"<h1>Report of {name}</h1>" in text
    for section in ("verdict", "rows", "metrics", "explorer", "costs", "scores", "prior"):
        assert f'id="{section}"' in text
    assert "nan" not in text.split("<main")[1].split("page-data")[0].lower().replace("nano", "")
    assert page.save(tmp_path / "page.html").stat().st_size > 20_000


def test_images_and_rows_have_the_same_probability():
    """A row that is listed by number, and its picture."""
    images, s = rows("ImagePU")
    clf = CLASSIFIERS["ImagePU"]().fit(images[:200], s[:200])
    text = render(report.page(clf, images[200:], s[200:]))
    top = text[text.index("<caption>Most likely positive") :]
    listed = re.findall(r"<td>([\d.]+\s%)</td>", top[: top.index("</table>")])
    pictures = re.findall(r'alt="probability ([^"]*)"', text)
    assert pictures[:8] == listed[:8]
