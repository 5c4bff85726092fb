"""Pages by templates: what gets into one is escaped, and nothing is missing silently."""

from __future__ import annotations

import json

import jinja2
import pytest

from nnpu.templating import environment

HOSTILE = "</script><b a='1' c=\"2\">&\u2028"


def test_values_are_escaped_and_a_missing_one_is_an_error():
    page = environment("nnpu.review").from_string("<p>{{ words }}</p>")
    text = page.render(words=HOSTILE)
    assert "<b" not in text
    assert text.count("<") == 2
    with pytest.raises(jinja2.UndefinedError, match="words"):
        page.render()


def test_data_for_a_script_can_be_parsed_and_end_no_element():
    page = environment("nnpu.review").from_string("{{ data | tojson }}")
    text = page.render(data={HOSTILE: [1, HOSTILE]})
    assert not set("<>&'") & set(text)
    assert text.isascii()
    assert json.loads(text) == {HOSTILE: [1, HOSTILE]}
    with pytest.raises(ValueError, match="JSON"):
        page.render(data=float("nan"))


@pytest.mark.parametrize("package", ["nnpu.report", "nnpu.review"])
def test_every_template_is_found(package):
    pages = environment(package)
    names = pages.list_templates(extensions=["html"])
    assert names
    for name in names:
        source, _, _ = pages.loader.get_source(pages, name)
        assert source.strip()
