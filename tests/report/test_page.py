"""Pages: nothing breaks out of them, nothing is asked for, and everybody can read them."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zipfile
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from nnpu import metrics
from nnpu.estimators.ranking import rank_rows
from nnpu.parameters import ParameterError
from nnpu.report import Curve, Panel
from nnpu.report.html import Page, chart_section, render, table_section
from nnpu.report.html.answers import (
    drift_section,
    importance_section,
    models_section,
    rows_section,
    verdict_section,
)
from nnpu.report.html.chart import Axis, axes_of, chart
from nnpu.report.html.explorer import costs_section, errors, explorer_section, scenarios_table
from nnpu.report.html.markup import Html, tag
from nnpu.report.html.sections import (
    ColumnFate,
    calibration_section,
    columns_section,
    metrics_section,
    prior_section,
    scores_section,
)
from nnpu.report.html.training_curve import training_section
from nnpu.report.verdict import Verdict

HOSTILE = "</script><script>alert('x')</script><img src=x onerror=\"alert(1)\">&amp;"


def history(n=5):
    names = ("risk", "zero_one", "positive", "negative")
    return [
        {f"{part}_{name}": 0.5 / (epoch + 1) for part in ("train", "valid") for name in names}
        | {"corrected": 0.1 * epoch}
        for epoch in range(n)
    ]


def whole_page(name="a column"):
    """A page with every section of a fit, and a hostile name wherever there is room for one."""
    rng = np.random.default_rng(0)
    s, scores = np.repeat([1, 0], [40, 200]), rng.normal(size=240)
    how = {"prior": 0.3}
    thresholds = metrics.threshold_grid(s, scores, also=0.0)
    tables = {
        words: metrics.threshold_table(s, scores, thresholds, prior=prior)
        for words, prior in ((f"{name}: 0.3", 0.3), ("20 % lower: 0.24", 0.24))
    }
    bins = metrics.score_table(s, scores, **how)
    probabilities = 1 / (1 + np.exp(-scores))
    ranking = rank_rows(s, scores, 0.0, [name] * 240)
    panel = Panel("Ratio", "q_p", "q_u / q_p", [Curve("q_u / q_p", [1, 0.5], [1, 0.3])])
    return Page(
        f"Report: {name}",
        name,
        [
            verdict_section(Verdict(name, name, name, name), {"Rows": name}),
            drift_section([name]),
            rows_section(ranking, lambda score: 0.5, {name: name}),
            importance_section([(name, 0.5, 0.4, 0.6)], name),
            models_section(["Model", "Weight"], [[name, name]], name),
            metrics_section([(name, 0.9, 0.8, 1.0, name)], [name]),
            explorer_section(
                next(iter(tables.values())),
                own=0.0,
                population=200,
                probabilities=probabilities[: len(thresholds)].tolist(),
                score_range=(bins[0]["low"], bins[-1]["high"]),
                scenarios=tables,
            ),
            costs_section({0.3: next(iter(tables.values()))}, population=200),
            scores_section(bins),
            prior_section(name, panel, scenarios_table(tables, 0.0)),
            calibration_section(
                metrics.reliability_table(s, probabilities, **how), slope=1.0, intercept=-0.5
            ),
            columns_section([ColumnFate(name, f"{name} twice", 3, None)], [name]),
            training_section(history()),
            table_section("claims", name, [name, name], [[name, name]], words=[name]),
            chart_section("more", name, [Panel(name, name, name, [Curve(name, [1, 2], [3, 4])])]),
        ],
        name,
    )


class Elements(HTMLParser):
    """Every element with its attributes, and the text of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.found, self.texts, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open.pop() != tag:  # an input or a meta has no end
            pass

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))

    def of(self, name):
        return [attributes for tag, attributes in self.found if tag == name]

    def text_of(self, name):
        return [text for tag, text in self.texts if tag == name]


@pytest.fixture(scope="module")
def page():
    return Elements(render(whole_page()))


def test_no_text_becomes_an_element_or_an_attribute(page):
    hostile = Elements(render(whole_page(HOSTILE)))
    assert [tag for tag, _ in hostile.found] == [tag for tag, _ in page.found]
    assert [sorted(a) for _, a in hostile.found] == [sorted(a) for _, a in page.found]
    assert sum(HOSTILE in text for _, text in hostile.texts) > 10  # shown as it is
    json.loads(hostile.text_of("script")[0])


