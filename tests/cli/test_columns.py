"""``nnpu columns``, the columns that ``--verbose`` prints, and rows without an id."""

from __future__ import annotations

import csv
import json
from itertools import takewhile

import numpy as np
import pandas as pd
import pytest

from nnpu import TablePU
from nnpu.cli import main
from nnpu.table import predictions


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A file with 62 columns beside the label, none of which is an id."""
    rng = np.random.default_rng(0)
    y = rng.random(300) < 0.4
    cells = {f"c{number}": rng.normal(1.0 * y, 1).round(3) for number in range(60)}
    cells |= {"day": np.arange(300) // 3, "row": rng.choice(["a", "b"], 300)}
    cells["known"] = (y & (rng.random(300) < 0.5)).astype(int)
    path = tmp_path_factory.mktemp("wide") / "Wide.csv"
    pd.DataFrame(cells).to_csv(path, index=False)
    return path


def told(text):
    """Return the lines between "Columns (...)" and the next that is not indented."""
    lines = text.split("Columns (", 1)[1].splitlines()[1:]
    return list(takewhile(lambda line: line.startswith("  "), lines))


def fit(wide, out, *options):
    main(["fit", str(wide), "--label", "known", "--model", "linear", "--out", str(out), *options])


def test_the_plan_is_that_of_a_fit(wide, capsys):
    main(["columns", str(wide), "--label", "known", "--time", "day", "--json"])
    said = json.loads(capsys.readouterr().out)
    assert [column["name"] for column in said["columns"]] == [
        *(f"c{number}" for number in range(60)),
        "day",
        "row",
    ]
    assert said["columns"][60]["treatment"] == "excluded (it orders the rows)"
    fitted = TablePU(0.4, model="linear", holdout=0).fit(wide, "known")
    planned = TablePU().plan_columns(wide, "known")
    assert [column.description() for column in planned.columns] == [
        column.description() for column in fitted.columns_.columns
    ]
    main(["columns", str(wide), "--label", "known"])
    text = capsys.readouterr().out
    assert "Columns (63 features):" in text  # the two values of a category have one each
    assert len(told(text)) == 62
    assert "No label column" not in text


def test_without_a_label_all_columns_are_looked_at(wide, capsys):
    main(["columns", str(wide)])
    text = capsys.readouterr().out
    assert len(told(text)) == 63
    assert "No label column was named (--label): all columns are shown." in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--label", "fraud"], "has no column 'fraud'"),
        (["--drop", "c99"], "has no column 'c99'"),
        (["--groups", "day", "--time", "day"], "must not both be given"),
    ],
)
def test_a_wrong_name_is_one_line(wide, options, words, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["columns", str(wide), *options])
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


def test_verbose_prints_every_column(wide, tmp_path, capsys):
    fit(wide, tmp_path / "m")
    brief = told(capsys.readouterr().out)
    assert len(brief) == 6
    assert brief[-1].strip().startswith("... and 57 more")
    fit(wide, tmp_path / "m", "--verbose")
    assert len(told(capsys.readouterr().out)) == 62


@pytest.mark.parametrize("most", [10, 1_000_000])
def test_rows_without_an_id_have_a_number(wide, tmp_path, capsys, monkeypatch, most):
    """The rows are numbered through, also where the file is read and written in parts."""
    monkeypatch.setattr(predictions, "MOST_RANKED", most)
    fit(wide, tmp_path / "m")
    out = tmp_path / "p.csv"
    main(["predict", str(tmp_path / "m"), str(wide), "--out", str(out), "--keep", "row"])
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert list(rows[0])[:3] == ["row", "row (table)", "score"]
    assert [int(row["row"]) for row in rows] == list(range(1, 301))
    assert [row["row (table)"] for row in rows] == pd.read_csv(wide)["row"].tolist()
    main(["predict", str(tmp_path / "m"), str(wide), "--out", str(out), "--top", "5"])
    for row in csv.DictReader(out.read_text().splitlines()):  # the same numbers as in the list
        assert float(row["c0"]) == pd.read_csv(wide)["c0"][int(row["row"]) - 1]
