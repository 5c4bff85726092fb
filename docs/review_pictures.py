"""Draw the pictures of the served review in images/: ``python docs/review_pictures.py``.

The table is that of ``nnpu demo``, of which 40 rows are answered by chance. Needs chromium and
chromedriver, and selenium, Pillow and the extra ``serve`` (``.[dev]``).
"""

from __future__ import annotations

import base64
import io
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from report_pictures import IMAGES, start_browser
from selenium.webdriver.support.ui import WebDriverWait

PICTURES = {  # width, height, colour scheme
    "review-page.png": (1000, 760, "light"),
    "review-page-narrow.png": (390, 844, "dark"),
}
ANSWERS = "yyynyyyynyyynynyynnynyynnnynnynnnynnnnnn"


def wait(browser: Any, but: str = "") -> str:
    """Return the title of the row that is shown, once it is another one."""

    def ready(page: Any) -> str | None:
        title: str = page.find_element("id", "title").text
        return title if title != but and page.find_element("id", "yes").is_enabled() else None

    found: str = WebDriverWait(browser, 60, poll_frequency=0.02).until(ready)
    return found


def take(browser: Any, picture: Path, width: int, height: int, scheme: str) -> None:
    """Save the page as a window of this size shows it."""
    screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    pixels = Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB")
    pixels.quantize(64).save(picture, optimize=True)


def main() -> None:
    """Serve a review of the demo's table, answer some rows, and take the pictures."""
    with tempfile.TemporaryDirectory() as made:
        nnpu, out = [sys.executable, "-m", "nnpu"], Path(made) / "demo"
        subprocess.run([*nnpu, "demo", "--out", str(out)], check=True)
        table = out / "demo.csv"
        review = [*nnpu, "review", str(out / "model"), str(table), "--folder", f"{made}/r"]
        server = subprocess.Popen([*review, "--serve"], stdout=subprocess.PIPE, text=True)
        browser = start_browser(f"{made}/profile")
        try:
            assert server.stdout is not None
            browser.get(server.stdout.readline().split()[-1])
            title = wait(browser)
            for key in ANSWERS:
                browser.find_element("tag name", "body").send_keys(key)
                title = wait(browser, title)
            for name, how in PICTURES.items():
                take(browser, IMAGES / name, *how)
        finally:
            browser.quit()
            server.send_signal(signal.SIGINT)
            server.wait()


if __name__ == "__main__":
    main()
