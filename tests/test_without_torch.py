"""Without torch: what needs it names the extra, and everything else works.

Each test runs in a process in which torch cannot be imported, whether it is installed or not.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nnpu
from nnpu import BoostedPU, LinearPU
from nnpu.risk_kinds import ImbalancedRisk

FIXTURES = Path(__file__).parent / "fixtures"
EXTRA = (
    "needs the package 'torch', which is not installed. Install it with: pip install 'nnpu[torch]'"
)
WITHOUT = """
import sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")

sys.meta_path.insert(0, NoTorch())
"""
TORCH = {"PULoss", "PUClassifier", "ImagePU", "losses", "risk", "models", "training"}
START = """
import numpy as np
rng = np.random.default_rng(0)
y = np.where(rng.random(300) < 0.4, 1, -1)
x, s = rng.normal(y[:, None], 1.0, (300, 3)), ((y == 1) & (rng.random(300) < 0.5)).astype(int)
"""


NAMES = {
    "import nnpu; nnpu.PULoss": "PULoss",
    "from nnpu.objective import PULoss": "PULoss",
    "import nnpu; nnpu.PUClassifier": "PUClassifier",
    "from nnpu.estimators import PUClassifier": "PUClassifier",
    "from nnpu import ImagePU": "ImagePU",
    "import nnpu; nnpu.losses": "nnpu.losses",
    "import nnpu; nnpu.risk": "nnpu.risk",
    "import nnpu; nnpu.models": "nnpu.models",
    "import nnpu; nnpu.training": "nnpu.training",
    "import nnpu.losses": "nnpu.losses",
    "import nnpu.risk": "nnpu.risk",
    "import nnpu.models": "nnpu.models",
    "import nnpu.training": "nnpu.training",
    "from nnpu.risk import ImbalancedRisk": "nnpu.risk",
    "from nnpu.training import train": "nnpu.training",
    "from nnpu import TablePU; TablePU(model='network').fit('none.csv', 's')": (
        "TablePU with model='network'"
    ),
    "from nnpu import TablePU; TablePU(images='a').fit('none.csv', 's')": "TablePU with images",
    f"import nnpu; nnpu.load({str(FIXTURES / '0.2.0' / 'network')!r})": "PUClassifier",
    f"import nnpu; nnpu.load({str(FIXTURES / '0.2.0' / 'images')!r})": "ImagePU",
    "from nnpu.data.rows import as_rows; as_rows([[1.0]])": "as_rows",
}
COMMANDS = """
from nnpu.cli import main
for line in sys.stdin:
    try:
        main(line.split())
    except SystemExit as end:
        if end.code:
            print("status", end.code, file=sys.stderr)
"""


def run(code, *arguments, lines=()):
    command = [sys.executable, "-c", WITHOUT + code, *map(str, arguments)]
    text = "".join(" ".join(map(str, line)) + "\n" for line in lines)
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    positive = rng.random(300) < 0.4
    rows = zip(rng.normal(3 * positive), rng.normal(size=300), positive, strict=True)
    lines = [f"{a:.3f},{b:.3f},{int(y and n % 2)}" for n, (a, b, y) in enumerate(rows)]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["a,b,s", *lines]) + "\n")
    return path


def test_what_needs_torch_names_the_extra_and_everything_else_is_there():
    code = f"""
import nnpu
for code in {list(NAMES)!r}:
    try:
        exec(code)
    except ImportError as error:
        print(error)
for name in set(nnpu.__all__) - {TORCH}:
    assert getattr(nnpu, name)
"""
    done = run(code)
    assert done.stdout.splitlines() == [f"{owner} {EXTRA}" for owner in NAMES.values()]
    assert done.returncode == 0, done.stderr


def test_the_commands_refuse_networks_and_images_before_the_data_are_read(tmp_path):
    """The table is not one: whoever read it would say so."""
    data = tmp_path / "table.csv"
    data.write_bytes(b"\x00\xff no table")
    fit = ["fit", data, "--label", "s", "--out", tmp_path / "m"]
    owners = {
        "nnpu fit --model network": [*fit, "--model", "network"],
        "nnpu fit --images": [*fit, "--images", "a"],
        "nnpu fit with --epochs": [*fit, "--epochs", "3"],
    }
    done = run(COMMANDS, lines=owners.values())
    expected = [line for owner in owners for line in (f"nnpu: {owner} {EXTRA}", "status 2")]
    assert done.stderr.splitlines() == expected
    assert done.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


def test_predict_says_of_a_network_that_it_needs_torch(table, tmp_path):
    folders = [FIXTURES / name for name in ("0.1.0/network", "0.2.0/network", "0.2.0/images")]
    out = tmp_path / "p.csv"
    done = run(COMMANDS, lines=[["predict", folder, table, "--out", out] for folder in folders])
    owners = ("PUClassifier", "PUClassifier", "ImagePU")
    expected = [line for owner in owners for line in (f"nnpu: {owner} {EXTRA}", "status 2")]
    assert done.stderr.splitlines() == expected
    assert not out.exists()


@pytest.mark.parametrize("model", ["ensemble", "linear", "trees"])
def test_the_whole_table_job_works(model, table, tmp_path):
    folder = tmp_path / "model"
    done = run(
        COMMANDS,
        lines=[
            ["fit", table, "--label", "s", "--out", folder, "--model", model],
            ["predict", folder, table, "--out", tmp_path / "p.csv"],
            ["evaluate", folder, table, "--label", "s"],
            ["review", folder, table, "--rows", "5", "--out", tmp_path / "r.csv"],
            ["prior", table, "--label", "s"],
        ],
    )
    assert "status" not in done.stderr, done.stderr
    assert done.returncode == 0, done.stderr
    assert (folder / "report.html").exists()
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 301


def test_classifiers_work_and_export_without_torch(tmp_path):
    pytest.importorskip("onnx")
    code = f"""{START}
