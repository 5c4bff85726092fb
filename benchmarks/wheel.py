"""What `make release` asks of an installed wheel: a fit, a folder, a prediction."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import nnpu

rng = np.random.default_rng(0)
positive = rng.random(600) < 0.3
amount = rng.normal(np.where(positive, 3, 0), 1)
known = positive & (rng.random(600) < 0.4)
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    lines = [f"{a:.3f},{'yes' if k else ''}" for a, k in zip(amount, known, strict=True)]
    (folder / "table.csv").write_text("\n".join(["amount,known", *lines]) + "\n", encoding="utf-8")
    command = ["-m", "nnpu", "fit", "table.csv", "--label", "known", "--out", "model"]
    subprocess.run([sys.executable, *command], cwd=folder, check=True)
    flagged = np.asarray(nnpu.load(folder / "model").predict(folder / "table.csv")) == 1
agree = np.mean(flagged == positive)
assert agree > 0.85, agree
assert "site-packages" in nnpu.__file__, nnpu.__file__
print(f"nnpu {nnpu.__version__}: {agree:.0%} of the rows are right")
