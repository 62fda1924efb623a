"""The review page in a real browser: by keyboard, killed in the middle, two people at once."""

import json
import signal
import subprocess
import sys
from contextlib import contextmanager
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pandas as pd
import pytest
from claims import claims
from click.testing import CliRunner
from quick_plans import quick_plans
from stored import result_of
from ui.test_report import CHROMIUM, QUIET, brightness, sync_api

import topbin as tb
from topbin.cli import main
from topbin.job.audits.answers import ANSWERS, read_state

pytest.importorskip("uvicorn", reason='needs pip install "topbin[review]"')
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")
LONG = "The customer called about <b>a delayed delivery</b> & asked for a refund. " * 12
ANSWER = {"y": "positive", "n": "negative", "?": "unsure"}


@pytest.fixture(scope="module")
def fitted():
    with quick_plans():
        return tb.fit(claims().assign(note=LONG), "known", id="case", budget="fast")


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as play:
        opened = play.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield opened
        opened.close()


@contextmanager
def serving(run, *options):
    """The address of `topbin review`, and its process."""
    command = [sys.executable, "-m", "topbin", "review", str(run), "--json", *options]
    with subprocess.Popen(command, stdout=-1, stderr=-1, text=True) as process:
        told = ""
        while not told.endswith("}\n"):
            line = process.stdout.readline()
            assert line, process.stderr.read()
            told += line
        try:
            yield json.loads(told)["address"], process
        finally:
            process.kill()


@pytest.fixture(scope="module")
def served(fitted, tmp_path_factory):
    """One server for all tests that do not need their own."""
    run = fitted.save(tmp_path_factory.mktemp("ui") / "run")
    with serving(run, "--n", "80") as (address, _):
        yield run, address


@contextmanager
def opened(browser, address, *, width=1280, scheme="light"):
    """A page in a browser of its own; nothing may be asked of another server, or fail."""
    view = {"width": width, "height": 900}
    context = browser.new_context(viewport=view, color_scheme=scheme)
    page, errors, asked = context.new_page(), [], []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    page.wait_for_selector("#cells dt")
    yield page
    context.close()
    assert errors == []
    assert all(url.startswith((address, "data:")) for url in asked)


def shown(page):
    return int(
        page.locator("#row").inner_text().split(":")[0].removeprefix("Row ").replace(",", "")
    )


def press(page, key):
    """Press a key, wait for what follows, and return the row that it was pressed at."""
    row, before = shown(page), page.locator("#row").inner_text()
    page.keyboard.press(key)
    page.wait_for_function(
        "before => document.getElementById('row').textContent !== before || !row", arg=before
    )
    return row


def lines(run):
    return [json.loads(line) for line in (run / ANSWERS).read_text().splitlines()]


@needs_browser
def test_thirty_rows_by_keyboard_with_the_server_killed_in_the_middle(browser, fitted, tmp_path):
    run, said = fitted.save(tmp_path / "run"), {}
    with serving(run, "--n", "30") as (address, process):
        context = browser.new_context()
        page = context.new_page()
        page.goto(address)
        page.wait_for_selector("#cells dt")
        for key in "ynn?ynnnynnynn":
            said[press(page, key)] = ANSWER[key]
        process.send_signal(signal.SIGKILL)
        process.wait()
        lost = shown(page)
        page.keyboard.press("y")
        page.wait_for_selector("#message:not([hidden])")
        assert "The answer was not saved" in page.locator("#message").inner_text()
        assert shown(page) == lost
        context.close()
    assert {line["row"]: line["answer"] for line in lines(run)} == said
    with serving(run) as (address, process):
        with opened(browser, address) as page:
            assert page.locator("#progress").inner_text().startswith("14 of 30 rows answered")
            assert shown(page) == lost
            for key in "nynnnynnnnn?nnn":
                said[press(page, key)] = ANSWER[key]
            said[press(page, "y")] = "positive"
            assert len(lines(run)) == len(said) == 30
            page.wait_for_selector("#judge:not([hidden])")
            page.keyboard.press("Enter")  # it has the focus
            page.wait_for_function("() => find('done-text').textContent.startsWith('The audit')")
            assert page.locator("#alpha-text").inner_text().startswith("α = ")
            assert page.locator("#range-now").bounding_box()["width"] > 20
        process.send_signal(signal.SIGINT)
        told = process.communicate(timeout=20)[1]
    assert process.returncode in (0, 3)  # 3: the audit contradicts the estimate
    assert "16 answers now (3 yes, 12 no, 1 unsure)" in told
    assert f"audit           {result_of(run)['audit']['sentence'][:20]}" in told
    assert read_state(run).answers == said
    assert len(read_state(run).looks) == 1