import nnpu
from nnpu import BiasedLabelPU, BoostedPU, EnsemblePU, LinearPU, PUWrapper, export, metrics
from sklearn.linear_model import LogisticRegression
for number, clf in enumerate((
    LinearPU(0.3), LinearPU(0.3, loss="squared", basis="rff"),
    LinearPU(0.3, loss="double_hinge", basis="gaussian"),
    BoostedPU(0.3, n_estimators=10), BoostedPU(0.3, risk="nnpnu", loss="sigmoid", n_estimators=10),
    EnsemblePU(0.3), BiasedLabelPU(prior=0.4),
    PUWrapper(LogisticRegression(), 0.3),
)):
    clf.fit(x, s)
    assert ((clf.predict(x) == 1) == (y == 1)).mean() > 0.8, clf
    metrics.pu_accuracy(s, clf.predict(x), prior=0.3, sampling="two-sample")
    if type(clf).__name__ != "PUWrapper":
        folder = clf.save(sys.argv[1] + str(number))
        assert np.array_equal(nnpu.load(folder).decision_function(x), clf.decision_function(x))
    if isinstance(clf, LinearPU | BoostedPU):
        export.to_onnx(clf, x, sys.argv[1] + ".onnx")
LinearPU(0.3).regularisation_path(x, s, [0.1, 1.0])
"""
    done = run(code, tmp_path / "model")
    assert done.returncode == 0, done.stderr


def test_a_stored_risk_is_loaded_without_torch(tmp_path):
    rng = np.random.default_rng(0)
    x, s = rng.normal(size=(80, 2)), np.arange(80) % 4 == 0
    clf = BoostedPU(0.4, risk=ImbalancedRisk(0.3), n_estimators=3).fit(x, s)
    folder = clf.save(tmp_path / "model")
    code = "import nnpu\nclf = nnpu.load(sys.argv[1])\nprint(clf.risk, clf.predict([[0.0, 0.0]]))"
    assert run(code, folder).stdout.startswith("ImbalancedRisk(target_prior=0.3)")


def test_a_risk_of_ones_own_asks_for_torch():
    code = """
from nnpu import BoostedPU
from nnpu.risk_kinds import Risk
class Own(Risk):
    name = "own"
    def terms(self, partial, prior, beta=0.0):
        raise AssertionError
BoostedPU(0.4, risk=Own()).fit([[0.0], [1.0], [2.0], [3.0]], [1, 0, 0, 0])
"""
    assert run(code).stderr.splitlines()[-1].endswith(EXTRA)


def test_torch_is_not_imported_where_it_is_not_needed():
    code = f"""
import sys
{START}
from nnpu import BoostedPU, LinearPU
for clf in (LinearPU(0.3, basis="rff"), BoostedPU(0.3, n_estimators=3)):
    clf.fit(x, s).predict(x)
print("torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_tensor_is_taken_for_the_array_that_it_holds():
    """What looks like a tensor is one: the library asks the object and does not import torch."""

    class Tensor:
        is_meta = False

        def __init__(self, array):
            self.array = array

        def detach(self):
            return self

        cpu = detach

        def is_floating_point(self):
            return True

        def element_size(self):
            return 8

        def numpy(self):
            return self.array

    rng = np.random.default_rng(0)
    x, s = rng.normal(size=(60, 2)), np.arange(60) % 3 == 0
    plain = LinearPU(0.4).fit(x, s).decision_function(x)
    taken = LinearPU(0.4).fit(Tensor(x), s).decision_function(Tensor(x))
    assert np.array_equal(plain, taken)
    assert nnpu.metrics.pu_roc_auc(s * 1, Tensor(x[:, 0]), prior=0.4, sampling="two-sample")
