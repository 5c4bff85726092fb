"""Sections: what each says of the data that it is given."""

from __future__ import annotations

import numpy as np
from tests.report.elements import Elements, history

from nnpu.estimators.evaluation import rank_rows
from nnpu.report.sections import ColumnFate, columns_section, rows_section, training_section


def test_a_wide_table_of_columns_is_cut():
    columns = [ColumnFate(f"column {i}", "number") for i in range(1000)]
    text = columns_section(columns).body
    assert "column 199" in text
    assert "column 200" not in text
    assert "and 800 more" in text


def test_cells_are_counted_only_where_somebody_counted():
    columns = [ColumnFate("a", "number", 3), ColumnFate("b", "category", None)]
    heads = Elements(columns_section(columns).body).text_of("th")
    assert heads == ["Column", "Treatment", "Missing", "a", "b"]
    cells = Elements(columns_section(columns).body).text_of("td")
    assert cells == ["number", "3", "category", "–"]  # noqa: RUF001


def test_a_history_without_held_out_rows_has_training_curves_only():
    rows = [{k: v for k, v in row.items() if not k.startswith("valid")} for row in history()]
    text = training_section(rows).body
    assert "training" in text
    assert ">held out<" not in text
    assert "In 20 % of all steps" in text  # the mean of 0, 0.1, …, 0.4


def test_rows_at_the_top_that_are_also_nearest_to_the_threshold_are_listed_once():
    s, scores = np.array([1, 1, *[0] * 30]), np.linspace(1, -1, 32)
    ranked = rank_rows(s, scores, 2.0)  # no row is flagged
    text = str(rows_section(ranked, lambda score: 0.5).body)
    assert text.count("row 3<") == 1
    assert "Closest to the threshold" not in text
    assert "also the closest to the threshold" in text
    ranked = rank_rows(s, scores, 0.0)
    assert "Closest to the threshold" in str(rows_section(ranked, lambda score: 0.5).body)


def test_a_long_name_breaks_between_its_words_and_is_still_text():
    text = str(columns_section([ColumnFate("worst_<b>_area", "number")]).body)
    assert "worst_<wbr>&lt;b&gt;_<wbr>area" in text
