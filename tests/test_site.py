"""The site: it builds without a warning, everybody can read it, and code can be copied."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sphinx", reason="no sphinx: pip install '.[docs]'")

ROOT = Path(__file__).parents[1]
_spec = importlib.util.spec_from_file_location(
    "report_browser", ROOT / "tests/cli/test_report_browser.py"
)
report_browser = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(report_browser)
browser = report_browser.browser
PAGES = "index.html", "start.html", "faq.html"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site without its gallery's pictures, which take a minute more."""
    out = tmp_path_factory.mktemp("site")
    subprocess.run(
        [
            *(sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q"),
            *("-D", "plot_gallery=0", str(ROOT / "docs"), str(out)),
        ],
        check=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    return out


@pytest.mark.timeout(900)
def test_axe_core_finds_nothing_serious_on_three_pages(site, browser, tmp_path):
    if not (report_browser.CHROMIUM and report_browser.DRIVER):
        pytest.skip("no chromium and chromedriver: see CONTRIBUTING.md")
    source = report_browser.axe_core(tmp_path)
    for name in PAGES:
        for width, scheme in ((1200, "light"), (1200, "dark"), (390, "light")):
            report_browser.emulate(browser, width=width, scheme=scheme)
            browser.get((site / name).as_uri())
            assert report_browser.violations(browser, source) == [], (name, width, scheme)


@pytest.mark.timeout(900)
def test_every_page_has_the_version_a_mark_and_no_machine_in_it(site):
    import nnpu

    for page in sorted(site.glob("*.html")):
        text = page.read_text("utf-8")
        assert f"nnpu {nnpu.__version__}" in text, page.name
        assert 'rel="icon"' in text, page.name
        assert str(ROOT) not in text, page.name


@pytest.mark.timeout(900)
def test_a_search_result_has_text_to_show_and_a_notebook_holds_no_shell_arguments(site):
    """The theme's search reads an excerpt from the page itself, so that its text must be there."""
    assert "sphinx_copybutton" in (ROOT / "docs/conf.py").read_text("utf-8")
    for notebook in (ROOT / "docs/gallery").glob("*.ipynb"):
        cells = json.loads(notebook.read_text("utf-8"))["cells"]
        assert not any("sys.argv" in "".join(cell["source"]) for cell in cells), notebook.name