def test_text_in_an_attribute_cannot_leave_it():
    (attributes,) = Elements(tag("p", title=f'" onclick="{HOSTILE}')).of("p")
    assert attributes == {"title": f'" onclick="{HOSTILE}'}


def test_data_cannot_end_the_element_that_holds_them():
    text = render(Page("t", "l", [section_with({"x": HOSTILE + "<!--", "line": "\u2028"})]))
    data, _ = Elements(text).text_of("script")
    assert json.loads(data) == {"x": HOSTILE + "<!--", "line": "\u2028"}
    assert not set(data) & set("<>&\u2028")


def section_with(data):
    from nnpu.report.html import Section

    return Section("s", "S", Html("<p>text</p>"), data)


def test_the_policy_lets_in_this_script_and_this_style_and_nothing_else(page):
    def digest(text):
        return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    (policy,) = [m["content"] for m in page.of("meta") if "http-equiv" in m]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == f"'{digest(page.text_of('script')[-1])}'"
    assert rules["style-src"] == f"'{digest(page.text_of('style')[0])}'"


def test_the_page_names_no_other_file(page):
    for tag_, attributes in page.found:
        for name in ("src", "href", "action", "data", "srcset"):
            if name in attributes:
                assert attributes[name].startswith(("#", "data:")), (tag_, attributes)
        assert not any(name.startswith("on") or name == "style" for name in attributes)
    assert not re.search(r"url\(|@import|://", render(whole_page()))


