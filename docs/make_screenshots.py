"""Take the screenshots of the how-to pages, into docs/images/.

    python docs/make_screenshots.py

The table is that of `topbin demo`: 569 breast tumors of scikit-learn, of which 100 are known to be
malignant. Needs Chromium, playwright and the extra `review`; it takes about a minute.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import topbin as tb
from topbin.cli.demo import DATA, hide_labels

IMAGES = Path(__file__).parent / "images"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
VIEW = {"width": 1280, "height": 800}
QUESTION = "Is this tumor malignant?"


@contextmanager
def reviewed(run: Path, *options: str) -> Iterator[str]:
    """The address of `topbin review`, while it runs."""
    command = [sys.executable, "-m", "topbin", "review", str(run), "--json", *options]
    with subprocess.Popen(command, stdout=-1, text=True) as process:
        assert process.stdout is not None
        told = "".join(iter(process.stdout.readline, "}\n")) + "}"
        try:
            yield json.loads(told)["address"]
        finally:
            process.kill()


def take(browser: Any, address: str, name: str, keys: str = "", until: str = "body") -> None:
    """One picture of a page, after some keys were pressed and something is there."""
    page = browser.new_page(viewport=VIEW)
    page.goto(address)
    page.wait_for_load_state("networkidle")
    for key in keys:
        page.keyboard.press(key)
        page.wait_for_timeout(250)
    page.wait_for_selector(until)
    page.wait_for_timeout(400)
    page.screenshot(path=IMAGES / name)
    page.close()


def main() -> None:
    """Fit, review, and take all pictures."""
    with tempfile.TemporaryDirectory() as place, sync_playwright() as play:
        frame, _ = hide_labels(0, DATA["cancer"])
        result = tb.fit(frame.round(3), "known_malignant", budget="fast")
        run = result.save(Path(place) / "run1")
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        report = (run / "report.html").as_uri()
        take(browser, report, "report.png")
        ask = "--question", QUESTION
        with reviewed(run, "--candidates", *ask) as address:
            take(browser, address, "review_candidates.png", "yyn")
        with reviewed(run, "--n", "30") as address:
            take(browser, address, "review_audit.png", "nnynn")
            rest = "y" * 5 + "n" * 20 + "\r"
            take(browser, address, "review_result.png", rest, until="#verdict:not(:empty)")
        browser.close()


if __name__ == "__main__":
    main()
