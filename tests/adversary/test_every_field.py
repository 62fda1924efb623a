"""Every field of every stored file, with every wrong type, through the verbs that read it.

Nothing but coded errors: no traceback, no hang. Beside the fields in turn there are random changes
that differ from day to day; a failure names the day that repeats it.
"""

import copy
import json
import random
import shutil
import signal
import time
import tomllib
from contextlib import contextmanager

import pandas as pd
import pytest
import tomli_w
from claims import claims
from click.testing import CliRunner
from coded import CODES, attempt
from forge import forge
from fuzz_folders import spoiled, spoiled_bytes
from received import FILE, change_settings, file_run

import topbin as tb
from topbin.cli import main
from topbin.core.options import options
from topbin.job import files
from topbin.job.audits.answers import read_state, record_answers
from topbin.store import models
from topbin.store.runs import SCHEMA, _sum_of, read_asked, read_result

DAY = time.strftime("%Y-%m-%d")
TIMES = 200  # random changes of each file; most are refused by the first reader
CALLS = 10  # of verbs, for as many of the forgeries that the first reader lets pass
SECONDS = 60  # for one verb, also on a busy machine
WRONG = (None, True, -1, 2**63, 10**30, 1e308, "", "../\0", [], [[]], {}, {"a": 1}, "9" * 5000)
VERBS = {
    "inspect": ("inspect", "run"),
    "plan": ("audit", "run", "--plan", "--width", 0.1),
    "draw": ("audit", "run", "--n", 3, "-o", "a.csv", "--force"),
    "top": ("audit", "run", "--n", 3, "--where", "top", "-o", "a.csv", "--force"),
    "judge": ("audit", "run", "--labels", "filled.csv", "--force"),
    "review": ("review", "run", "--n", 3, "--no-browser"),
    "candidates": ("review", "run", "--candidates", "--no-browser"),
    "report": ("report", "run"),
    "score": ("score", "run", "new.csv", "-o", "s.csv", "--force"),
    "resume": ("fit", "--config", "run/run.toml", "-o", "run", "--resume"),
    "config": ("fit", "--config", "run/run.toml", "--dry-run"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fields")
    run = file_run(folder)
    drawn = tb.audit(run).draw(5)
    drawn.assign(is_positive="no").to_csv(folder / "filled.csv", index=False)
    record_answers(run, dict.fromkeys(drawn["row"].tolist()[:3], "yes"))
    tb.audit(run).judge()
    (run / "report.html").unlink()
    claims(5).drop(columns="known").to_csv(folder / "new.csv", index=False)
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "page", lambda *given: "")  # the pictures are not what is tried here
    monkeypatch.setattr("topbin.show.review.serve", lambda app, taken: None)
    shutil.copytree(made, tmp_path / "here")
    change_settings(tmp_path / "here" / "run", source=[FILE])
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@contextmanager
def in_time():
    """A hang is a failure."""

    def stop(*_):
        raise AssertionError(f"more than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def call(verb, said):
    """What a verb said of a forged folder: an answer, or a coded error."""
    with in_time():
        found = CliRunner().invoke(main, [str(arg) for arg in VERBS[verb]])
    if not (found.exception is None or isinstance(found.exception, SystemExit)):
        raise AssertionError(f"{verb}: {said} (day {DAY})") from found.exception
    if found.exit_code not in (0, 3):
        is_coded = found.stderr[:5] in CODES or found.stderr.startswith("Usage")
        assert is_coded, (verb, said, found.stderr)
    return found


def fields(value, place=()):
    """Where every field is; of the items of a list, the first stands for all."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:1])
    for key, item in items:
        yield (*place, key)
        if isinstance(item, dict | list):
            yield from fields(item, (*place, key))


def changed(value, place, wrong):
    value = copy.deepcopy(value)
    holder = value
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = wrong
    return value


def without(value, place):
    value = copy.deepcopy(value)
    holder = value
    for key in place[:-1]:
        holder = holder[key]
    del holder[place[-1]]
    return value


def forgeries(value, name, alike=()):
    """Every field missing, with every wrong type, one field too many, and random changes.

    Fields that are `alike` have the type of another one, so that they are tried as a whole.
    """
    for place in fields(value):
        if place[0] in alike and place[1:]:
            continue
        yield place, without(value, place)
        for wrong in WRONG:
            yield (*place, wrong), changed(value, place, wrong)
    yield "unknown", {**value, "unknown": 1} if isinstance(value, dict) else [*value, 1]
    for i in range(TIMES):
        yield i, spoiled(value, random.Random(f"{DAY} {name} {i}"))


def try_all(forged, write, reader, verbs, name):
    """Write each forgery and read it; some that the reader lets pass go through a verb each.

    All verbs begin with this reader, so what it refuses none of them gets to see.
    """
    passed, refused = [], []
    for said, content in forged:
        try:
            write(content)
        except (UnicodeEncodeError, TypeError, ValueError):
            continue  # no such file can be written
        with in_time():
            found = attempt(reader)
        (refused if found is None else passed).append((said, content))
    assert refused
    rng = random.Random(f"{DAY} {name}")
    tried = [*rng.sample(passed, min(CALLS, len(passed))), *rng.sample(refused, len(verbs))]
    for i, (said, content) in enumerate(tried):
        write(content)
        call(verbs[i % len(verbs)], (name, said))


def test_every_field_of_a_result(folder, monkeypatch):
    run = folder / "run"
    content = json.loads((run / "result.json").read_text())
    keep_models(monkeypatch)
    verbs = ["inspect", "plan", "draw", "judge", "review", "candidates", "report", "score"]

    def write(result):
        stated = {"schema": SCHEMA, **result}
        stated.pop("sum", None)
        text = json.dumps({**stated, "sum": _sum_of(stated)})  # which fits
        (run / "result.json").write_text(text, encoding="utf-8")

    forged = forgeries(content, "result", alike=("first", "methods"))
    try_all(forged, write, lambda: read_result(run), verbs, "result.json")


def keep_models(monkeypatch):
    """Load each model once: it stays as it is, and loading is most of the time."""
    known, load = {}, models.load

    def once(folder, **given):
        key = str(folder)
        if key not in known:
            known[key] = load(folder, **given)
        return copy.copy(known[key])

    for room in ("job.audits.rows", "job.audits.audit", "job.files", "store.scorer"):
        monkeypatch.setattr(f"topbin.{room}.load", once)


def test_every_field_of_the_settings(folder):
    run = folder / "run"
    before = tomllib.loads((run / "run.toml").read_text())
    content = {**{each.name: each.shown_default or "x" for each in options()}, **before}

    def write(settings):
        (run / "run.toml").write_text(tomli_w.dumps(settings), encoding="utf-8")

    forged = [(name, {**before, name: wrong}) for name in content for wrong in WRONG]
    forged += list(forgeries(before, "settings"))
    try_all(forged, write, lambda: read_asked(run), ["draw", "config", "review"], "run.toml")


@pytest.mark.parametrize("name", ["audit.json", "answers.jsonl"])
def test_every_field_of_draws_and_answers(folder, name, monkeypatch):
    run = folder / "run"
    keep_models(monkeypatch)
    lines = (run / name).read_text().splitlines()
    whole = json.loads("".join(lines)) if name == "audit.json" else list(map(json.loads, lines))

    def write(content):
        is_lines = name == "answers.jsonl"
        texts = map(json.dumps, content) if is_lines else [json.dumps(content)]
        (run / name).write_text("".join(f"{text}\n" for text in texts))

    verbs = ["draw", "judge", "review", "top", "candidates"]
    try_all(forgeries(whole, name), write, lambda: read_state(run), verbs, name)


def test_every_field_of_an_encoder(folder):
    model = folder / "run" / "model"
    content = json.loads((model / "encoder.json").read_text())

    def write(stored):
        forge(model, "encoder.json", json.dumps(stored).encode())

    def read():
        return models.load_encoder(model)

    try_all(forgeries(content, "encoder"), write, read, ["score"], "encoder.json")


@pytest.mark.parametrize("name", ["candidates.csv", "filled.csv", "events.jsonl"])
def test_tables_of_a_run(folder, name, monkeypatch):
    keep_models(monkeypatch)
    path = folder / name if name == "filled.csv" else folder / "run" / name
    if name == "events.jsonl":
        path.write_text('{"stage": "first", "done": 0}\n')
    content = path.read_bytes()
    verbs = {"filled.csv": ["judge"], "events.jsonl": ["resume", "inspect"]}
    verbs = verbs.get(name, ["report", "candidates", "judge"])
    forged = [b"", b"\xff\xfe", b"[" * 100_000, b"row\n", content * 2]
    if name != "events.jsonl":
        frame = pd.read_csv(path)
        first = list(frame)[:4]
        texts = [frame.drop(columns=column) for column in first]
        texts += [frame.assign(**{c: w}) for c in first for w in ("x", -1, 1e300, None)]
        forged += [text.to_csv(index=False).encode() for text in texts]
    rng = random.Random(f"{DAY} {name}")
    forged += [spoiled_bytes(content, rng) for _ in range(CALLS)]
    for i, text in enumerate(rng.sample(forged, 2 * CALLS) if len(forged) > 2 * CALLS else forged):
        path.write_bytes(text)
        call(verbs[i % len(verbs)], (name, text[:200]))


@pytest.mark.parametrize(
    "text",
    ["", "[]", "[" * 100_000, '{"shape": [1e999, 1, 1]}', '{"form": 1, "shape": 3, "files": []}',
     '{"shape": [1, 2], "files": [[]], "form": 1}', "\0"],
)  # fmt: skip
def test_what_is_kept_of_images(folder, text):
    from topbin.data.images.cache import ABOUT, _shape_before, open_stored

    (folder / "run" / "images").mkdir()
    (folder / "run" / "images" / ABOUT).write_text(text)
    assert open_stored(folder / "run" / "images") is None
    assert _shape_before(folder / "run" / "images", [], None) is None
    call("report", text)
