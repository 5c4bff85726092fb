"""The page to answer in, in a real browser: keys, undo, a closed tab, export, hostile cells."""

from __future__ import annotations

import csv
import json
import struct
import time
import zlib

import numpy as np
import pytest

from nnpu.cli import main
from nnpu.review import Review

HOSTILE = (
    "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='t'\">"
)
RNG = np.random.default_rng(0)
P = RNG.random(400)


def png(shade):
    """A picture of one pixel."""

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    body = zlib.compress(bytes([0, shade]))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("review")


@pytest.fixture(scope="module")
def page(folder):
    """A page of 30 rows, some of whose cells are pictures, long text or an attack."""
    (folder / "scan.png").write_bytes(png(120))
    table = {
        HOSTILE: [f'=cmd|{i}, "quoted"; {HOSTILE}' for i in range(400)],
        "picture": ["scan.png"] * 400,
        "away": ["../../etc/secret.png"] * 400,
        "story": ["Line one.\nLine two, which is a good deal longer than a single cell should be."]
        * 400,
    }
    review = Review(P, ids=[f"c{i}" for i in range(400)])
    review.draw(30, random_state=0)
    path = folder / "review.html"
    review.write_page(path, table=table, question="Is it <b>bad</b>?", folder=folder)
    return path


@pytest.fixture(scope="module")
def browser(start_browser, folder):
    driver = start_browser(folder)
    yield driver
    driver.quit()


@pytest.fixture
def opened(browser, page):
    browser.get(page.as_uri())
    browser.execute_script("localStorage.clear()")
    browser.refresh()
    return browser


def press(browser, keys):
    browser.find_element("tag name", "body").send_keys(keys)


def text(browser, name):
    return browser.find_element("id", name).text


def exported(browser, path):
    path.unlink(missing_ok=True)
    press(browser, "e")
    for _ in range(100):
        if path.exists() and path.stat().st_size:
            return path
        time.sleep(0.05)
    raise AssertionError("nothing was exported")


def answers_of(browser, n, truth):
    """Answer `n` rows by keys with the hidden truth; every seventh is a don't know."""
    for i in range(n):
        row = browser.find_element("css selector", "#cells td").text
        press(browser, "?" if i % 7 == 3 else "y" if truth[row] else "n")


@pytest.fixture(scope="module")
def command(folder):
    """``nnpu review`` on a table whose cells and column names are an attack, and the truth."""
    rng = np.random.default_rng(1)
    y = rng.random(300) < 0.4
    known = y & (rng.random(300) < 0.4)
    data, model = folder / "table.csv", folder / "model"
    with data.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "amount", HOSTILE, "known"])
        for i, amount in enumerate(rng.normal(1.6 * y, 1)):
            writer.writerow([f"c{i}", f"{amount:.4f}", f"{HOSTILE} {i % 5}", int(known[i])])
    options = ["--label", "known", "--prior", "0.4", "--model", "linear"]
    assert not main(["fit", str(data), *options, "--out", str(model)])

    def review(*arguments):
        return main(["review", str(model), str(data), *map(str, arguments)])

    return review, {f"c{i}": bool(y[i]) for i in range(300)}