@needs_browser
def test_the_person_can_go_back_and_change_an_answer(browser, served):
    run, address = served
    with opened(browser, address) as page:
        first, second = press(page, "y"), press(page, "n")
        third = shown(page)
        press(page, "Backspace")
        assert page.locator("#row").inner_text() == f"Row {second:,}: answered no"
        assert page.locator("[aria-pressed=true]").inner_text().startswith("No")
        press(page, "ArrowLeft")
        assert shown(page) == first
        press(page, "n")
        press(page, "ArrowRight")
        assert shown(page) == third
    assert [read_state(run).answers[row] for row in (first, second)] == ["negative"] * 2
    assert third not in read_state(run).answers


@needs_browser
def test_two_people_get_different_rows_and_see_where_they_contradict(browser, served):
    run, address = served
    with opened(browser, address) as ann, opened(browser, address) as bob:
        assert shown(ann) != shown(bob)
        hers = [press(ann, "n") for _ in range(3)]
        his = [press(bob, "n") for _ in range(3)]
        assert not set(hers) & set(his)
        row = shown(bob)
        # Somebody answers the row that Bob is reading.
        assert ask(address, "POST", "answer", {"page": "x", "row": row, "answer": "y"})[0] == 200
        bob.keyboard.press("n")
        bob.wait_for_selector("#message:not([hidden])")
        assert "Somebody else has just answered" in bob.locator("#message").inner_text()
        assert read_state(run).answers[row] == "positive"
        bob.keyboard.press("k")
        bob.wait_for_selector("#message", state="hidden")
        assert read_state(run).answers[row] == "positive"
        press(bob, "Backspace")
        press(bob, "n")  # now he has seen it
        assert read_state(run).answers[row] == "negative"
        row = shown(bob)
        ask(address, "POST", "answer", {"page": "x", "row": row, "answer": "y"})
        bob.keyboard.press("n")
        bob.wait_for_selector("#message:not([hidden])")
        press(bob, "r")
        assert read_state(run).answers[row] == "negative"


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_reads_well(browser, served, width, scheme):
    _, address = served
    with opened(browser, address, width=width, scheme=scheme) as page:
        press(page, "n")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator(".long dd").inner_text().strip() == LONG.strip()
        assert "α" not in page.locator("body").inner_text()  # before the end
        nav = page.locator("nav").bounding_box()
        assert nav["y"] + nav["height"] == 900
        ink, paper = (
            page.evaluate(f"getComputedStyle(document.body).{name}")
            for name in ("color", "backgroundColor")
        )
        assert (brightness(ink) < brightness(paper)) == (scheme == "light")
        # Focus can be seen, and a button that has it works.
        page.keyboard.press("Tab")
        assert page.evaluate("getComputedStyle(document.activeElement).outlineWidth") == "3px"
        assert page.evaluate("document.activeElement.innerText").startswith("Yes")
        press(page, "Enter")
        assert page.locator("#progress").get_attribute("aria-live") == "polite"


@needs_browser
def test_more_rows_can_be_drawn_at_the_end_and_another_page_gets_them_too(
    browser, fitted, tmp_path
):
    run = fitted.save(tmp_path / "run")
    with serving(run, "--n", "3") as (address, _), opened(browser, address) as ann:
        for key in "nn":
            press(ann, key)
        with opened(browser, address) as bob:
            ann.keyboard.press("y")
            ann.wait_for_selector("#judge:not([hidden])")
            assert ann.locator("#alpha").is_hidden()
            ann.keyboard.press("m")
            ann.wait_for_selector("#card:not([hidden])")
            assert ann.locator("#progress").inner_text() == "3 of 6 rows answered: 1 yes, 2 no"
            assert shown(ann) != shown(bob)
            assert len(read_state(run).draws) == 2
            assert read_state(run).looks == ()


@needs_browser
def test_reasons_are_beside_the_row_without_scrolling(browser, tmp_path):
    wide = claims().assign(**{f"column {k}": range(400) for k in range(30)})
    with quick_plans():
        run = tb.fit(wide, "known", id="case", budget="fast").save(tmp_path / "run")
    said = "Is this claim fraudulent?"
    with serving(run, "--candidates", "--question", said) as (address, _):
        for width, height in ((1280, 800), (390, 780)):
            with opened(browser, address, width=width) as page:
                page.set_viewport_size({"width": width, "height": height})
                assert page.locator("#question").inner_text() == said
                top = page.locator("nav").bounding_box()["y"]
                for name in ("#question", "#why", "#cells dd >> nth=0"):
                    box = page.locator(name).bounding_box()
                    assert box["y"] + box["height"] < top, name
                assert " = " in page.locator("#why").inner_text()
                assert "reason_1" not in page.locator("#cells").inner_text()
    with serving(run, "--n", "5") as (address, _):
        assert json.loads(ask(address)[2])["question"] == said  # kept with the audits


