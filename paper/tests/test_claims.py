from __future__ import annotations

import csv

from nnpu_paper.claims import Claim, as_lines, as_markdown
from nnpu_paper.results import write_results

CLAIMS = [
    Claim("a | b", "Eq. (1)", True, "1"),
    Claim("c", "Eq. (2)", False, "2"),
    Claim("d", "Eq. (3)", None, "no data"),
]


def test_lines_tell_what_held_from_what_did_not():
    lines = as_lines(CLAIMS)
    assert lines[0].startswith("held ")
    assert lines[2].startswith("NOT HELD ")
    assert lines[4].startswith("not run ")


def test_markdown_keeps_a_bar_inside_its_cell():
    row = as_markdown("t", CLAIMS).splitlines()[4]
    assert row == "| a \\| b | Eq. (1) | yes | 1 |"


def test_tables_come_back_as_they_were_written(tmp_path):
    rows = [{"loss": "ramp", "n": 10, "value": 0.1 + 0.2}, {"loss": "a,b", "n": 2, "value": 1e-300}]
    with write_results(tmp_path / "t.csv", rows).open(newline="") as file:
        back = list(csv.DictReader(file))
    assert [(r["loss"], int(r["n"]), float(r["value"])) for r in back] == [
        (r["loss"], r["n"], r["value"]) for r in rows
    ]
