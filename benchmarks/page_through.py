"""A genuine problem worked through by the served page, from the first row to the certificate.

    python benchmarks/page_through.py adhd --recall 0.8 [--picture page.png]

A browser without a window presses the keys; the answers are the true ones. Prints what the page
said at the stop sign and what was true. Needs chromium and chromedriver (``.[dev]``). NNPU_DATA
names the folder with ``genuine/``.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from genuine_problems import load
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

from nnpu.review import load as load_review


def start_browser(profile: Path):
    """Start a Chromium without a window."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("chromium-browser") or ""
    for flag in ("headless=new", "no-sandbox", "disable-gpu", f"user-data-dir={profile}"):
        options.add_argument(f"--{flag}")
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def work(browser, truth, picture: Path | None, at: int = 60) -> tuple[int, list[float]]:
    """Answer rows until the stop sign; return how many, and the seconds until the next row."""
    state = (
        "const at = (id) => document.getElementById(id);"
        "if (!at('stop').hidden) return 'stop'; if (!at('spent').hidden) return 'spent';"
        "return at('here').hidden || at('yes').disabled ? '' : at('title').textContent"
    )
    before, given, waits = "", 0, []
    body = browser.find_element("tag name", "body")
    while True:
        start = time.perf_counter()
        title = WebDriverWait(browser, 120, poll_frequency=0.01).until(
            lambda page, before=before: (now := page.execute_script(state)) != before and now
        )
        waits.append(time.perf_counter() - start)
        if title in ("stop", "spent"):
            return given, waits[1:]
        if given == at and picture is not None:
            browser.save_screenshot(str(picture))
        row = int(title.removeprefix("Row ").replace(",", "")) - 1
        body.send_keys("y" if truth[row] else "n")
        before, given = title, given + 1


def main() -> None:
    """Fit, serve, answer, and say what was true."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("problem")
    parser.add_argument("--recall", type=float, default=0.9)
    parser.add_argument("--picture", type=Path, help="of the page after 60 answers")
    given = parser.parse_args()
    frame, truth = load(given.problem)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        frame.to_parquet(folder / "table.parquet")
        nnpu = [sys.executable, "-m", "nnpu"]
        table, model = str(folder / "table.parquet"), str(folder / "model")
        fit = [*nnpu, "fit", table, "--label", "known", "--out", model]
        subprocess.run(fit, check=True, stdout=subprocess.DEVNULL)
        asked = ["--folder", str(folder / "r"), "--serve", "--until", f"recall={given.recall}"]
        server = subprocess.Popen([*nnpu, "review", model, table, *asked], stdout=subprocess.PIPE)
        browser = start_browser(folder / "profile")
        try:
            line = server.stdout.readline().decode()
            browser.get(line.split()[-1])
            looks, waits = work(browser, truth, given.picture)
            said = browser.find_element("id", "certified").text
        finally:
            browser.quit()
            server.send_signal(signal.SIGINT)
            server.wait()
        review = load_review(folder / "r")
        positives = int(truth[np.isnan(review.known)].sum())
        drawn = int(review.is_random(list(review.answers)).sum())
        rows = int(np.isnan(review.known).sum())
        print(f"{given.problem}: {looks} answers by keys of {rows} rows, {drawn} drawn at random.")
        print(f"The page said: {said}")
        print(
            f"True: {review.found} of {positives} found ({review.found / positives:.1%}), "
            f"{positives - review.found} left."
        )
        print(f"Next row after {np.median(waits):.3f} s (median), {max(waits):.2f} s (longest).")


if __name__ == "__main__":
    main()
