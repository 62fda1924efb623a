"""Vectors as a source: a column, a file beside a table, .npy, arrays; what is wrong is coded."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner
from coded import fails
from sklearn.metrics import roc_auc_score

import topbin as tb
from topbin.cli import main
from topbin.data import Batch, Features, fit_features, open_table, read_table, vectors
from topbin.data.table import as_column, attach_whole

RNG = np.random.default_rng(0)
N, SIZE = 240, 6
GOOD = np.arange(N) % 2 == 0
VECTORS = RNG.normal(1.5 * GOOD[:, None] * np.ones(SIZE)).astype(np.float32)
KNOWN = GOOD & (RNG.random(N) < 0.6)


def invoke(*words):
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.output


def test_every_source_of_vectors_gives_the_same_matrix(tmp_path, monkeypatch):
    np.save(tmp_path / "v.npy", VECTORS)
    frame = pd.DataFrame({"embedding": list(VECTORS)})
    frame.to_parquet(tmp_path / "v.parquet")
    with open(tmp_path / "v.jsonl", "w") as lines:
        lines.writelines(json.dumps({"embedding": [float(x) for x in v]}) + "\n" for v in VECTORS)
    lists = frame.assign(embedding=[list(map(float, v)) for v in VECTORS])
    sources = [as_column(VECTORS), frame, lists, pl.from_pandas(frame)]
    sources += [tmp_path / f"v.{ending}" for ending in ("npy", "parquet", "jsonl")]
    features = fit_features(Batch.from_frame(frame))
    features = Features.from_dict(json.loads(json.dumps(features.to_dict())))
    assert features.names == [f"embedding {i}" for i in range(SIZE)]
    first = features.encode(frame)
    assert first.shape == (N, SIZE)
    assert np.abs(first.mean(axis=0)).max() < 1e-6
    for source in sources:
        batch = open_table(source).whole()
        assert batch.kinds == {"embedding": "vector"}
        np.testing.assert_allclose(features.encode(batch), first, rtol=1e-6)
    monkeypatch.setattr("topbin.data.table.PART_ROWS", 100)
    parts = open_table(tmp_path / "v.npy").placed_parts()
    rows = [batch for part in parts for batch in part.batches()]
    np.testing.assert_array_equal(np.vstack([features.encode(b) for b in rows]), first)


def test_vectors_beside_other_columns():
    frame = pd.DataFrame(
        {"town": ["Ulm", "Rom", None] * 80, "v": list(VECTORS), "x": np.arange(N) % 7}
    )
    features = fit_features(Batch.from_frame(frame))
    X = features.encode(frame.assign(v=[None, *VECTORS[1:]]))
    assert X.shape == (N, 2 + SIZE + 1)
    assert X[0].tolist()[:2] == [0, 1]
    assert (X[0, 2 : 2 + SIZE] == 0).all()  # missing is the mean
    words = fit_features(Batch.from_frame(frame.assign(note="late claim")), text=["note"])
    assert words.sparse


def test_a_part_checks_the_vectors_that_it_reads(tmp_path, monkeypatch):
    """And no others: a file of many parts would be read from end to end for each of them."""
    checked, check = [], vectors.refuse_bad_numbers
    monkeypatch.setattr(
        vectors, "refuse_bad_numbers", lambda m, *rest: checked.append(len(m)) or check(m, *rest)
    )
    bad = VECTORS.copy()
    bad[200, 1] = np.inf
    np.save(tmp_path / "v.npy", bad)
    first, second, last = open_table(tmp_path / "v.npy").files[0].cut(100)
    assert [batch.rows for part in (first, second) for batch in part.batches(rows=60)] == [
        60,
        40,
    ] * 2
    assert checked == [60, 40, 60, 40]
    with fails("TB142", "NaN or infinity in 1 vector, first in row 201"):
        list(last.batches())


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run on a table and a file of vectors beside it."""
    folder = tmp_path_factory.mktemp("vectors")
    table = pd.DataFrame({"case": [f"c-{i}" for i in range(N)], "known": KNOWN.astype(int)})
    table.to_csv(folder / "t.csv", index=False)
    np.save(folder / "v.npy", VECTORS)
    said = invoke("fit", folder / "t.csv", "--label", "known", "--id", "case", "--preset", "fast",
                  "--embeddings", folder / "v.npy", "-o", folder / "run")  # fmt: skip
    assert "1 vector" in said
    return folder


