"""The report in a real browser: the slider, the themes, no network, paper and small screens."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tarfile

import numpy as np
import pytest

import nnpu
from nnpu import metrics
from nnpu.cli import main
from nnpu.data.folds import PUStratifiedKFold
from nnpu.data.streams import read_rows
from nnpu.table.columns import read_label_cells

HOSTILE = "</script><script>document.title='taken'</script>"
PRIOR = 0.4


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A model folder, and the PU labels and scores of its held-out rows."""
    folder = tmp_path_factory.mktemp("browser")
    rng = np.random.default_rng(0)
    positive = rng.random(600) < PRIOR
    rows = [
        f"{rng.normal(2.0 * y):.3f},{rng.normal(1.0 * y):.3f},{int(y and rng.random() < 0.5)}"
        for y in positive
    ]
    data, out = folder / "table.csv", folder / "model"
    data.write_text("\n".join([f"{HOSTILE},b,s", *rows]))
    options = ["--prior", f"{PRIOR}", "--epochs", "20"]
    main(["fit", str(data), "--label", "s", "--out", str(out), *options])
    batch = read_rows(data)
    s = read_label_cells(batch.columns["s"], "s", str(data)).codes
    held_out = PUStratifiedKFold(5, random_state=0).assign(s) == 0
    x = nnpu.load(out).columns_.transform(batch)
    return out, s[held_out], nnpu.load(out).classifier_.decision_function(x[held_out])


@pytest.fixture(scope="module")
def browser(start_browser):
    driver = start_browser()
    yield driver
    driver.quit()


def emulate(browser, *, width=1200, scheme="light", media=""):
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})


@pytest.fixture
def page(browser, fitted):
    """The report, opened anew from the disk on a wide, light screen."""
    emulate(browser)
    browser.get((fitted[0] / "report.html").as_uri())
    return browser


def texts(browser):
    """Return the text of every element that has an id, in one question."""
    return browser.execute_script(
        "return Object.fromEntries([...document.querySelectorAll('[id]')]"
        ".map((element) => [element.id, element.textContent]))"
    )


def slider(browser):
    return browser.find_element("id", "threshold")


def words(name, s, predictions, prior):
    """What the page must write: the library's own estimate and interval, in per cent."""
    how = {"prior": prior, "sampling": "one-sample"}
    value = metrics.METRICS[name](s, predictions, **how)
    low, high = metrics.interval(name, s, predictions, **how)
    value, low, high = (min(max(each, 0), 1) for each in (value, low, high))
    return f"{100 * value:.1f}\u00a0%", f"{100 * low:.1f} to {100 * high:.1f}\u00a0%"


def test_keys_move_the_slider_and_every_figure_is_that_of_the_metrics(page, fitted):
    from selenium.webdriver.common.keys import Keys

    _, s, scores = fitted
    thresholds = metrics.threshold_grid(s, scores, also=0.0)
    start = int(np.flatnonzero(thresholds == 0)[0])
    seen = set()
    for keys, step in (
        ("", start),
        (Keys.ARROW_RIGHT, start + 1),
        (Keys.ARROW_LEFT * 3, start - 2),
        (Keys.HOME, 0),
        (Keys.ARROW_UP * 5, 5),
        (Keys.END + Keys.ARROW_LEFT * 4, len(thresholds) - 5),
    ):
        slider(page).send_keys(keys)
        predictions, shown = scores > thresholds[step], texts(page)
        assert slider(page).get_property("value") == str(step)
        flagged = int(predictions.sum())
        assert shown["tile-flagged"] == f"{flagged:,}"
        said = slider(page).get_attribute("aria-valuetext")
        assert said == f"score above {shown['at-score']}"
        score = float(shown["at-score"].replace("−", "-"))  # noqa: RUF001
        assert score == pytest.approx(thresholds[step], abs=5e-5)
        for row, prior in enumerate((PRIOR, 0.8 * PRIOR, 1.2 * PRIOR)):
            for column in ("precision", "recall", "f1"):
                value, interval = words(f"pu_{column}", s, predictions, prior)
                assert shown[f"prior-{row}-{column}"] == value
                assert shown[f"prior-{row}-{column}-interval"] == interval
                if row == 0:
                    assert shown[f"tile-{column}"] == value
                    assert shown[f"tile-{column}-interval"] == interval
        if keys:
            assert f"{flagged:,} rows flagged" in shown["spoken"]
        seen.add((shown["tile-precision"], shown["tile-flagged"]))
    assert len(seen) == 6  # the figures moved


