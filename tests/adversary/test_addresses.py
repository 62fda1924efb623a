"""No verb opens an address, or a file elsewhere on the disk, because a received folder names it."""

import ctypes
import itertools
import os
import random
import sys

import pytest
from claims import claims
from click.testing import CliRunner
from coded import CODES, fails
from full_run import IS_ALL, in_turn
from full_run import seen as seen_by_us
from fuzz_folders import DAY
from received import (
    FILE,
    change_data,
    change_encoder,
    change_settings,
    file_run,
    forge_settings,
    vouch,
)

import topbin as tb
from topbin.cli import main
from topbin.core.options import Names, options
from topbin.job import files
from topbin.job.audits.answers import record_answers

ADDRESSES = (
    "s3://bucket/x.parquet",
    "s3://bucket/*.parquet",
    "s3://key:secret@bucket/x.parquet?endpoint_override=HOST&scheme=http",
    "gs://bucket/x.parquet",
    "gs://anonymous@bucket/x.parquet?endpoint_override=HOST&scheme=http",
    "http://HOST/x.parquet",
    "https://HOST/x.parquet",
    "hdfs://HOST/x.parquet",
    "abfs://box@HOST/x.parquet",
    "viewfs://HOST/x.parquet",
    "hf://HOST/x.parquet",
    "postgresql://HOST/db#claims",
    "file://HOST/x.parquet",
    r"\\HOST\share\x.parquet",
    "//HOST/share/x.parquet",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run with an answer, so that every verb has something to do."""
    folder = tmp_path_factory.mktemp("received")
    run = file_run(folder)
    rows = tb.audit(run).draw(5)["row"].tolist()
    record_answers(run, {rows[0]: "yes", rows[1]: "no"})
    claims(20).drop(columns="known").to_csv(folder / "new.csv", index=False)
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    import shutil

    monkeypatch.setattr(files, "page", lambda *given: "")  # the pictures are not what is tried here
    monkeypatch.setattr("topbin.show.review.serve", lambda app, taken: taken.close())
    shutil.copytree(made, tmp_path / "received")
    change_settings(tmp_path / "received" / "run", source=[str(made / FILE)])
    monkeypatch.chdir(tmp_path / "received")
    return tmp_path / "received"


def call(*args):
    found = CliRunner().invoke(main, [str(arg) for arg in args])
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return found


VERBS = {
    "audit": ("audit", "run", "--n", 4, "-o", "a.csv", "--force"),
    "refit": ("audit", "run", "--refit"),
    "review": ("review", "run", "--n", 4, "--where", "top", "--no-browser"),
    "candidates": ("review", "run", "--candidates", "--no-browser"),
    "score": ("score", "run", "new.csv", "-o", "s.csv", "--force"),
    "report": ("report", "run"),
    "inspect": ("inspect", "run"),
    "resume": ("fit", "--config", "run/run.toml", "-o", "run", "--resume"),
    "plan": ("audit", "run", "--plan", 0.1),
    "list": ("report", "run", "--candidates", 5),
    "proxy": ("audit", "run", "--proxy", "amount"),
    "watch": ("watch", "run", "new.csv", "--time", "day", "-o", "watch"),
    "export": ("export", "run", "--mlflow", "served", "--force"),
    "config": ("fit", "--config", "run/run.toml", "--dry-run"),
}
READ_ROWS = (
    "audit",
    "refit",
    "review",
    "resume",
    "list",
    "proxy",
)  # verbs that need the rows of the run again


def forged(run, address):
    """The folder with this address in every field that could name one."""
    named = {"embeddings": address, "encoder": address, "image_root": address}
    change_settings(run, source=[address], scheduler=address, master=address, **named)
    told = {"option": "source", "path": address, "size": 9, "sum": "0" * 64}
    change_data(run, source=[address], files=[told])
    change_encoder(run, encoder=address)


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_verb_opens_an_address_that_a_folder_names(folder, listener, address):
    host, seen = listener
    address = address.replace("HOST", host)
    run = folder / "run"
    forged(run, address)
    for name, verb in VERBS.items():
        found = call(*verb)
        if name in READ_ROWS:
            assert found.stderr.startswith("TB151"), (name, found.stderr)
            assert address in found.stderr
    with fails("TB151", address, f"source={address!r}"):
        tb.audit(run).draw(4)
    with fails("TB151", "not on this machine"):
        tb.load(run).score(claims(20))
    with fails("TB151", "not on this machine"):
        tb.watch(run, claims(20), time="day", every="month")
    two = {"positives": [address], "unlabeled": [address], "label": None, "id": None}
    change_settings(run, source=None, **two)
    for name in READ_ROWS:
        found = call(*VERBS[name])
        assert found.stderr.startswith("TB151"), (name, found.stderr)
        assert "--positives" in found.stderr
    assert not seen


TEXTS = [each for each in options() if each.plain in (str, Names)]  # what could be an address
IN_RESULT = ("label", "positive", "classes", "id", "group", "time", "weight", "together")


def name_only(run, field, address):
    """The folder with this address in one field, and all others as they were."""
    place, _, name = field.partition(".")
    if place == "run":
        is_list = next(each.plain is Names for each in TEXTS if each.name == name)
        change_settings(run, **{name: [address] if is_list else address})
    elif name == "root":
        change_data(run, image={"column": "town", "shape": [3, 8, 8], "root": address})
    elif name == "encoder":
        change_encoder(run, encoder=address)
    else:
        change_data(run, **{name: [address] if name == "source" else address})


def test_no_field_alone_makes_a_verb_open_an_address(folder, listener):
    """Every field that can be text, each alone; a few of them each day, all with `make fuzz`."""
    host, seen = listener
    places = [f"run.{each.name}" for each in TEXTS]
    places += [f"result.{name}" for name in (*IN_RESULT, "source", "root")] + ["model.encoder"]
    tried = list(itertools.product(places, ADDRESSES, VERBS))
    rng = random.Random(DAY)
    tried = rng.sample(tried, len(tried) if IS_ALL else 40)
    seen_by_us["forgeries"] += len({(field, address) for field, address, _ in tried})
    kept = {path: path.read_bytes() for path in (folder / "run").rglob("*") if path.is_file()}
    for field, address, verb in in_turn(tried):
        for path, content in kept.items():
            if path.suffix in (".toml", ".json") or path.name == "SHA256SUMS":
                path.write_bytes(content)
        name_only(folder / "run", field, address.replace("HOST", host))
        found = call(*VERBS[verb])
        said = found.stderr
        seen_by_us["read" if found.exit_code in (0, 3) else "refused"] += 1
        assert not seen, (field, address, verb, seen)
        assert not said or said[:5] in CODES or said.startswith("Usage") or "run" in said, said


def test_an_address_that_the_user_names_is_opened(folder, listener):
    _, seen = listener
    pytest.importorskip("pyarrow")
    assert call("audit", "run", "s3://bucket/x.parquet", "--n", 4).stderr.startswith("TB102")
    assert seen


def test_images_of_a_received_run_are_not_looked_for_elsewhere(folder, listener):
    host, seen = listener
    shape = {"column": "town", "shape": [3, 8, 8]}
    for root in (f"http://{host}/", rf"\\{host}\share", "/"):
        change_data(folder / "run", image={**shape, "root": root})
        assert call(*VERBS["audit"]).stderr.startswith("TB114")
        for name in ("candidates", "report", "inspect"):
            assert call(*VERBS[name]).exit_code == 0
    assert not seen


# --- files of this machine ---


@pytest.fixture
def opened():
    """How often the file was opened since the last call, by any library: the system counts."""
    if sys.platform != "linux":
        pytest.skip("the system does not tell")
    system = ctypes.CDLL(None, use_errno=True)
    handle = system.inotify_init1(os.O_NONBLOCK)
    events = 0x20  # IN_OPEN

    def watch(path):
        assert system.inotify_add_watch(handle, os.fsencode(path), events) >= 0

        def count():
            try:
                return len(os.read(handle, 1 << 16)) // 16
            except BlockingIOError:
                return 0

        return count

    yield watch
    os.close(handle)


def test_files_that_the_run_was_made_from_need_no_name(folder):
    assert call(*VERBS["audit"]).exit_code == 0
    assert call(*VERBS["refit"]).exit_code == 0
    assert tb.audit("run").draw(7).shape[0] == 7


def test_a_file_of_another_size_is_not_opened(folder, tmp_path, opened):
    secret = tmp_path / "secret.parquet"
    claims(300).to_parquet(secret)
    count = opened(secret)
    change_settings(folder / "run", source=[str(secret)])
    for files_told in ("none", "other"):
        if files_told == "other":
            vouch(folder / "run", secret, content=(folder / FILE).read_bytes())
        else:
            change_data(folder / "run", files=[])
        code = {"none": "TB151", "other": "TB117"}[files_told]
        for name, verb in VERBS.items():
            if name not in ("resume", "config"):  # in which the user names a file of settings
                found = call(*verb)
                assert name not in READ_ROWS or found.stderr.startswith(code), (name, found.stderr)
    assert count() == 0
    secret.read_bytes()
    assert count() == 1  # so it would have been seen


def test_a_file_of_the_same_size_is_summed_and_not_read(folder, tmp_path, opened):
    secret = tmp_path / "secret.csv"
    secret.write_text("name,known\nAda,1\n")
    count = opened(secret)
    change_settings(folder / "run", source=[str(secret)])
    vouch(folder / "run", secret, content=b"x" * secret.stat().st_size)
    found = call(*VERBS["audit"])
    assert found.stderr.startswith("TB117")
    assert "Ada" not in found.stderr
    assert count() == 1


@pytest.mark.parametrize("path", ["/dev/zero", "/proc/self/mem", "/", "run", "pipe", "\0", "gone"])
def test_what_is_not_a_file_is_refused_at_once(folder, path, monkeypatch):
    monkeypatch.setattr("topbin.store.sources.LISTED_NAMES", 10_000)  # also a folder without end
    os.mkfifo("pipe")
    change_settings(folder / "run", source=["x"])
    for size in (1, 2**62):
        told = {"option": "source", "path": path, "size": size, "sum": "0" * 64}
        change_data(folder / "run", files=[told])
        found = call(*VERBS["audit"])
        assert found.stderr[:5] in ("TB101", "TB117"), found.stderr


def test_large_files_have_no_sum_and_are_named_again(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("topbin.store.sources.SUMMED_BYTES", 10)
    claims(60, labeled=0.5).to_csv("t.csv", index=False)
    result = tb.fit("t.csv", "known", budget="fast")
    (told,) = result.answer.data.files
    assert (told.path, told.sum) == ("t.csv", None)
    assert told.size == os.path.getsize("t.csv")


def test_a_source_can_be_named_where_it_is_now(folder):
    os.rename(FILE, "moved.parquet")
    change_settings(folder / "run", source=[FILE])
    told = {"option": "source", "path": FILE, "size": 9, "sum": "0" * 64}
    change_data(folder / "run", files=[told])
    assert "NEW_PLACE" in call(*VERBS["audit"]).stderr
    assert call(*VERBS["audit"], "moved.parquet").exit_code == 0
    assert tb.audit("run", "moved.parquet").draw(8).shape[0] == 8
    claims(300).to_parquet("other.parquet")
    assert call(*VERBS["audit"], "other.parquet").stderr.startswith("TB117")
    wrong = call(*VERBS["audit"], "moved.parquet", "--embeddings", "v.npy")
    assert "was made without --embeddings" in wrong.stderr


def test_names_of_several_files_are_shown_as_they_are_typed(folder):
    two = {"positives": ["s3://b/1", "s3://b/it's"], "unlabeled": ["rest.csv"]}
    forge_settings(folder / "run", **two)
    shown = call(*VERBS["audit"]).stderr
    end = """--positives s3://b/1 --positives 's3://b/it'"'"'s' --unlabeled rest.csv"""
    assert shown.rstrip().endswith(end)


# --- links ---


@pytest.mark.parametrize("name", ["stages", "model", "images", "refit", "stages/key", "images/a"])
def test_links_out_of_a_run_folder_are_not_followed(folder, name):
    kept = folder / "kept"
    kept.mkdir()
    (kept / "letter.txt").write_text("dear")
    place = folder / "run" / name
    if place.is_dir():
        place.rename(folder / "aside")
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(kept)
    for verb in ("audit", "refit", "score", "report", "inspect", "resume"):
        found = call(*VERBS[verb], *(["--label", "known"] if verb == "resume" else []))
        assert found.stderr.startswith("TB114"), (verb, found.stderr)
        assert "is a link" in found.stderr
    assert os.listdir(kept) == ["letter.txt"]


def test_a_lock_that_is_a_link_is_not_followed(folder):
    (folder / "run" / ".lock").symlink_to(folder / "made.txt")
    assert call(*VERBS["audit"]).stderr.startswith("TB105")
    assert not (folder / "made.txt").exists()