def test_a_file_of_vectors_beside_a_table(run):
    alpha = json.loads((run / "run/result.json").read_text())["estimate"]["alpha"]
    assert abs(alpha - (GOOD & ~KNOWN).sum() / (~KNOWN).sum()) < 0.15
    listed = read_table(run / "run/candidates.csv").frame
    assert "embedding" not in listed
    # A vector of 6 numbers is no reason; the known positives that it is nearest to are.
    known = set(pd.read_csv(run / "t.csv")["case"][KNOWN].astype(str))
    near = listed["nearest_1"].dropna()
    assert len(near) > 0
    assert set(near) <= known
    out = run / "scored.csv"
    invoke("score", run / "run", run / "t.csv", "--embeddings", run / "v.npy", "-o", out)
    found = read_table(out).frame
    assert roc_auc_score(GOOD, found["topbin_probability"]) > 0.95
    assert "embedding" not in found
    rows = pd.read_csv(run / "t.csv")
    scored = tb.load(run / "run").score(rows, embeddings=VECTORS)
    assert np.allclose(scored["topbin_probability"], found["topbin_probability"])
    assert "embedding" not in scored
    with fails("TB109", 'no column "embedding"', 'Its columns are "case", "known"', "embeddings="):
        tb.load(run / "run").score(rows)
    with fails("TB142"):
        tb.load(run / "run").score(rows, embeddings=VECTORS[1:])


def test_a_run_that_needs_vectors_asks_for_them(run):
    asked = "score", run / "run", run / "t.csv", "-o", run / "none.csv"
    done = CliRunner().invoke(main, list(map(str, asked)))
    assert done.exit_code == 1
    assert done.stderr.startswith("TB109")
    assert "with --embeddings" in done.stderr


def test_vectors_alone_score_as_beside_a_table(run):
    invoke("score", run / "run", run / "v.npy", "-o", run / "alone.csv")
    alone = read_table(run / "alone.csv").frame["topbin_probability"]
    scorer = tb.load(run / "run")
    frame = scorer.score(pd.DataFrame({"embedding": list(VECTORS)}))
    np.testing.assert_allclose(alone, frame["topbin_probability"])


def test_what_is_wrong_with_vectors(tmp_path):
    rows = Batch.from_frame(pd.DataFrame({"x": range(N)}))
    with fails("TB142", "has 239 vectors for 240 rows"):
        attach_whole(rows, VECTORS[1:])
    with fails("TB142", "has shape (240,)"):
        attach_whole(rows, VECTORS[:, 0])
    bad = VECTORS.copy()
    bad[7, 2] = np.nan
    with fails("TB142", "NaN or infinity in 1 vector, first in row 8"):
        attach_whole(rows, bad)
    np.save(tmp_path / "bad.npy", bad)
    with fails("TB142", "NaN or infinity in 1 vector, first in row 8"):
        open_table(tmp_path / "bad.npy").whole()
    np.save(tmp_path / "o.npy", np.array([{"a": 1}], object), allow_pickle=True)
    with fails("TB142", "cannot be read as numbers of NumPy"):
        open_table(tmp_path / "o.npy")
    (tmp_path / "half.npy").write_bytes(b"\x93NUMPY\x01")
    with fails("TB142", "cannot be read as numbers of NumPy"):
        open_table(tmp_path / "half.npy")
    np.save(tmp_path / "t.npy", np.array([["a"]]))
    with fails("TB142", "type <U1"):
        open_table(tmp_path / "t.npy")
    uneven = pd.DataFrame({"v": [[1.0, 2.0], [1.0]]})
    with fails("TB142", 'column "v" has vectors of different lengths: 2 numbers, and 1 in row 2'):
        fit_features(Batch.from_frame(uneven))
    features = fit_features(Batch.from_frame(pd.DataFrame({"v": list(VECTORS)})))
    with fails("TB109", 'column "v" had vectors of 6 numbers in the fit and has 2 now'):
        features.encode(pd.DataFrame({"v": [[1.0, 2.0]]}))
    with fails("TB142", "not to two tables"):
        tb.fit(VECTORS, positives=VECTORS.copy(), read=tb.Read(embeddings=VECTORS))
    with fails("TB115", 'has a column "embedding" already'):
        attach_whole(Batch.from_frame(pd.DataFrame({"embedding": list(VECTORS)})), VECTORS)
    with fails("TB142", "must have one column of vectors, or numbers only"):
        pd.DataFrame({"a": ["x"] * N}).to_parquet(tmp_path / "a.parquet")
        attach_whole(rows, tmp_path / "a.parquet")