def test_the_markers_move_and_the_way_back_leads_to_the_models_own_threshold(page):
    from selenium.webdriver.common.keys import Keys

    def places():
        names = ("explorer-1-marker", "scores-1-marker", "scores-2-marker")
        return [float(page.find_element("id", name).get_attribute("x1")) for name in names]

    before, reset = places(), page.find_element("id", "reset")
    assert all(46 <= place <= 432 for place in before)
    assert before[1] == before[2]
    assert not reset.is_enabled()
    assert page.find_element("id", "at-own").is_displayed()
    slider(page).send_keys(Keys.PAGE_UP)
    moved = places()
    assert all(new > old for new, old in zip(moved, before, strict=True))
    assert not page.find_element("id", "at-own").is_displayed()
    reset.send_keys(Keys.ENTER)
    assert places() == before
    assert page.switch_to.active_element == slider(page)


def test_the_cut_of_least_cost_is_that_of_the_metrics(page, fitted):
    """By hand: cost = a FP + m FN, with FP = flagged − π n TPR and FN = π n (1 − TPR)."""
    from selenium.webdriver.common.keys import Keys

    _, s, scores = fitted
    thresholds = metrics.threshold_grid(s, scores, also=0.0)
    tpr = np.array([(scores[s == 1] > cut).mean() for cut in thresholds])
    flagged = np.array([(scores > cut).sum() for cut in thresholds])
    positives = PRIOR * len(s)
    chosen = set()
    for alarm, miss in ((1, 1), (1, 4), (3, 1)):
        for name, value in (("cost-alarm", alarm), ("cost-miss", miss)):
            page.find_element("id", name).send_keys(Keys.CONTROL, "a", Keys.NULL, str(value))
        cost = alarm * np.maximum(flagged - positives * tpr, 0) + miss * positives * (1 - tpr)
        answer = page.find_element("id", "cost-answer").text
        best = float(re.search(r"score above (\S+)", answer)[1].replace("−", "-"))  # noqa: RUF001
        assert cost[thresholds == best] == pytest.approx(cost.min(), abs=0.05)
        page.find_element("id", "cost-use").send_keys(Keys.ENTER)
        assert page.switch_to.active_element == slider(page)
        assert texts(page)["at-score"].replace("−", "-") == f"{best:g}"  # noqa: RUF001
        chosen.add(best)
    assert len(chosen) > 1
    page.find_element("id", "cost-alarm").send_keys(Keys.CONTROL, "a", Keys.NULL, "-1")
    assert "not negative" in page.find_element("id", "cost-answer").text
    assert not page.find_element("id", "cost-use").is_displayed()


def test_every_control_can_be_reached_with_the_tab_key(page):
    from selenium.webdriver.common.keys import Keys

    reached = []
    for _ in range(60):
        page.switch_to.active_element.send_keys(Keys.TAB)
        reached.append(page.switch_to.active_element.get_attribute("id"))
    wanted = ("theme", "threshold", "cost-alarm", "cost-miss", "cost-use")
    assert [name for name in reached if name in wanted][: len(wanted)] == list(wanted)


def test_the_thumb_stands_below_the_marker(page):
    """The slider's track, less half a thumb at each end, spans what the curves span."""
    script = """
        const slider = document.getElementById("threshold");
        const box = slider.getBoundingClientRect();
        const at = (Number(slider.value) - slider.min) / (slider.max - slider.min);
        const marker = document.getElementById("explorer-1-marker").getBoundingClientRect();
        return [box.left + 8 + at * (box.width - 16), marker.left + marker.width / 2];
    """
    thumb, marker = page.execute_script(script)
    assert abs(thumb - marker) < 3


def test_the_page_follows_the_system_and_the_button_overrules_it(page):
    def brightness():
        colour = page.execute_script("return getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in colour.strip("rgb()").split(","))

    button = page.find_element("id", "theme")
    assert brightness() > 700
    assert button.text == "Dark mode"
    emulate(page, scheme="dark")
    assert brightness() < 100
    wait = pytest.importorskip("selenium.webdriver.support.wait").WebDriverWait(page, 10)
    wait.until(lambda _: button.text == "Light mode")  # the system's event comes later
    button.click()
    assert brightness() > 700
    assert button.text == "Dark mode"


def test_nothing_is_asked_for_and_nothing_goes_wrong(page, fitted):
    page.get_log("performance")  # forget what came before
    page.get_log("browser")
    page.get((fitted[0] / "report.html").as_uri())
    messages = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    asked = [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in asked if url.startswith("file:")]) == 1
    assert page.get_log("browser") == []


