"""The served review in a real browser: 60 rows by keys, a kill on the way, two tabs, attacks."""

from __future__ import annotations

import csv
import http.server
import json
import threading

import numpy as np
import pytest
from tests.review.served import answered, logged, start_command

from nnpu.cli import main
from nnpu.review import load

CELL = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='t'\">"


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A model and its table, whose cells are numbers, attacks and a very long text; the truth."""
    folder = tmp_path_factory.mktemp("served")
    rng = np.random.default_rng(1)
    y = rng.random(300) < 0.3
    known = y & (rng.random(300) < 0.3)
    with (folder / "table.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "amount", "hour", CELL, "story", "known"])
        for i in range(300):
            numbers = [f"{value:.4f}" for value in rng.normal(1.5 * y[i], 1, size=2)]
            story = f"{i} " + "very long " * 5000 if i % 2 else "short\\x07\\u202e"
            writer.writerow([f"c{i}", *numbers, f"{CELL} {i % 5}", story, int(known[i])])
    options = ["--label", "known", "--prior", "0.3", "--model", "linear"]
    assert not main(["fit", str(folder / "table.csv"), *options, "--out", str(folder / "model")])
    return folder, y


@pytest.fixture(scope="module")
def browser(start_browser):
    driver = start_browser()
    yield driver
    driver.quit()


@pytest.fixture
def serve(fitted, tmp_path):
    """Return a function that serves a review of this test; all servers end with it."""
    folder, _ = fitted
    servers = []

    def started(*options):
        asked = [folder / "model", folder / "table.csv", "--folder", tmp_path / "r", "--serve"]
        servers.append(start_command(*asked, *options))
        return servers[-1]

    yield started
    for one in servers:
        if one.process.poll() is None:
            one.kill()


def shown(browser, but=None):
    """Return the row that a tab shows, once it is another one than `but`."""
    from selenium.webdriver.support.ui import WebDriverWait

    def ready(driver):
        title = driver.find_element("id", "title")
        ready = title.is_displayed() and driver.find_element("id", "yes").is_enabled()
        return title.text if ready and title.text != but else None

    title = WebDriverWait(browser, 60, poll_frequency=0.01).until(ready)
    return int(title.removeprefix("Row ").replace(",", "")) - 1


def answer(browser, y):
    """Answer the row of this tab by a key; return it."""
    row = shown(browser)
    browser.find_element("tag name", "body").send_keys("y" if y[row] else "n")
    shown(browser, f"Row {row + 1:,}")
    return row


def test_sixty_rows_by_keys_with_a_kill_and_two_tabs(fitted, browser, serve, tmp_path):
    _, y = fitted
    server = serve()
    browser.get(server.address)
    rows = [answer(browser, y) for _ in range(20)]
    held = shown(browser)
    server.kill()
    body = browser.find_element("tag name", "body")
    body.send_keys("y")
    from selenium.webdriver.support.ui import WebDriverWait

    error = browser.find_element("id", "error")
    WebDriverWait(browser, 30).until(lambda _: error.is_displayed())
    assert "does not answer" in error.text
    assert answered(tmp_path / "r") == rows  # all there, and nothing that was not saved

    server = serve()
    browser.get(server.address)
    assert shown(browser) == held  # goes on where it was
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    second = browser.current_window_handle
    browser.get(server.address)
    for i in range(40):
        browser.switch_to.window((first, second)[i % 2])
        rows.append(answer(browser, y))
    here = shown(browser)
    browser.switch_to.window(first)
    assert shown(browser) != here
    assert len(set(rows)) == 60
    assert answered(tmp_path / "r") == rows
    review = load(tmp_path / "r")
    assert review.answers == {row: float(y[row]) for row in sorted(rows)}
    assert browser.find_element("id", "found").text == str(review.found)
    browser.switch_to.window(second)
    browser.close()
    browser.switch_to.window(first)
    server.stop()
    assert server.process.returncode == 130


def test_undo_by_key_and_by_button(browser, serve, fitted, tmp_path):
    _, y = fitted
    server = serve("--by", "anna")
    browser.get(server.address)
    assert not browser.find_element("id", "undo").is_enabled() or shown(browser) is None
    rows = [answer(browser, y) for _ in range(3)]
    at = f"Row {shown(browser) + 1:,}"
    browser.find_element("tag name", "body").send_keys("u")
    assert shown(browser, at) == rows[2]
    browser.find_element("id", "undo").click()
    assert shown(browser, f"Row {rows[2] + 1:,}") == rows[1]
    browser.find_element("id", "no").click()
    shown(browser, f"Row {rows[1] + 1:,}")
    assert [event["back"] for event in logged(tmp_path / "r") if "back" in event] == [
        [rows[2]],
        [rows[1]],
    ]
    assert load(tmp_path / "r").answers == {rows[0]: float(y[rows[0]]), rows[1]: 0.0}
    assert "anna" in browser.find_element("id", "people").text


def test_cells_are_text_and_nothing_is_blocked_or_sent_away(browser, serve):
    server = serve("--question", "Is it <b>bad</b>?")
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(server.address)
    for _ in range(4):
        row = shown(browser)
        names = [name.text for name in browser.find_elements("css selector", "#cells th")]
        texts = [cell.text for cell in browser.find_elements("css selector", "#cells td")]
        assert CELL in names
        assert texts[names.index(CELL)].startswith(CELL)
        if row % 2:
            assert texts[names.index("story")].endswith("characters)")
        browser.find_element("tag name", "body").send_keys("?")
        shown(browser, f"Row {row + 1:,}")
    assert browser.title == "Review: Is it <b>bad</b>?"
    assert not browser.find_element("id", "reason").is_displayed()  # would sway the reviewer
    browser.find_element("tag name", "body").send_keys("w")
    assert browser.find_element("id", "reason").is_displayed()
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    urls = [m["request"]["url"] for m in sent if m["documentURL"] == server.address]
    assert len(urls) >= 8
    assert all(url.startswith((server.address, "data:")) for url in urls)


def test_another_site_can_neither_answer_nor_read_nor_frame_the_page(browser, serve, tmp_path):
    """Even one that knows the address, token included."""
    server = serve()
    row = server.do("next")[1]["row"]["row"]
    attack = f"""<title>quiet</title><iframe src="{server.address}"></iframe><script>
    const body = JSON.stringify({{tab: "t", row: "{row}", answer: "yes"}});
    const to = "{server.address}answer";
    const ways = [{{}}, {{mode: "no-cors"}}];
    Promise.allSettled(ways.map((how) => fetch(to, {{method: "POST", body, ...how}})))
      .then((all) => {{
        navigator.sendBeacon(to, body);
        const read = fetch("{server.address}").then((a) => a.text());
        return read.then(() => "read", () => "nothing");
      }}).then((found) => {{ document.title = found; }});
    </script>"""

    class Site(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(attack.encode())

        def log_message(self, *_):
            pass

    from selenium.webdriver.support.ui import WebDriverWait

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        browser.get(f"http://127.0.0.1:{site.server_address[1]}/")
        WebDriverWait(browser, 30).until(lambda page: page.title in ("read", "nothing"))
        assert browser.title == "nothing"
        frame = browser.find_element("tag name", "iframe")
        browser.switch_to.frame(frame)
        assert not browser.find_elements("id", "cells")
        browser.switch_to.default_content()
        site.shutdown()
    assert answered(tmp_path / "r") == []
    assert server.do("answer", row=str(row), answer="no")[0] == 200  # still in its hands


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_a_phone_and_its_text_stands_out(browser, serve, scheme):
    server = serve()
    screen = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    try:
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        browser.get(server.address)
        shown(browser)
        size = "return [document.documentElement.scrollWidth, innerWidth]"
        assert browser.execute_script(size) == [390, 390]
        for name in ("yes", "no", "unsure", "undo"):
            box = browser.find_element("id", name).rect
            assert 0 <= box["x"] <= box["x"] + box["width"] <= 390
            assert box["y"] + box["height"] <= 844
            assert box["height"] >= 40  # for a thumb
        script = r"""
          const rgb = (c) => c.match(/[\d.]+/g).slice(0, 3).map((v) => {
            v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
          const light = (c) => {
            const [r, g, b] = rgb(c); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
          const page = light(getComputedStyle(document.body).backgroundColor);
          return [...document.querySelectorAll("h1, th, td, dt, dd, .muted")].map((e) => {
            const ink = light(getComputedStyle(e).color);
            return (Math.max(ink, page) + 0.05) / (Math.min(ink, page) + 0.05); });
        """
        assert min(browser.execute_script(script)) >= 4.5
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_the_stop_sign_is_shown_and_one_may_go_on(browser, serve, fitted, tmp_path):
    """All rows but the last ones are answered by file; the page then says that one may stop."""
    _, y = fitted
    server = serve()
    browser.get(server.address)
    last = shown(browser)
    known = np.isnan(load(tmp_path / "r").known)
    others = [row for row in np.flatnonzero(known) if row != last]
    load(tmp_path / "r").answer(others, y[others].astype(float), by="ben")
    browser.find_element("tag name", "body").send_keys("y" if y[last] else "n")
    from selenium.webdriver.support.ui import WebDriverWait

    stop = browser.find_element("id", "stop")
    WebDriverWait(browser, 60).until(lambda _: stop.is_displayed())
    assert "At least 90 % of the positives are found" in stop.text
    looks = load(tmp_path / "r").looks
    browser.find_element("tag name", "body").send_keys("y")  # counts for no row
    assert load(tmp_path / "r").looks == looks
    browser.find_element("id", "on").click()
    assert not stop.is_displayed()
