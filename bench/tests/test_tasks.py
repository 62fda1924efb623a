"""Tasks: sizes, shares, splits that depend on (task, α, seed) only, and files that are checked."""

import gzip
import io
import json
import lzma
import tarfile
import threading
from dataclasses import fields
from functools import partial
from hashlib import md5, sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit
from urllib.request import urlopen

import numpy as np
import pandas as pd
import pytest

from topbin_bench.errors import BenchError, UnknownName
from topbin_bench.tasks import FAMILIES, TASKS, cifar, files, find_tasks, gsec, imdb, mnist, uci
from topbin_bench.tasks.files import Source, data_file, fetch
from topbin_bench.tasks.split import Deck, Pool, Sizes, Split, draw, fitting, thirds

ALPHAS = (0.1, 0.5, 0.9)


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    """No folder, no cache of an earlier test."""
    monkeypatch.delenv(files.FOLDER, raising=False)
    for load in (uci.load, mnist.load, cifar.load, imdb.load, gsec.load, files._verify):
        load.cache_clear()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(files.FOLDER, str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def keep(folder, name, content, monkeypatch):
    """Put a small file in the place of a real one, with the sum that it has."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    monkeypatch.setitem(files.SUMS, name, sha256(content).hexdigest())


def numbered(n_positive, n_negative):
    """Rows that carry their own number, so that a test can follow them."""
    n = n_positive + n_negative
    return Pool(np.arange(n, dtype=float)[:, None], np.arange(n) < n_positive)


# ---------------------------------------------------------------- splits


@pytest.mark.parametrize("alpha", ALPHAS)
def test_no_row_is_used_twice_and_u_has_its_share(alpha):
    pool = numbered(300, 300)
    split, truth = draw(pool, fitting(thirds(pool), alpha, pool), alpha, np.random.default_rng(0))
    parts = [getattr(split, f.name) for f in fields(Split)] + [truth.X_test]
    seen = np.concatenate(parts).ravel()
    assert np.unique(seen).size == seen.size == 600
    assert truth.y_u.mean() == pytest.approx(alpha, abs=0.01)
    assert truth.y_held_u.mean() == pytest.approx(alpha, abs=0.01)
    assert (split.X_p < 300).all()
    assert np.array_equal(split.X_u.ravel() < 300, truth.y_u)
    assert np.array_equal(split.held_u.ravel() < 300, truth.y_held_u)
    assert np.array_equal(truth.X_test.ravel() < 300, truth.y_test)


def test_what_estimators_see_has_no_place_for_a_label():
    assert [f.name for f in fields(Split)] == ["X_p", "X_u", "held_p", "held_u"]


def test_the_place_of_a_row_in_u_does_not_tell_its_class():
    pool = numbered(2000, 2000)
    _, truth = draw(pool, Sizes(1000, 100), 0.5, np.random.default_rng(0))
    place = np.arange(1000)[truth.y_u].mean()
    assert place == pytest.approx(499.5, abs=4 * 1000 / np.sqrt(12 * 500))


@pytest.mark.parametrize("name", ["gaussians", "beta", "triangles"])
def test_a_split_depends_on_task_alpha_and_seed_only(name):
    task = TASKS[name]
    once, again, other = task.split(0.5, 3), task.split(0.5, 3), task.split(0.5, 4)
    assert np.array_equal(once[0].X_u, again[0].X_u)
    assert np.array_equal(once[1].X_test, again[1].X_test)
    assert not np.array_equal(once[0].X_u, other[0].X_u)


@pytest.mark.parametrize("name", ["gaussians", "beta", "triangles"])
@pytest.mark.parametrize("alpha", [0.1, 1.0])
def test_synthetic_sizes(name, alpha):
    split, truth = TASKS[name].split(alpha, 0)
    assert [len(X) for X in (split.X_p, split.X_u, *split.holdout)] == [1000, 1000, 500, 500]
    assert truth.y_u.mean() == alpha
    assert truth.y_test.sum() == 1000
    assert split.X_p.dtype == np.float32


def test_a_hold_out_may_come_from_the_test_rows():
    train, test = numbered(100, 100), numbered(50, 50)
    split, truth = draw(
        train, Sizes(40, 20), 0.5, np.random.default_rng(0), test=test, hold_out_of_test=True
    )
    assert len(split.held_p) == len(split.held_u) == 20
    assert len(truth.X_test) == 100 - 40
    held = np.concatenate([*split.holdout, truth.X_test]).ravel()
    assert sorted(held) == list(range(100))


def test_sizes_shrink_where_a_class_is_small_and_otherwise_stay():
    pool = numbered(100, 10_000)
    assert fitting(Sizes(50, 10), 0.5, pool) == Sizes(50, 10)
    assert fitting(Sizes(500, 100), 0.5, pool) == Sizes(55, 11)
    assert fitting(Sizes(500, 100), 1.0, pool) == Sizes(41, 8)


def test_dealing_more_than_there_is_is_an_error():
    with pytest.raises(BenchError, match="9 rows are needed, but only 3 are left"):
        Deck(np.arange(3)).take(9)


@pytest.mark.parametrize("alpha", [0.0, 1.5])
def test_alpha_out_of_range(alpha):
    with pytest.raises(BenchError, match="alpha must be above 0 and at most 1"):
        draw(numbered(9, 9), Sizes(2, 1), alpha, np.random.default_rng(0))


def test_names():
    assert set(FAMILIES) == {"synthetic", "uci", "gsec", "mnist", "cifar", "imdb"}
    assert [task.name for task in find_tasks("mnist17")] == ["mnist17"]
    with pytest.raises(UnknownName, match="Did you mean 'concrete'"):
        find_tasks("concret")


# ---------------------------------------------------------------- files


def test_a_file_with_another_sum_is_refused(folder, monkeypatch):
    keep(folder, "concrete/concrete.csv.gz", b"right", monkeypatch)
    assert data_file("concrete/concrete.csv.gz").read_bytes() == b"right"
    (folder / "concrete/concrete.csv.gz").write_bytes(b"wrong")
    files._verify.cache_clear()
    with pytest.raises(BenchError, match="damaged or another edition"):
        data_file("concrete/concrete.csv.gz")


def test_without_a_folder_there_is_no_file():
    assert data_file("concrete/concrete.csv.gz") is None


@pytest.fixture
def server(tmp_path):
    """A web server of this folder, on this machine only."""
    served = tmp_path / "served"
    served.mkdir()

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=served)) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield served, f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


def serve(server, name, content):
    served, address = server
    path = served / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return Source(f"{address}/{name}", f"sha256:{sha256(content).hexdigest()}")


def test_fetching_keeps_what_it_fetched(server, folder):
    source = serve(server, "a.data", b"1,2\n")
    assert fetch(source).read_bytes() == b"1,2\n"
    (server[0] / "a.data").unlink()
    assert fetch(source).read_bytes() == b"1,2\n"  # from the cache


def test_a_fetched_file_with_another_sum_is_refused(server, folder):
    source = serve(server, "b.data", b"1,2\n")
    with pytest.raises(BenchError, match="cannot fetch"):
        fetch(Source(source.url, "sha256:" + "0" * 64))


def test_an_unreachable_source_is_one_sentence(folder):
    with pytest.raises(BenchError, match=r"cannot fetch http://127\.0\.0\.1:9/x") as caught:
        fetch(Source("http://127.0.0.1:9/x", "sha256:" + "0" * 64))
    assert "TOPBIN_DATA" in caught.value.message


# ---------------------------------------------------------------- families


def table(n=60):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"x1": rng.normal(size=n), "x2": rng.integers(0, 9, n)})


LABELS = {
    "concrete": np.linspace(0, 1, 60),
    "mushroom": np.repeat(["p", "e"], 30),
    "landsat": np.repeat([1, 3, 4, 7], 15),
    "pageblock": np.repeat([1, 2], 30),
    "spambase": np.repeat([0, 1], 30),
}


@pytest.mark.parametrize("name", LABELS)
def test_uci_tables_from_a_folder(name, folder, monkeypatch):
    frame = table().assign(split="train")
    frame["strength_mpa" if name == "concrete" else "class"] = LABELS[name]
    keep(folder, f"{name}/{name}.csv.gz", gzip.compress(frame.to_csv(index=False).encode()),
         monkeypatch)  # fmt: skip
    pool = uci.load(name)
    assert pool.X.shape == (60, 2)
    assert pool.positive.sum() == 30
    split, truth = TASKS[name].split(0.5, 0)
    assert [len(X) for X in (split.X_p, split.X_u, *split.holdout)] == [10, 10, 5, 5]
    assert len(truth.X_test) == 30
    assert np.concatenate([split.X_p, split.X_u]).mean(0) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("name", ["mushroom", "landsat", "spambase"])
def test_uci_tables_from_their_source(name, server, folder, monkeypatch):
    frame = table()
    frame.insert(0 if name == "mushroom" else 2, "class", LABELS[name])
    separator = " " if name == "landsat" else ","
    content = frame.to_csv(index=False, header=False, sep=separator).encode()
    monkeypatch.setitem(uci.SOURCES, name, (serve(server, f"{name}.data", content),))
    pool = uci.load(name)
    assert pool.X.shape == (60, 2)
    assert pool.positive.sum() == 30


@pytest.mark.parametrize("name", ["concrete", "pageblock"])
def test_uci_tables_from_openml(name, monkeypatch):
    asked = []

    class Bunch:
        frame = table().assign(target=LABELS[name])

    def fetch_openml(**given):
        asked.append(given["data_id"])
        return Bunch

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    assert uci.load(name).positive.sum() == 30
    assert asked == [uci.OPENML[name]]


@pytest.fixture
def openml(server, folder, monkeypatch):
    """OpenML on this machine: scikit-learn's own client asks it for one table."""
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(folder / "sklearn"))
    frame, number = table().assign(target=LABELS["pageblock"]), uci.OPENML["pageblock"]
    header = "".join(f"@ATTRIBUTE {name} REAL\n" for name in frame)
    arff = f"@RELATION blocks\n{header}@DATA\n{frame.to_csv(index=False, header=False)}".encode()
    description = {
        "id": str(number), "name": "blocks", "version": "1", "format": "ARFF", "status": "active",
        "description": "a table",
        "md5_checksum": md5(arff).hexdigest(), "url": "https://www.openml.org/blocks.arff",
    }  # fmt: skip
    features = [
        {"index": str(i), "name": name, "data_type": "numeric", "is_target": "false",
         "is_ignore": "false", "is_row_identifier": "false", "number_of_missing_values": "0"}
        for i, name in enumerate(frame)
    ]  # fmt: skip
    answers = {
        "data": {"data_set_description": description},
        "data/features": {"data_features": {"feature": features}},
        "data/qualities": {"data_qualities": {"quality": []}},
    }
    for name, answer in answers.items():
        serve(server, f"api/v1/json/{name}/{number}", json.dumps(answer).encode())
    serve(server, "blocks.arff", arff)

    def here(request, *args, **kwargs):
        return urlopen(server[1] + urlsplit(request.full_url).path)

    monkeypatch.setattr("sklearn.datasets._openml.urlopen", here)
    return server[0] / "blocks.arff"