def test_the_policy_stops_what_a_hole_in_the_escaping_would_let_in(page):
    """A request, a further script, an inline handler: none of them works."""
    tried = page.execute_script(
        """
        const script = document.createElement("script");
        script.textContent = "window.taken = 1";
        document.body.append(script);
        const box = document.createElement("div");
        box.innerHTML = "<b onclick='window.taken = 2'>x</b>";
        document.body.append(box);
        box.firstChild.click();
        return window.taken === undefined;
        """
    )
    assert tried
    failed = page.execute_async_script(
        "const done = arguments[0]; fetch('http://127.0.0.1:9/').then(() => done('no'), "
        "(error) => done(String(error)));"
    )
    assert "Failed to fetch" in failed
    assert any("Content Security Policy" in entry["message"] for entry in page.get_log("browser"))


def test_a_column_name_is_text_whatever_it_says(page):
    assert page.title == "Report: table.csv"
    names = [cell.text for cell in page.find_elements("css selector", "#columns tbody th")]
    assert names == [HOSTILE, "b"]


@pytest.mark.parametrize("width", [320, 390, 768])
def test_no_screen_needs_to_be_scrolled_sideways(page, width):
    emulate(page, width=width)
    page.execute_script("document.querySelectorAll('details').forEach((each) => each.open = true)")
    wide = page.execute_script("return document.documentElement.scrollWidth")
    assert wide <= width
    left_over = page.execute_script(
        "return [...document.querySelectorAll('figure, p, h2, .tile, .slider')]"
        ".filter((e) => e.getBoundingClientRect().right > innerWidth).length"
    )
    assert left_over == 0
    cut_off = page.execute_script(
        "return [...document.querySelectorAll('.wide')]"
        ".filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.ariaLabel)"
    )
    assert cut_off == [] or width < 390


def test_paper_is_white_and_has_no_buttons(page):
    emulate(page, scheme="dark", media="print")
    colour = page.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert colour == "rgb(255, 255, 255)"
    for name in ("threshold", "reset", "theme", "cost-alarm", "cost-use"):
        assert not page.find_element("id", name).is_displayed()
    assert page.find_element("id", "tile-precision").is_displayed()
    assert page.print_page().startswith("JVBERi")  # %PDF in base64


def test_without_scripts_the_figures_are_those_of_the_models_own_threshold(page):
    names = ("tile-precision", "tile-recall-interval", "tile-flagged", "prior-1-f1", "at-score")
    shown = [texts(page)[name] for name in names]
    page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page.refresh()
        assert [texts(page)[name] for name in names] == shown
        assert not page.find_element("id", "reset").is_displayed()
        assert page.find_element("css selector", "noscript p").is_displayed()
    finally:
        page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def axe_core(folder):
    """Return the source of axe-core, from npm; nothing of it is kept."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm: see CONTRIBUTING.md")
    found = subprocess.run(
        [npm, "pack", "--silent", "axe-core@4"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode:
        pytest.skip(f"npm cannot be asked for axe-core: {found.stderr[-200:]}")
    with tarfile.open(next(folder.glob("axe-core-*.tgz"))) as archive:
        return archive.extractfile("package/axe.min.js").read().decode()


def violations(browser, source):
    """Return the serious violations that axe-core finds on the open page."""
    browser.execute_script(source)
    found = browser.execute_async_script(
        "const done = arguments[0]; axe.run().then((found) => done(found.violations))"
    )
    return [
        (each["id"], [node["html"][:120] for node in each["nodes"][:3]])
        for each in found
        if each["impact"] in ("serious", "critical")
    ]


@pytest.mark.slow
def test_axe_core_finds_nothing_serious(page, fitted, tmp_path):
    source = axe_core(tmp_path)
    for width, scheme in ((1200, "light"), (1200, "dark"), (390, "light")):
        emulate(page, width=width, scheme=scheme)
        page.refresh()
        page.execute_script("document.querySelectorAll('details').forEach((e) => (e.open = true))")
        assert violations(page, source) == []
    page.execute_script("document.querySelector('#threshold').removeAttribute('id')")
    assert violations(page, source) != []  # a slider without a label is seen
