"""Pages: nothing breaks out of them, nothing is asked for, and everybody can read them."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zipfile
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from tests.report.elements import Elements, history

from nnpu import metrics
from nnpu.estimators.evaluation import rank_rows
from nnpu.report import Curve, Page, Panel, Section, chart_section, table_section
from nnpu.report.explorer import costs_section, explorer_section, scenarios_table
from nnpu.report.html import fill, render
from nnpu.report.panels import COLOURS
from nnpu.report.sections import (
    ColumnFate,
    calibration_section,
    columns_section,
    drift_section,
    importance_section,
    labels_section,
    metrics_section,
    models_section,
    prior_section,
    rows_section,
    scores_section,
    training_section,
    verdict_section,
)
from nnpu.report.verdict import Verdict

HOSTILE = "</script><script>alert('x')</script><img src=x onerror=\"alert(1)\">&amp;"


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
            labels_section(name, [name]),
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


@pytest.fixture(scope="module")
def page():
    return Elements(render(whole_page()))


def test_no_text_becomes_an_element_or_an_attribute(page):
    hostile = Elements(render(whole_page(HOSTILE)))
    assert [tag for tag, _ in hostile.found] == [tag for tag, _ in page.found]
    assert [sorted(a) for _, a in hostile.found] == [sorted(a) for _, a in page.found]
    assert sum(HOSTILE in text for _, text in hostile.texts) > 10  # shown as it is
    json.loads(hostile.text_of("script")[0])


STRANGE = {
    "quotes": ("\" onload='x' `", "\" onload='x' `"),
    "a template": ("{{ 7 * 7 }} {% raw %} {# x #} {{ page }}", None),
    "html": ("&lt;b&gt; &#60; <!-- ]]> <![CDATA[", None),
    "a NUL and an escape": ("a\0b\x1b[31m", r"a\x00b\x1b[31m"),
    "another order": ("abc\u202edcba\u202c\u2067x\u2069", r"abc\u202edcba\u202c\u2067x\u2069"),
    "half a character": ("a\udcffb", r"a\udcffb"),
    "Hebrew": ("\u200f\u05e9\u05dc\u05d5\u05dd", None),
}


@pytest.mark.parametrize(("name", "shown"), STRANGE.values(), ids=STRANGE)
def test_a_strange_name_is_shown_wherever_it_stands_and_changes_nothing_else(
    name, shown, page, tmp_path
):
    """In the title, in cells, captions, sentences, charts and the footer; as it is, or escaped."""
    text = whole_page(name).save(tmp_path / "page.html").read_text(encoding="utf-8")
    found = Elements(text)
    assert [tag for tag, _ in found.found] == [tag for tag, _ in page.found]
    assert [sorted(a) for _, a in found.found] == [sorted(a) for _, a in page.found]
    shown = shown or name
    for kind in ("title", "h1", "h2", "td", "th", "caption", "dd", "p", "li", "text", "desc"):
        assert any(shown in each for each in found.text_of(kind)), kind
    assert any(shown in each.get("aria-label", "") for each in found.of("div"))
    assert not re.search("[\0\x1b\u202a-\u202e\u2066-\u2069]", text)


def test_a_frame_in_a_notebook_holds_the_page_as_text():
    shown = whole_page(HOSTILE)
    (frame,) = Elements(shown._repr_html_()).found
    assert frame[0] == "iframe"
    assert frame[1]["srcdoc"] == render(shown).replace("\r", "")
    assert frame[1]["title"] == f"Report: {HOSTILE}"


def test_a_body_is_html_only_if_it_says_so():
    from markupsafe import Markup

    text = render(Page("t", "l", [Section("a", "A", "<b>"), Section("b", "B", Markup("<i>x</i>"))]))
    names = [tag for tag, _ in Elements(text).found]
    assert "b" not in names
    assert names.count("i") == 1


def test_a_value_that_a_template_lacks_is_an_error():
    with pytest.raises(Exception, match="'remark' is undefined"):
        fill("calibration.html", drawings=[], slope=1.0, intercept=0.0)


def test_data_that_no_script_could_read_are_an_error():
    with pytest.raises(ValueError, match="not JSON compliant"):
        render(Page("t", "l", [section_with({"x": float("nan")})]))


def test_data_cannot_end_the_element_that_holds_them():
    text = render(Page("t", "l", [section_with({"x": HOSTILE + "<!--", "line": "\u2028"})]))
    data, _ = Elements(text).text_of("script")
    assert json.loads(data) == {"x": HOSTILE + "<!--", "line": "\u2028"}
    assert not set(data) & set("<>&\u2028")


def section_with(data):
    return Section("s", "S", "text", data)


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
    assert names.count("h2") == names.count("section") == 16
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
    style = (files("nnpu.report") / "templates" / "page.css").read_text()
    pairs = re.findall(r"--(\w+): light-dark\((#\w{6}), (#\w{6})\)", style)
    colours = {name: values[theme] for name, *values in pairs}
    for behind in ("page", "raised"):
        for text in ("ink", "muted", "accent", "blue", "green", "purple", "red"):
            assert contrast(colours[text], colours[behind]) >= 4.5, (text, behind)
    assert contrast(colours["ink"], colours["warning"]) >= 4.5
    for line in ("blue", "orange", "green", "red", "purple", "sky", "grey", "black"):
        assert contrast(colours[line], colours["page"]) >= 3, line


def test_every_colour_of_a_curve_has_a_rule():
    style = (files("nnpu.report") / "templates" / "page.css").read_text()
    for name in COLOURS:
        assert f".c-{name} " in style


def test_the_wheel_holds_every_template_the_style_sheet_and_the_script(tmp_path):
    from hatchling.builders.wheel import WheelBuilder

    root = Path(__file__).parents[2]
    (wheel,) = WheelBuilder(str(root)).build(directory=str(tmp_path), versions=["standard"])
    names = zipfile.ZipFile(wheel).namelist()
    folder = root / "src" / "nnpu" / "report" / "templates"
    here = {f"nnpu/report/templates/{path.name}" for path in folder.iterdir()}
    assert {path.rsplit(".", 1)[1] for path in here} == {"html", "css", "js"}
    assert here <= set(names)