def test_a_table_of_openml_is_read(openml):
    assert np.allclose(uci.load("pageblock").X, table())


def test_a_damaged_table_of_openml_is_refused(openml):
    openml.write_bytes(openml.read_bytes() + b"9,9,2\n")
    with (
        pytest.warns(RuntimeWarning, match="redownloading"),
        pytest.raises(BenchError, match="md5 checksum"),
    ):
        uci.load("pageblock")


def test_openml_out_of_reach(monkeypatch):
    def fetch_openml(**given):
        raise OSError("no route")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    with pytest.raises(BenchError, match=r"cannot fetch https://www\.openml\.org/d/30: no"):
        uci.load("pageblock")


def idx(values, header):
    return gzip.compress(b"\0" * header + np.asarray(values, np.uint8).tobytes())


@pytest.fixture
def digits(folder, monkeypatch):
    for part in mnist.PARTS:
        labels = np.tile(np.arange(10), 20)
        images = np.repeat(labels, 784).astype(np.uint8)
        keep(folder, f"mnist/{part}-images-idx3-ubyte.gz", idx(images, 16), monkeypatch)
        keep(folder, f"mnist/{part}-labels-idx1-ubyte.gz", idx(labels, 8), monkeypatch)


def test_mnist_classes(digits):
    split, truth = TASKS["mnist17"].split(0.5, 0)
    assert split.X_p.shape[1:] == (28, 28)
    assert set(split.X_p[:, 0, 0]) == {1}
    assert np.array_equal(split.X_u[:, 0, 0] == 1, truth.y_u)
    assert set(split.X_u[:, 0, 0]) == {1, 7}
    assert np.array_equal(truth.X_test[:, 0, 0] == 1, truth.y_test)