def test_twenty_answers_survive_a_closed_tab_and_the_command_reads_them(
    browser, command, folder, capsys
):
    review, truth = command
    page = folder / "asked.html"
    review("--rows", 30, "--page", page)
    browser.get(page.as_uri())
    answers_of(browser, 20, truth)
    assert text(browser, "count") == "20 of 30 answered"
    assert HOSTILE in browser.find_element("id", "cells").text
    assert "taken" not in browser.title
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    other = browser.current_window_handle
    browser.switch_to.window(first)
    browser.close()
    browser.switch_to.window(other)
    browser.get(page.as_uri())
    assert text(browser, "count") == "20 of 30 answered"
    assert text(browser, "title") == "Row 21 of 30"
    path = exported(browser, folder / "asked.csv")
    capsys.readouterr()
    review("--answers", path)
    assert "the last 10 rows are blank" in " ".join(capsys.readouterr().out.split())
    answers_of(browser, 10, truth)
    assert browser.find_element("id", "finished").is_displayed()
    path = exported(browser, folder / "asked.csv")
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    given = {row["id"]: row["answer"] for row in rows}
    doubts = [one for one in given.values() if one not in ("yes", "no")]
    assert len(doubts) == 4  # rows 3, 10 and 17 of the first part, row 3 of the second
    assert all(truth[name] == (one == "yes") for name, one in given.items() if one not in doubts)
    review("--answers", path, "--json")
    found = json.loads(capsys.readouterr().out)
    assert (found["audit"]["answered"], found["audit"]["dont_know"]) == (26, 4)
    prior = found["audit"]["prior"]
    assert prior["low"] < np.mean(list(truth.values())) < prior["high"]


def test_undo_and_moving_about(opened):
    press(opened, "yyn")
    press(opened, "u")
    assert text(opened, "title") == "Row 3 of 30"
    assert text(opened, "given") == "not answered yet"
    press(opened, "\ue012")  # the left arrow
    assert text(opened, "given") == "answered: yes"
    press(opened, "n")  # a second thought
    assert text(opened, "count") == "2 of 30 answered"
    opened.find_element("id", "undo").click()
    opened.find_element("id", "undo").click()
    assert text(opened, "count") == "0 of 30 answered"
    assert not opened.find_element("id", "undo").is_enabled()
    opened.find_element("id", "yes").click()
    assert text(opened, "count") == "1 of 30 answered"


def test_cells_are_shown_as_what_they_are(opened):
    cells = opened.find_elements("css selector", "#cells td")
    names = [name.text for name in opened.find_elements("css selector", "#cells th")]
    assert names[:2] == ["id", HOSTILE]
    assert HOSTILE in cells[1].text
    image = cells[2].find_element("tag name", "img")
    assert opened.execute_script("return arguments[0].naturalWidth", image) == 1
    assert cells[3].text == "../../etc/secret.png"  # outside of the folder: a name
    assert "Line one.\nLine two" in cells[4].text
    assert opened.title == "Review: Is it <b>bad</b>?"
    assert opened.find_element("tag name", "h1").text == "Is it <b>bad</b>?"
    assert not opened.find_element("id", "model").is_displayed()  # does not sway the reviewer
    opened.find_element("tag name", "summary").click()
    assert "probability" in opened.find_element("id", "model").text


def test_nothing_leaves_the_page_and_nothing_is_blocked(opened, page):
    press(opened, "yn?")
    assert [entry for entry in opened.get_log("browser") if entry["level"] == "SEVERE"] == []
    messages = [json.loads(entry["message"])["message"] for entry in opened.get_log("performance")]
    sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    urls = [m["request"]["url"] for m in sent if m["documentURL"] == page.as_uri()]
    assert all(url.startswith(("file:", "data:", "blob:")) for url in urls)
    assert urls.count(page.as_uri()) >= 1


def test_every_control_has_a_name_and_the_row_is_announced(opened):
    for button in opened.find_elements("tag name", "button"):
        assert button.accessible_name
    press(opened, "y")
    spoken = opened.find_element("id", "spoken")
    assert spoken.get_attribute("aria-live") == "polite"
    assert spoken.get_attribute("textContent") == "Row 2 of 30"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_dark(opened, scheme):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    script = """
      const rgb = (c) => c.match(/[\\d.]+/g).slice(0, 3).map((v) => {
        v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
      const light = (c) => {
        const [r, g, b] = rgb(c); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
      const page = light(getComputedStyle(document.body).backgroundColor);
      return [...document.querySelectorAll("h1, th, td, .muted")].map((e) => {
        const ink = light(getComputedStyle(e).color);
        return (Math.max(ink, page) + 0.05) / (Math.min(ink, page) + 0.05); });
    """
    contrasts = opened.execute_script(script)
    assert min(contrasts) >= 4.5
