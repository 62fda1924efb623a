"""Every field of every stored file, with every wrong type, through the verbs that read it.

Nothing but coded errors: no traceback, no hang, no connection. Each day every field gets some of
the wrong types, and there are random changes; a failure names the day that repeats it. All of these
forgeries are read, and a few go through the verbs. With `make fuzz` every field gets every wrong
type, and all forgeries go through every verb that reads the file (see `full_run`).
"""

import copy
import itertools
import json
import os
import random
import shutil
import signal
import tomllib
import traceback
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import tomli_w
from claims import claims, small_run
from click.testing import CliRunner
from coded import CODES, attempt
from forge import forge
from full_run import CALLS, IS_ALL, in_turn, seen
from fuzz_folders import DAY, spoiled, spoiled_bytes
from make_api import answer_schema
from received import FILE, change_settings, file_run
from schema_example import filled

import topbin as tb
from topbin.cli import main
from topbin.core.options import options
from topbin.job import files
from topbin.job import watch as topbin_watch
from topbin.job.audits.answers import read_state, record_answers
from topbin.learn.explain import KnownPositives
from topbin.store import models
from topbin.store.runs import SCHEMA, _sum_of, read_asked, read_known, read_result, write_known

TIMES = 200 if IS_ALL else 60  # random changes of each file; most are refused by the first reader
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
    "fresh watch": ("watch", "run", "new.csv", "--time", "day", "--every", "month", "-o", "fresh"),
    "proxy": ("audit", "run", "--proxy", "amount"),
    "export": ("export", "run", "--mlflow", "served", "--force"),
    "refit": ("audit", "run", "--refit"),
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
    shutil.rmtree("fresh", ignore_errors=True)
    with in_time():
        found = CliRunner().invoke(main, [str(arg) for arg in VERBS[verb]])
    if not (found.exception is None or isinstance(found.exception, SystemExit)):
        raise AssertionError(f"{verb}: {said} (day {DAY})") from found.exception
    if found.exit_code not in (0, 3):
        is_coded = found.stderr[:5] in CODES or found.stderr.startswith("Usage")
        assert is_coded, (verb, said, found.stderr)
    seen["read" if found.exit_code in (0, 3) else "refused"] += 1
    return found


def call_each(tried, write):
    """Write each forgery and call the verb; all failures are shown, up to 20."""
    failures = []
    for verb, content, said in in_turn(tried):
        write(content)
        try:
            call(verb, said)
        except AssertionError as error:
            failures.append("".join(traceback.format_exception(error))[-3000:])
        assert len(failures) < 20, "\n\n".join(failures)
    assert not failures, "\n\n".join(failures)


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


def some_wrong(place):
    """Wrong values for a field: five of all each day, others for each field."""
    return WRONG if IS_ALL else random.Random(f"{DAY} {place}").sample(WRONG, 5)


def forgeries(value, name, alike=()):
    """Every field missing, with wrong types, one field too many, and random changes.

    Fields that are `alike` have the type of another one, so that they are tried as a whole.
    """
    for place in fields(value):
        if place[0] in alike and place[1:]:
            continue
        yield place, without(value, place)
        for wrong in some_wrong(f"{name} {place}"):
            yield (*place, wrong), changed(value, place, wrong)
    yield "unknown", {**value, "unknown": 1} if isinstance(value, dict) else [*value, 1]
    for i in range(TIMES):
        yield i, spoiled(value, random.Random(f"{DAY} {name} {i}"))