def test_mnist_overlap_shares_digits_but_no_image(digits):
    split, truth = TASKS["mnist_overlap"].split(0.5, 0)
    assert set(split.X_p[:, 0, 0]) <= set(range(8))
    negatives = truth.X_test[~truth.y_test][:, 0, 0]
    assert set(negatives) <= set(range(3, 10))
    assert {3, 4, 5, 6, 7} & set(negatives) & set(truth.X_test[truth.y_test][:, 0, 0])
    assert len(truth.X_test) == 200


def test_mnist_from_its_source(server, folder, monkeypatch):
    monkeypatch.setattr(mnist, "ADDRESS", server[1])
    for part in mnist.PARTS:
        for kind, content in (("images-idx3", idx(np.ones(784), 16)), ("labels-idx1", idx([4], 8))):
            name = f"mnist/{part}-{kind}-ubyte.gz"
            source = serve(server, name, content)
            monkeypatch.setitem(files.SUMS, name, source.sum.removeprefix("sha256:"))
    images, labels = mnist.load("t10k")
    assert images.shape == (1, 28, 28)
    assert labels.tolist() == [4]


def test_cifar_from_a_folder(folder, monkeypatch):
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    labels = np.tile(np.arange(10, dtype=np.uint8), 1000)
    for batch in (*cifar.BATCHES["train"], "test_batch"):
        # every image is one color, that of its class, so that a shuffled mosaic would show
        pixels = np.repeat(np.repeat(labels.reshape(100, 100), 32, 0), 32, 1)
        stack = np.dstack([pixels, pixels + 50, rng.integers(0, 9) + 0 * pixels]).astype(np.uint8)
        file = io.BytesIO()
        image.fromarray(stack).save(file, "webp", lossless=True, quality=0, method=0)
        keep(folder, f"cifar10/{batch}.webp", file.getvalue(), monkeypatch)
    file = io.BytesIO()
    np.savez(file, train=np.tile(labels, 5), test=labels)
    keep(folder, "cifar10/labels.npz", file.getvalue(), monkeypatch)
    split, truth = TASKS["cifar_dog_cat"].split(0.5, 0)
    assert split.X_p.shape == (2500, 3, 32, 32)
    assert set(split.X_p[:, 0].ravel()) == {3}
    assert set(split.X_u[:, 1].ravel()) == {53, 55}
    assert len(truth.X_test) == 2000
    cifar.load.cache_clear()
    (folder / "cifar10" / "data_batch_3.webp").unlink()
    with pytest.raises(BenchError, match=r"has no cifar10/data_batch_3\.webp"):
        cifar.load("train")