def test_ids_are_unique_and_whatever_is_pointed_to_is_there(page):
    ids = [attributes["id"] for _, attributes in page.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    pointed = [a["href"][1:] for a in page.of("a")]
    pointed += [a["aria-labelledby"] for _, a in page.found if "aria-labelledby" in a]
    pointed += [name for _, a in page.found if "for" in a for name in a["for"].split()]
    assert set(pointed) <= set(ids)
    written = set(
        re.findall(r'"((?:cost|at)-[a-z]+)"|byId\("([a-z-]+)"\)', page.text_of("script")[-1])
    )
    written = {name for pair in written for name in pair if name}
    assert written <= set(ids)


def test_a_screen_reader_finds_landmarks_headings_captions_and_descriptions(page):
    names = [tag_ for tag_, _ in page.found]
    for landmark in ("header", "nav", "main", "footer"):
        assert names.count(landmark) == 1
    assert names.count("h1") == 1
    assert names.count("h2") == names.count("section") == 15
    assert names.count("caption") == names.count("table") > 3
    drawings = [attributes for attributes in page.of("svg") if attributes.get("role") == "img"]
    assert len(drawings) == names.count("figure") == names.count("desc") == 7
    assert len([text for text in page.text_of("desc") if len(text) > 20]) == 7
    assert page.of("html") == [{"lang": "en"}]
    slider, *costs = page.of("input")
    assert (slider["type"], slider["aria-valuetext"]) == ("range", "score above 0")
    assert [each["type"] for each in costs] == ["number", "number"]
    labelled = {label["for"] for label in page.of("label")}
    assert labelled == {each["id"] for each in (slider, *costs)}
    assert [live["aria-live"] for live in page.of("output")] == ["polite", "polite"]


def test_the_same_tables_give_the_same_bytes_in_a_file(tmp_path):
    one = whole_page().save(tmp_path / "new" / "report.html").read_bytes()
    assert whole_page().save(tmp_path / "two.html").read_bytes() == one
    assert one.startswith(b"<!doctype html>")


def luminance(colour):
    """Relative luminance of a colour: Web Content Accessibility Guidelines 2.2."""
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one, other):
    high, low = sorted([luminance(one), luminance(other)], reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_and_lines_stand_out_from_what_is_behind_them(theme):
    """At least 4.5 to 1 for text and 3 to 1 for graphics (WCAG AA)."""
    style = files("nnpu.report.html").joinpath("page.css").read_text()
    pairs = re.findall(r"--(\w+): light-dark\((#\w{6}), (#\w{6})\)", style)
    colours = {name: values[theme] for name, *values in pairs}
    for behind in ("page", "raised"):
        for text in ("ink", "muted", "accent", "blue", "green", "purple", "red"):
            assert contrast(colours[text], colours[behind]) >= 4.5, (text, behind)
    assert contrast(colours["ink"], colours["warning"]) >= 4.5
    for line in ("blue", "orange", "green", "red", "purple", "sky", "grey", "black"):
        assert contrast(colours[line], colours["page"]) >= 3, line


def test_every_colour_of_a_curve_has_a_rule():
    from nnpu.report.panels import COLOURS

    style = files("nnpu.report.html").joinpath("page.css").read_text()
    for name in COLOURS:
        assert f".c-{name} " in style


def points(path):
    return np.array([pair.split() for pair in path.strip("MZ").split("L")], dtype=float)


def test_a_curve_is_drawn_where_its_axes_say():
    """The ends of the axes are known places; between them the scale is linear, or logarithmic."""
    x, y = np.array([1.0, 10.0, 1000.0]), np.array([0.0, 0.25, 1.0])
    panel = Panel("t", "x", "y", [Curve("c", x, y)], log_x=True, y_range=(0.0, 1.0))
    (path,) = [a["d"] for a in Elements(chart(panel, "n")).of("path") if "d" in a][-1:]
    drawn = points(path)
    across = (drawn[:, 0] - drawn[0, 0]) / (drawn[-1, 0] - drawn[0, 0])
    np.testing.assert_allclose(across, [0, 1 / 3, 1], atol=1e-3)
    np.testing.assert_allclose(drawn[:, 1], [222, 222 - 0.25 * 196, 26], atol=0.06)


def test_what_cannot_be_drawn_is_left_out():
    y = [0.1, float("nan"), 10.0, -1.0]
    panel = Panel("t", "x", "y", [Curve("c", [1, 2, 3, 4], y)], log_y=True)
    drawn = Elements(chart(panel, "n"))
    assert len(points(drawn.of("path")[-1]["d"])) == 2
    assert "nan" not in chart(panel, "n")
    empty = Panel("t", "x", "y", [Curve("c", [1.0], [float("nan")])])
    assert "nan" not in chart(empty, "n")


def test_a_curve_of_one_point_equal_values_bands_and_bars_are_drawn():
    curves = [
        Curve("one", [1], [2]),
        Curve("flat", [0, 1], [2, 2], [0.5, 0.5], style="band"),
        Curve("bars", [0, 1], [1, 3], [0.5, 1.0], style="points"),
        Curve("area", [0, 1], [1, 3], fill=True),
    ]
    drawn = Elements(chart(Panel("t", "x", "y", curves, marks=[(0.5, 2)]), "n", marker=True))
    classes = [attributes.get("class", "") for _, attributes in drawn.found]
    assert sum("point" in name for name in classes) == 1 + 2 + 1  # and one in the legend
    assert sum(name.startswith("area") for name in classes) == 2 + 1
    assert sum("bar" in name for name in classes) == 1
    assert classes.count("cross") == 2
    assert [a["id"] for a in drawn.of("line") if "id" in a] == ["n-marker"]


def test_the_vertical_axis_holds_zero_and_the_spread():
    panel = Panel("t", "x", "y", [Curve("c", [0, 1], [5, 6], [1, 1])])
    _, y_axis = axes_of(panel)
    assert y_axis.low <= 0 < 7 <= y_axis.high


@pytest.mark.parametrize("low", [-1.0, 0.0, 0.013, 40.0, 1e-7])
@pytest.mark.parametrize("width", [1e-6, 0.37, 1.0, 12.0, 3e5])
def test_ticks_are_few_round_and_on_the_axis(low, width):
    ticks = Axis(low, low + width, 0, 1).ticks()
    assert 3 <= len(ticks) <= 8
    assert low - 1e-9 * width <= ticks[0] < ticks[-1] <= low + width * (1 + 1e-9)
    steps = np.diff(ticks)
    np.testing.assert_allclose(steps, steps[0], rtol=1e-5)
    assert f"{steps[0]:.6e}"[0] in "1259"  # 1, 2 or 5 times a power of ten (4.999… is 5)


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


def test_the_explorer_starts_at_the_models_own_threshold_or_says_that_it_cannot():
    rows = metrics.threshold_table([1, 0, 0], [1.0, 0.0, 2.0], [0.5], prior=0.3)
    with pytest.raises(ParameterError, match="'own' parameter of explorer_section"):
        explorer_section(rows, own=0.7, population=2, probabilities=[0.5])


def test_a_precision_that_nothing_can_estimate_is_a_dash():
    """P scores above all of U: above 0.5 no row of the population is flagged, but rows of P are."""
    s, scores = [1, 1, 0, 0, 0], [2.0, 3.0, 0.0, 0.1, 0.2]
    rows = metrics.threshold_table(s, scores, [0.05, 0.5, 4.0], prior=0.3)
    section = explorer_section(rows, own=0.05, population=3, probabilities=[0.5, 0.6, 1.0])
    first, second, third = section.data["explorer"]["tiles"]
    assert first["precision"][0] == "45.0 %"  # 0.3 · 1 / (2 / 3)
    assert second["precision"] == ["–", "–"]  # noqa: RUF001
    assert second["recall"][0] == "100.0 %"
    assert third["precision"] == ["–", "no row is flagged"]  # noqa: RUF001
    assert section.data["explorer"]["probabilities"] == ["50.0 %", "60.0 %", "99.9 %"]
    assert "nan" not in section.body
    assert json.dumps(section.data, allow_nan=False)


def test_no_share_beyond_all_is_ever_shown():
    """Nine tenths would be positive, but only half of U scores above 0: precision 1.8."""
    s, scores = np.repeat([1, 0], [50, 100]), np.repeat([1.0, 1.0, -1.0], 50)
    rows = metrics.threshold_table(s, scores, [-2.0, 0.0], prior=0.9)
    assert rows[1]["precision"] == pytest.approx(1.8)
    section = explorer_section(rows, own=0.0, population=100, probabilities=[0.1, 0.9])
    assert section.data["explorer"]["tiles"][1]["precision"][0] == "100.0 %"
    assert not re.search(r"1[0-9]{2}\.[0-9] %", section.body.replace("100.0 %", ""))
    drawn = Elements(section.body).text_of("desc")
    assert "1.8" not in drawn[0]


def test_a_range_stands_in_for_a_figure_where_the_prior_is_not_known():
    rows = metrics.threshold_table([1, 1, 0, 0, 0], [2.0, 3.0, 0.0, 2.5, 0.2], [0.5], prior=0.3)
    low, high = rows[0]["precision_low"], rows[0]["precision_high"]
    section = explorer_section(rows, own=0.5, population=3, probabilities=[0.5], known=False)
    tile = section.data["explorer"]["tiles"][0]
    assert tile["precision"] == [
        f"{100 * max(low, 0):.1f} to {100 * min(high, 1):.1f} %",
        "best guess 90.0 %",
    ]
    assert tile["recall"][0] == "100.0 %"  # it does not depend on the prior


def test_false_alarms_and_misses_add_up_to_what_the_truth_says():
    """A sample whose labels are a copy of the positives: the estimates are the counts."""
    truth = np.repeat([1, 0], [40, 60])
    scores = np.r_[np.linspace(-1, 3, 40), np.linspace(-3, 1, 60)]
    s, both = np.r_[np.ones(40), np.zeros(100)].astype(int), np.r_[scores[:40], scores]
    cuts = [-2.0, 0.05, 2.0]
    rows = metrics.threshold_table(s, both, cuts, prior=0.4)
    found = errors(rows, 0.4, 100)
    for cut, alarms, misses in zip(cuts, found["alarms"], found["misses"], strict=True):
        assert alarms == pytest.approx(np.sum((scores > cut) & (truth == 0)), abs=0.01)
        assert misses == pytest.approx(np.sum((scores <= cut) & (truth == 1)), abs=0.01)


def test_a_history_without_held_out_rows_has_training_curves_only():
    rows = [{k: v for k, v in row.items() if not k.startswith("valid")} for row in history()]
    text = training_section(rows).body
    assert "training" in text
    assert ">held out<" not in text
    assert "In 20 % of all steps" in text  # the mean of 0, 0.1, …, 0.4


def test_the_wheel_holds_the_style_sheet_and_the_script(tmp_path):
    from hatchling.builders.wheel import WheelBuilder

    root = Path(__file__).parents[2]
    (wheel,) = WheelBuilder(str(root)).build(directory=str(tmp_path), versions=["standard"])
    names = zipfile.ZipFile(wheel).namelist()
    assert {"nnpu/report/html/page.css", "nnpu/report/html/page.js"} <= set(names)


def test_rows_at_the_top_that_are_also_nearest_to_the_threshold_are_listed_once():
    s, scores = np.array([1, 1, *[0] * 30]), np.linspace(1, -1, 32)
    ranked = rank_rows(s, scores, 2.0)  # no row is flagged
    text = str(rows_section(ranked, lambda score: 0.5).body)
    assert text.count("row 3<") == 1
    assert "Closest to the threshold" not in text
    assert "also the closest to the threshold" in text
    ranked = rank_rows(s, scores, 0.0)
    assert "Closest to the threshold" in str(rows_section(ranked, lambda score: 0.5).body)
