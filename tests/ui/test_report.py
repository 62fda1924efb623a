"""The report in a real browser: wide and narrow, light and dark, no request, no overflow."""

import shutil

import pytest
from tumours import tumours

import topbin as tb

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine"),
    pytest.mark.usefixtures("rendered"),
]
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--no-first-run"]  # fmt: skip


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    frame = tumours().assign(note="<script>throw 1</script>" * 5)
    result = tb.fit(frame, "known", id="case", budget="fast")
    return result.save(tmp_path_factory.mktemp("ui") / "run") / "report.html"


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as play:
        opened = play.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield opened
        opened.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_reads_well(browser, report, width, scheme):
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    errors, requests = [], []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(report.as_uri())
    assert errors == []
    assert requests == [report.as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert "unlabeled rows are positive" in page.locator(".answer").inner_text()
    assert page.evaluate("document.documentElement.scrollHeight") <= 6000  # figures are folded
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("figure svg").count() == 5
    assert page.locator("figure svg").first.bounding_box()["width"] > 0.7 * min(width, 900)
    ink, paper = (
        page.evaluate(f"getComputedStyle(document.querySelector('.topbin')).{name}")
        for name in ("color", "backgroundColor")
    )
    assert (brightness(ink) < brightness(paper)) == (scheme == "light")
    page.close()


def test_it_can_be_read_without_script(browser, report):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator("h2, summary").count() >= 5
    context.close()


def brightness(colour):
    return sum(int(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3])
