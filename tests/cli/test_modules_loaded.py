"""What the commands load: no torch for a table, nothing heavy for a wrong file name."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

CODE = """
import json, sys
from nnpu.cli import main
from nnpu.estimators import forest
forest._MANY = 1  # as with thousands of rows: LightGBM's predictor is loaded too
main(sys.argv[1:])
print(json.dumps([name for name in ("torch", "jinja2") if name in sys.modules]))
"""


def run(*arguments):
    command = [sys.executable, "-c", CODE, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def fitted(tmp_path_factory, people):
    folder = tmp_path_factory.mktemp("loaded")
    data = people(folder / "people.csv")
    options = ["--label", "label", "--out", folder / "model"]
    return data, folder, run("fit", data, *options)


def test_torch_is_not_loaded_for_the_ensemble_and_templates_only_for_a_page(fitted):
    data, folder, loaded = fitted
    assert loaded == ["jinja2"]
    assert run("predict", folder / "model", data, "--out", folder / "p.csv") == []
    evaluate = ["evaluate", folder / "model", data, "--label", "label"]
    assert run(*evaluate) == []
    assert run(*evaluate, "--report", folder / "page.html") == ["jinja2"]


@pytest.mark.parametrize(
    "arguments", [["fit", "no.csv", "--label", "s"], ["predict", "m", "no.csv"]], ids=str
)
def test_a_wrong_file_name_is_said_before_anything_heavy_is_imported(tmp_path, arguments):
    code = (
        "import sys, nnpu.cli\ntry: nnpu.cli.main(sys.argv[1:])\n"
        "finally: print(*{'numpy', 'sklearn', 'torch', 'pyarrow'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert done.stdout.strip() == ""
    assert done.stderr.startswith("nnpu: ")
