"""Binned scores: close to the answer of every score, equal bits for every cut into parts."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.special import expit

import topbin as tb
from topbin.core.errors import InputError
from topbin.engines import Local, bin_scores, count_from
from topbin.engines import count as count_module
from topbin.engines.count import Ends

ENGINE = Local(threads=2)
CLOSE = 1e-4


def scores(kind="margin", rows=6000, seed=0):
    """Scores of 800 positives, and of unlabeled rows of which .3 are positive."""
    rng = np.random.default_rng([seed, rows])
    is_p = np.arange(rows) < 800
    z = rng.normal(size=rows) + 4 * (is_p | (rng.random(rows) < 0.3))
    values = {"margin": z, "probability": expit(2 * z - 4), "float32": expit(z).astype(np.float32)}
    values["ends"] = np.round(expit(4 * z - 8), 3)  # with zeros and ones
    order = rng.permutation(rows)
    return values[kind][order], is_p[order].astype(np.int8)


def write(folder, kind, cuts=(2000, 2001, 2001), group=500):
    score, label = scores(kind)
    folder.mkdir()
    for i, (start, stop) in enumerate(zip((0, *cuts), (*cuts, score.size), strict=True)):
        table = pa.table({"score": score[start:stop], "label": label[start:stop]})
        pq.write_table(table, folder / f"{i}.parquet", row_group_size=group)
    return str(folder / "*.parquet")


def binned(files, engine=ENGINE):
    return bin_scores(engine, count_from(engine, files, score="score", label="label"))


@pytest.mark.parametrize("kind", ["margin", "probability", "float32", "ends"])
def test_close_to_the_answer_of_every_score(tmp_path, kind):
    score, label = scores(kind)
    found = binned(write(tmp_path / "a", kind))
    assert int(found.counts.sum()) == 5200
    for method in ("dedpul", "alphamax", *(["elkan_noto"] if kind != "margin" else [])):
        plain = tb.estimate_alpha(score[label == 1], score[label == 0], method=method)
        ours = found.estimate(method)
        assert ours.alpha == pytest.approx(plain.alpha, abs=CLOSE)
        assert (ours.interval, ours.upper_bound) == (plain.interval, plain.upper_bound)
        assert ours.method == f"{method} (binned)"
        assert "unlabeled scores binned to " in ours.notes[-1]
        assert (ours.n_p, ours.n_u) == (800, 5200)


def test_equal_bits_for_every_cut_into_parts(tmp_path):
    one = binned(write(tmp_path / "a", "probability"))
    other = binned(write(tmp_path / "b", "probability", (), group=37), Local(threads=1))
    assert one.counts.tobytes() == other.counts.tobytes()
    assert one.middles.tobytes() == other.middles.tobytes()
    assert one.estimate("dedpul") == other.estimate("dedpul")


def test_many_rows_are_read_at_quantiles_and_that_is_said(tmp_path, monkeypatch):
    files = write(tmp_path / "a", "margin")
    every = binned(files)
    monkeypatch.setattr(count_module, "ROWS", 2000)
    some = binned(files).estimate("dedpul")
    assert some.n_u == 5200
    assert some.notes[-1].endswith("of which 2,000 quantiles stand for 5,200 scores")
    assert some.alpha == pytest.approx(every.estimate("dedpul").alpha, abs=0.01)
    share = every.estimate("alphamax").alpha
    assert 0.25 < share < 0.35


def test_the_share_of_positives_that_trained_the_scorer_counts(tmp_path):
    found = binned(write(tmp_path / "a", "probability"))
    score, label = scores("probability")
    two = score[label == 1], score[label == 0]
    for share_p in (None, 0.5):
        plain = tb.estimate_alpha(*two, method="elkan_noto", share_p=share_p)
        assert found.estimate("elkan_noto", share_p=share_p).alpha == plain.alpha


@pytest.mark.parametrize(
    ("ends", "cells"), [(Ends(2.0, 2.0), 1), (Ends(0.0, 1.0), 2), (Ends(0.5, 0.5, 0.5, 0.5), 1)]
)
def test_few_distinct_scores_have_few_cells(ends, cells):
    edges, middles = ends.cells()
    assert np.unique(edges).size == cells
    assert edges.size == middles.size
    assert np.array_equal(np.unique(edges), np.unique(middles))


def test_scores_without_an_inner_value(tmp_path):
    table = pa.table({"score": [1.0, 1.0, 0.0, 1.0, 0.0, 0.0], "label": [1, 1, 0, 0, 0, 0]})
    pq.write_table(table, tmp_path / "a.parquet")
    found = binned(tmp_path / "a.parquet")
    assert found.middles.tolist() == [0.0, 1.0]
    assert found.counts.tolist() == [3, 1]


def test_groups_are_refused_and_changing_files_noticed(tmp_path):
    files = write(tmp_path / "a", "margin")
    counted = count_from(ENGINE, files, score="score", label="label")
    with pytest.raises(InputError, match="TB007 methods that read every score"):
        bin_scores(ENGINE, replace(counted, columns=replace(counted.columns, by="town")))
    table = pq.read_table(tmp_path / "a/0.parquet")
    pq.write_table(table[:1900], tmp_path / "a/0.parquet", row_group_size=500)
    with pytest.raises(InputError, match="TB102 the files changed while they were read"):
        bin_scores(ENGINE, counted)
