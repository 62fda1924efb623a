"""Every field of every stored file, with every wrong type, through the verbs that read it.

Nothing but coded errors: no traceback, no hang, no connection. Beside the fields in turn there are
random changes that differ from day to day; a failure names the day that repeats it. Every forgery
is read; of those that the reader lets pass, a few go through the verbs each day, and with
TOPBIN_CALLS=1000000 all of them through every verb.
"""

import copy
import itertools
import json
import os
import random
import shutil
import signal
import tomllib
from contextlib import contextmanager

import pandas as pd
import pytest
import tomli_w
from claims import claims, small_run
from click.testing import CliRunner
from coded import CODES, attempt
from forge import forge
from fuzz_folders import DAY, spoiled, spoiled_bytes
from received import FILE, change_settings, file_run

import topbin as tb
from topbin.cli import main
from topbin.core.options import options
from topbin.job import files
from topbin.job import watch as topbin_watch
from topbin.job.audits.answers import read_state, record_answers
from topbin.store import models
from topbin.store.runs import SCHEMA, _sum_of, read_asked, read_result

TIMES = 200  # random changes of each file; most are refused by the first reader
CALLS = int(os.environ.get("TOPBIN_CALLS", 10))  # of verbs, for each file
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
    "list": ("report", "run", "--candidates", 5),
    "score": ("score", "run", "new.csv", "-o", "s.csv", "--force"),
    "resume": ("fit", "--config", "run/run.toml", "-o", "run", "--resume"),
    "config": ("fit", "--config", "run/run.toml", "--dry-run"),
    "watch": ("watch", "run", "new.csv", "--time", "day", "--every", "month", "-o", "watch"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fields")
    run = file_run(folder)
    small_run(folder / "other").joinpath("unlabeled.parquet").rename(folder / "rows.parquet")
    drawn = tb.audit(run).draw(5)
    drawn.assign(is_positive="no").to_csv(folder / "filled.csv", index=False)
    record_answers(run, dict.fromkeys(drawn["row"].tolist()[:3], "yes"))
    tb.audit(run).judge()
    (run / "report.html").unlink()
    claims(5).drop(columns="known").to_csv(folder / "new.csv", index=False)
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch, listener):
    monkeypatch.setattr(files, "page", lambda *given: "")  # the pictures are not what is tried here
    monkeypatch.setattr("topbin.show.review.serve", lambda app, taken: None)
    shutil.copytree(made, tmp_path / "here")
    change_settings(tmp_path / "here" / "run", source=[FILE])
    monkeypatch.chdir(tmp_path / "here")
    yield tmp_path / "here"
    _, seen = listener
    assert not seen


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
    """Write each forgery and read it; of those that the reader lets pass, verbs get to see some.

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
    tried = list(itertools.product(passed, verbs))
    tried = rng.sample(tried, min(CALLS, len(tried)))
    tried += zip(rng.sample(refused, len(verbs)), verbs, strict=True)
    for (said, content), verb in tried:
        write(content)
        call(verb, (name, said))


def test_every_field_of_a_result(folder, monkeypatch):
    run = folder / "run"
    content = json.loads((run / "result.json").read_text())
    keep_models(monkeypatch)
    verbs = ["inspect", "plan", "draw", "judge", "review", "candidates", "report", "list", "score"]

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


def test_every_field_of_a_watch(folder, monkeypatch):
    keep_models(monkeypatch)
    new = pd.read_csv("new.csv", parse_dates=["day"])
    assert call("watch", "the first time").exit_code == 0
    path = folder / "watch" / "watch.json"
    content = json.loads(path.read_text())
    (new.assign(day=new["day"] + pd.DateOffset(years=3))).to_csv("new.csv", index=False)
    whole = topbin_watch._whole(tb.load(folder / "run").model)
    names = ("run", "time", "every", "risk", "confidence")
    asked = topbin_watch.WatchState(**{name: content[name] for name in names})

    def write(state):
        path.write_text(json.dumps(state), encoding="utf-8")

    def read():
        return topbin_watch.read_state(folder / "watch", asked, whole)

    try_all(forgeries(content, "watch"), write, read, ["watch"], "watch.json")


def test_every_field_of_an_encoder(folder):
    model = folder / "run" / "model"
    content = json.loads((model / "encoder.json").read_text())

    def write(stored):
        forge(model, "encoder.json", json.dumps(stored).encode())

    def read():
        return models.load_encoder(model)

    try_all(forgeries(content, "encoder"), write, read, ["score"], "encoder.json")


READ_BY = {
    "candidates.csv": ["report", "candidates", "judge", "list"],
    "filled.csv": ["judge"],
    "events.jsonl": ["resume", "inspect"],
    "unlabeled.parquet": ["draw", "review", "list"],
    "probabilities.parquet": ["judge", "score", "report"],
    "proxies.parquet": ["judge", "draw"],
}


@pytest.mark.parametrize("name", READ_BY)
def test_tables_of_a_run(folder, name, monkeypatch):
    keep_models(monkeypatch)
    path = folder / name if name == "filled.csv" else folder / "run" / name
    if name == "events.jsonl":
        path.write_text('{"stage": "first", "done": 0}\n')
    if name == "unlabeled.parquet":
        shutil.copyfile(folder / "rows.parquet", path)
    if name == "proxies.parquet":
        rows = len(pd.read_parquet(folder / "run" / "probabilities.parquet"))
        pd.DataFrame({"p": [0.5, 1.0] * rows}).head(rows).to_parquet(path)
    content = path.read_bytes()
    rng = random.Random(f"{DAY} {name}")
    forged = [b"", b"\xff\xfe", b"[" * 100_000, b"row\n", content * 2]
    forged += [spoiled_bytes(content, rng) for _ in range(TIMES)]
    if name != "events.jsonl":
        forged += spoiled_frames(path)
    tried = list(itertools.product(forged, READ_BY[name]))
    for text, verb in rng.sample(tried, min(2 * CALLS, len(tried))):
        path.write_bytes(text)
        call(verb, (name, text[:200]))


def spoiled_frames(path):
    """The files of a table with a column missing, or full of one wrong value."""
    is_csv = path.suffix == ".csv"
    frame = pd.read_csv(path) if is_csv else pd.read_parquet(path)
    frames = [frame.drop(columns=column) for column in frame]
    frames += [frame.assign(**{c: w}) for c in frame for w in ("x", -1, 1e300, None)]
    return [
        each.to_csv(index=False).encode() if is_csv else each.to_parquet(index=False)
        for each in frames
    ]


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