def ask(address, method="GET", name="state?page=x", sent=None, **headers):
    """Status, headers and text of an answer, without a browser."""
    where = urlsplit(address)
    connection = HTTPConnection(where.hostname, where.port, timeout=10)
    body = None if sent is None else json.dumps(sent)
    named = {"Content-Type": "application/json"} if sent is not None else {}
    named |= {key.replace("_", "-"): value for key, value in headers.items()}
    connection.request(method, where.path + name, body, named)
    answer = connection.getresponse()
    found = answer.status, answer.headers, answer.read().decode()
    connection.close()
    return found


def test_only_this_page_on_this_machine_is_answered(served):
    run, address = served
    where = urlsplit(address)
    before = lines(run) if (run / ANSWERS).exists() else []
    sent = {"page": "x", "row": json.loads(ask(address, name="next?page=x")[2])["row"]["row"],
            "answer": "y"}  # fmt: skip
    plain = f"{where.scheme}://{where.netloc}/"
    for wrong in (plain, f"{plain}wrong/", f"{plain}{'x' * 32}/", f"{address[:-2]}/"):
        assert ask(wrong)[0] in (403, 404)
        assert ask(wrong, name="")[0] in (403, 404)
        assert ask(wrong, "POST", "answer", sent)[0] in (403, 404)
    for host in ("evil.example", f"evil.example:{where.port}", "127.0.0.1.evil.example", ""):
        assert ask(address, Host=host)[0] == 400
        assert ask(address, "POST", "answer", sent, Host=host)[0] == 400
    for headers in (
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site", "Origin": "http://127.0.0.1:1"},
        {"Content_Type": "text/plain"},
        {"Content_Type": "application/x-www-form-urlencoded"},
    ):
        assert ask(address, "POST", "answer", sent, **headers)[0] == 403
    assert ask(address, "OPTIONS", "answer")[0] == 405
    assert (lines(run) if (run / ANSWERS).exists() else []) == before
    assert ask(address, "POST", "answer", sent, Origin=plain.rstrip("/"))[0] == 200


def test_a_port_in_use_and_a_missing_extra_are_told_in_words(served, monkeypatch):
    run, address = served
    before = (run / "audit.json").read_bytes()
    for name, port, said in (
        ("", str(urlsplit(address).port), "TB008 port"),
        ("starlette", "0", 'TB011 topbin review needs starlette: pip install "topbin[review]"'),
    ):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, name, None)
            done = CliRunner().invoke(main, ["review", str(run), "--port", port, "--where", "top"])
        assert (done.exit_code, said in done.output) == (1 if name else 2, True), done.output
    assert (run / "audit.json").read_bytes() == before  # nothing was drawn


def test_what_does_not_fit_is_refused_in_words(served):
    _, address = served
    assert ask(address, "POST", "answer", {"page": "x", "row": 10**6, "answer": "y"})[0] == 422
    assert "TB117" in ask(address, name="row?row=1000000")[2]
    for sent in ({}, [], 3, {"row": "x", "answer": "y", "page": "x"}):
        assert ask(address, "POST", "answer", sent)[0] == 400
    assert ask(address, name="nothing")[0] == 400


def test_the_page_is_strict(served):
    _, address = served
    for name in ("", "review.css", "review.js", "state?page=x"):
        status, headers, _ = ask(address, name=name)
        assert status == 200
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["Cache-Control"] == "no-store"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert "Set-Cookie" not in headers


def test_an_audit_is_blind(served):
    run, address = served
    texts = [ask(address, name=name)[2] for name in ("", "review.js", "next?page=z")]
    found = json.loads(texts[-1])["row"]
    assert found.keys() == {"row", "cells", "why", "near", "answer", "pictures"}
    assert found["pictures"] == found["why"] == found["near"] == []
    assert [one["name"] for one in found["cells"]] == ["case", "amount", "town", "day", "note"]
    state = json.loads(ask(address)[2])
    assert state.keys() == {"run", "where", "question", "learns", "progress", "judged"}
    assert state["judged"] is None  # α comes when all rows have an answer
    for text in (*texts, json.dumps(state)):
        assert not {"score", "probability", "rank", "stratum"} & set(text.replace('"', " ").split())
    ours = pd.read_csv(run / "candidates.csv")
    values = {f"{p:g}" for p in ours["probability"] if 0 < p < 1}
    assert not values & {one["text"] for one in found["cells"]}