def try_all(forged, write, reader, verbs, name):
    """Write each forgery and read it; verbs get to see some of them, or with TOPBIN_CALLS=all all.

    All verbs begin with this reader, so what it refuses none of them gets to see: of these, one for
    each verb is enough every day.
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
    seen["forgeries"] += len(passed) + len(refused)
    rng = random.Random(f"{DAY} {name}")
    if IS_ALL:  # first each with one verb, so that a limit of time leaves no forgery out
        rng.shuffle(passed)
        turns = [
            zip(passed, itertools.islice(itertools.cycle(verbs), k, None), strict=False)
            for k in range(len(verbs))
        ]
        tried = [*itertools.chain(turns[0], itertools.product(refused, verbs), *turns[1:])]
    else:
        tried = list(itertools.product(passed, verbs))
        tried = rng.sample(tried, min(CALLS, len(tried)))
        tried += zip(rng.sample(refused, len(verbs)), verbs, strict=True)
    call_each([(verb, content, (name, said)) for (said, content), verb in tried], write)


def test_every_field_of_a_result(folder, monkeypatch):
    run = folder / "run"
    content = json.loads((run / "result.json").read_text())
    keep_models(monkeypatch)
    verbs = ["inspect", "plan", "draw", "judge", "review", "candidates", "report", "list", "score"]
    verbs += ["proxy", "export", "fresh watch", "top"]

    def write(result):
        stated = {"schema": SCHEMA, **result}
        stated.pop("sum", None)
        text = json.dumps({**stated, "sum": _sum_of(stated)})  # which fits
        (run / "result.json").write_text(text, encoding="utf-8")

    forged = list(forgeries(content, "result", alike=("first", "methods")))
    # Fields that this run left empty, filled with what the schema allows.
    content["first"], content["methods"] = content["estimate"], [content["estimate"]]
    known = set(map(repr, fields(content)))
    for other in (("data", "image"), ("labeling", "novel"), ()):  # runs on images, with classes
        whole = filled(answer_schema(), content, posterior=content["estimate"]["posterior"])
        for place in {("data", "image"), ("labeling", "novel")} - {other}:
            whole = changed(whole, place, None)
        write(whole)
        read_result(run)
        more = forgeries(whole, f"whole {other}", alike=("first", "methods"))
        new = [(said, one) for said, one in more if is_new(said, known, other)]
        forged += new if IS_ALL else random.Random(f"{DAY} {other}").sample(new, 50)
    try_all(forged, write, lambda: read_result(run), verbs, "result.json")


def is_new(said, known, within):
    """Whether a forgery is random, or of a field within this one that is not known."""
    if not isinstance(said, tuple):
        return True
    return said[: len(within)] == within and not {repr(said), repr(said[:-1])} & known


def keep_models(monkeypatch):
    """Load each model once: it stays as it is, and loading is most of the time."""
    known, build = {}, models.OpenedModel.model

    def once(opened, *given):
        key = str(opened.folder)
        if key not in known:
            known[key] = build(opened, *given)
        return copy.copy(known[key])

    monkeypatch.setattr(models.OpenedModel, "model", once)


def test_every_field_of_the_settings(folder):
    run = folder / "run"
    before = tomllib.loads((run / "run.toml").read_text())
    content = {**{each.name: each.shown_default or "x" for each in options()}, **before}

    def write(settings):
        (run / "run.toml").write_text(tomli_w.dumps(settings), encoding="utf-8")

    forged = [(name, {**before, name: wrong}) for name in content for wrong in some_wrong(name)]
    forged += list(forgeries(before, "settings"))
    verbs = ["draw", "config", "review", "resume", "list", "proxy", "refit"]
    try_all(forged, write, lambda: read_asked(run), verbs, "run.toml")


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

    verbs = ["draw", "judge", "review", "top", "candidates", "proxy", "refit", "report"]
    try_all(forgeries(whole, name), write, lambda: read_state(run), verbs, name)


def test_every_field_of_a_watch(folder, monkeypatch):
    keep_models(monkeypatch)
    new = pd.read_csv("new.csv", parse_dates=["day"])
    assert call("watch", "the first time").exit_code == 0
    path = folder / "watch" / "watch.json"
    content = json.loads(path.read_text())
    (new.assign(day=new["day"] + pd.DateOffset(years=3))).to_csv("new.csv", index=False)
    whole = topbin_watch._fit_scores(tb.load(folder / "run").model)
    names = ("run", "time", "every", "risk", "confidence")
    asked = topbin_watch.WatchState(**{name: content[name] for name in names})

    def write(state):
        path.write_text(json.dumps(state), encoding="utf-8")

    def read():
        return topbin_watch.read_watch(folder / "watch", asked, whole)

    try_all(forgeries(content, "watch"), write, read, ["watch"], "watch.json")


def test_every_field_of_an_encoder(folder):
    model = folder / "run" / "model"
    content = json.loads((model / "encoder.json").read_text())

    def write(stored):
        forge(model, "encoder.json", json.dumps(stored).encode())

    def read():
        return models.load_encoder(model)

    verbs = ["score", "export", "fresh watch", "refit"]
    try_all(forgeries(content, "encoder"), write, read, verbs, "encoder.json")


def test_every_field_of_known_positives(folder, monkeypatch):
    from topbin.store import scorer

    run = folder / "run"
    write_known(run, KnownPositives(("a", "b"), np.ones((2, 3), "float32"), 0.5))
    content = json.loads((run / "known.json").read_text())
    vectors = SimpleNamespace(vector_columns=["x", "y", "z"])
    monkeypatch.setattr(scorer, "read_known", lambda run, features: read_known(run, vectors))

    def write(stored):
        (run / "known.json").write_text(json.dumps(stored), encoding="utf-8")

    verbs = ["score", "export", "fresh watch"]
    forged = forgeries(content, "known")
    try_all(forged, write, lambda: read_known(run, vectors), verbs, "known.json")


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
    tried = rng.sample(tried, min(2 * CALLS, len(tried)))
    seen["forgeries"] += len(forged)
    call_each([(verb, text, (name, text[:200])) for text, verb in tried], path.write_bytes)


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


FILES = ("run.toml", "result.json", "audit.json", "answers.jsonl", "candidates.csv", "events.jsonl",
         "probabilities.parquet", "proxies.parquet", "unlabeled.parquet", "known.json", ".lock",
         "report.html", "model/model.json", "model/SHA256SUMS", "model/encoder.json",
         "model/arrays.npz")  # fmt: skip


@pytest.mark.parametrize("kind", ["pipe", "endless", "out", "folder", "loop"])
def test_what_is_not_a_regular_file(folder, kind):
    """A file of the run is a pipe, a link to an endless device, to a file of ours, to itself."""
    make = {
        "pipe": os.mkfifo,
        "endless": lambda path: path.symlink_to("/dev/zero"),
        "out": lambda path: path.symlink_to(folder / "secret.csv"),
        "folder": os.mkdir,
        "loop": lambda path: path.symlink_to(path),
    }[kind]
    (folder / "secret.csv").write_text("secret\n")
    shutil.copytree("run", "whole")
    tried = list(itertools.product(FILES, VERBS))
    rng = random.Random(f"{DAY} {kind}")
    tried = rng.sample(tried, min(CALLS, len(tried)))

    def write(name):
        shutil.rmtree("run")
        shutil.copytree("whole", "run")
        (folder / "run" / name).unlink(missing_ok=True)
        make(folder / "run" / name)

    seen["forgeries"] += len(FILES)
    call_each([(verb, name, (kind, name)) for name, verb in tried], write)
    assert (folder / "secret.csv").read_text() == "secret\n"
