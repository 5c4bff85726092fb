"""Draw the pictures of the report in images/: ``python docs/report_pictures.py``.

The report is that of ``nnpu demo``. Needs chromium and chromedriver, selenium and Pillow
(``.[dev]``).
"""

from __future__ import annotations

import base64
import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

IMAGES = Path(__file__).parent / "images"
PICTURES = {  # width, height, colour scheme
    "report-light.png": (1100, 1330, "light"),
    "report-dark.png": (1100, 1330, "dark"),
    "report-narrow.png": (390, 1650, "light"),
}


def start_browser(profile: str) -> Any:
    """Start a Chromium without a window that asks the network for nothing."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("chromium-browser") or ""
    for flag in (
        "headless=new",
        "no-sandbox",
        "disable-gpu",
        "no-first-run",
        "disable-background-networking",
        "hide-scrollbars",
        f"user-data-dir={profile}",
    ):
        options.add_argument(f"--{flag}")
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def take(browser: Any, page: Path, picture: Path, width: int, height: int, scheme: str) -> None:
    """Save the top of a page as a window of this size shows it."""
    screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get(page.as_uri())
    shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    pixels = Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB")
    pixels.quantize(64).save(picture, optimize=True)  # a third of the bytes, and looks the same


def main() -> None:
    """Run the demo in a temporary folder and take the pictures of its report."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "nnpu-demo"
        subprocess.run([sys.executable, "-m", "nnpu", "demo", "--out", str(out)], check=True)
        browser = start_browser(str(Path(folder) / "profile"))
        try:
            for name, how in PICTURES.items():
                take(browser, out / "report.html", IMAGES / name, *how)
        finally:
            browser.quit()


if __name__ == "__main__":
    main()
