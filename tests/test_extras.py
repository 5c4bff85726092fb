"""Packages that may be missing: found, asked for, or named in one line."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from nnpu.extras import MissingExtraError, find_lightgbm, need_lightgbm


def test_without_lightgbm_none_is_found_and_who_needs_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    assert find_lightgbm() is None
    with pytest.raises(MissingExtraError, match="BoostedPU needs LightGBM"):
        need_lightgbm("BoostedPU")


BASE_JOB = """
import sys


class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)


sys.meta_path.insert(0, Blocked())
import nnpu
from nnpu.cli import main
from nnpu.data import example_table

main(["demo", "--out", "demo"])
model = nnpu.load("demo/model")
table = example_table()
model.report().save("report.html")
model.review(table).next(5)
model.evaluate(table, "known").lines()
nnpu.TablePU(model="linear").fit(table, "known").explain(table)
main(["predict", "demo/model", "demo/demo.csv", "--top", "5", "--out", "next.csv"])
main(["review", "demo/model", "demo/demo.csv", "--top", "50", "--rows", "5", "--out", "ask.csv"])
for module in nnpu.__all__:
    try:
        getattr(nnpu, module)
    except nnpu.extras.MissingExtraError as error:
        assert "torch" in str(error), error
print("done")
"""


def test_without_any_extra_everything_that_needs_none_works(tmp_path):
    """As after ``pip install .``: none of the packages that only an extra brings is there."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
    needed = {name_of(each) for each in project["project"]["dependencies"]}
    extras = project["project"]["optional-dependencies"]
    blocked = {name_of(each) for name in extras for each in extras[name]} - needed
    blocked -= {"nnpu"}
    assert {"dask", "starlette", "uvicorn", "openpyxl", "matplotlib", "pandas"} <= blocked
    job = BASE_JOB.format(blocked=sorted(blocked))
    run = subprocess.run(
        [sys.executable, "-c", job], cwd=tmp_path, capture_output=True, text=True, timeout=240
    )
    assert run.stdout.rstrip().endswith("done"), run.stderr[-3000:]


def name_of(requirement):
    """Return what a requirement is imported as, by its name up to a bracket or a version."""
    name = requirement.split(">")[0].split("[")[0].strip()
    return {"pillow": "PIL", "mlflow-skinny": "mlflow", "scikit-learn": "sklearn"}.get(name, name)