def test_cifar_from_its_source(server, folder, monkeypatch):
    rows = np.zeros((2, 3073), np.uint8)
    rows[:, 0] = 3, 5
    rows[0, 1:1025] = 9
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        for batch in ("test_batch",):
            info = tarfile.TarInfo(f"cifar-10-batches-bin/{batch}.bin")
            info.size = rows.nbytes
            tar.addfile(info, io.BytesIO(rows.tobytes()))
    monkeypatch.setattr(cifar, "SOURCE", serve(server, "cifar.tar.gz", file.getvalue()))
    images, labels = cifar.load("test")
    assert labels.tolist() == [3, 5]
    assert images[0].sum((1, 2)).tolist() == [9 * 1024, 0, 0]


REVIEWS = [
    {"split": split, "label": i % 2, "text": f"{('bad', 'good')[i % 2]} {split} {i} word{i % 7}"}
    for split in ("train", "test")
    for i in range(60)
]  # fmt: skip
SHARED = [{"split": split, "label": 1, "text": "the same"} for split in ("train", "test")]


def test_imdb_from_a_folder(folder, monkeypatch):
    lines = "\n".join(json.dumps(row) for row in REVIEWS + SHARED)
    keep(folder, imdb.FILE, lzma.compress(lines.encode()), monkeypatch)
    train, test = imdb.load()
    assert len(train.X) == 61
    assert len(test.X) == 60  # the shared text is dropped
    split, truth = TASKS["imdb"].split(0.5, 0)
    assert split.X_p.shape[1] == truth.X_test.shape[1]
    assert split.X_p.dtype == np.float32
    assert np.allclose(np.sqrt(split.held_u.power(2).sum(1)), 1)  # TF-IDF rows have unit length


def test_imdb_from_its_source(server, folder, monkeypatch):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        for name in ("train/pos/0_9.txt", "test/neg/1_2.txt", "train/unsup/0_0.txt"):
            info = tarfile.TarInfo(f"aclImdb/{name}")
            info.size = len(name)
            tar.addfile(info, io.BytesIO(name.encode()))
    monkeypatch.setattr(imdb, "SOURCE", serve(server, "imdb.tar.gz", file.getvalue()))
    train, test = imdb.load()
    assert train.X.tolist() == ["train/pos/0_9.txt"]
    assert train.positive.tolist() == [True]
    assert test.positive.tolist() == [False]


def test_gsec_has_no_truth(folder, monkeypatch):
    frame = pd.DataFrame({"label": [1] * 10 + [2] * 20})
    for part in gsec.PARTS:
        frame[part] = ["ACD", None, "AAA"] * 10
    keep(folder, gsec.FILE, gzip.compress(frame.to_csv(index=False).encode()), monkeypatch)
    split, truth = TASKS["gsec_pu"].split(float("nan"), 0)
    assert [len(X) for X in (split.X_p, split.X_u, *split.holdout)] == [8, 16, 2, 4]
    shown = [truth.alpha, truth.y_u, truth.y_held_u, truth.X_test, truth.y_test]
    assert shown == [None] * 5


def test_gsec_without_a_folder(monkeypatch):
    with pytest.raises(BenchError, match="TOPBIN_DATA is not set"):
        TASKS["gsec_pu"].split(float("nan"), 0)
