"""Everything is read once: columns, labels and evidence; reading a result adds nothing.

Tails are built where the scores of two samples are counted. Those that training reads on its way,
from models that will change, are not counted here.
"""

import traceback
from collections import Counter

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import topbin as tb
from topbin.core.tails import Tails
from topbin.data import columns
from topbin.data.batch import Batch
from topbin.data.formats.duck import DuckPart

pytestmark = pytest.mark.usefixtures("quick_fits")

mpl.use("Agg")


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    x = np.r_[rng.normal(5, 1, 150), rng.normal(0, 1, 150)]
    frame = pd.DataFrame({"x": x, "town": ["a", "b", "c"] * 100, "known": np.arange(300) < 100})
    return frame.assign(day=pd.date_range("2026-01-01", periods=300))


@pytest.fixture
def built(monkeypatch):
    """The sizes of all samples whose tails are counted from scores, after training."""
    sizes = []
    build = Tails.from_scores.__func__

    def counting(cls, scores_p, scores_u):
        calls = traceback.extract_stack()
        if not any(c.filename.endswith("loop.py") or c.name == "_mean_epoch" for c in calls):
            sizes.append((len(scores_p), len(scores_u)))
        return build(cls, scores_p, scores_u)

    monkeypatch.setattr(Tails, "from_scores", classmethod(counting))
    return sizes


@pytest.fixture
def read(monkeypatch):
    """How often each column was read as a feature, as labels, and out of a file."""
    seen = Counter()
    one, coded, batches = columns.read_column, Batch.coded, DuckPart.batches

    def read_column(table, name):
        seen[name] += 1
        return one(table, name)

    def code(self, name):
        seen[f"labels {name}"] += 1
        return coded(self, name)

    def read_batches(self, *columns):
        seen["file"] += 1
        return batches(self, *columns)

    monkeypatch.setattr(columns, "read_column", read_column)
    monkeypatch.setattr(Batch, "coded", code)
    monkeypatch.setattr(DuckPart, "batches", read_batches)
    return seen


def test_a_small_job_counts_tails_three_times_however_often_it_is_read(built, frame):
    result = tb.fit(frame, "known", budget="fast")
    assert built == 3 * [(100, 200)]  # the first estimate, the careful one, and without "x"
    result.summary()
    result.to_dict()
    result.plot()
    result._repr_html_()
    result.candidates()
    assert len(built) == 3
    assert len(result.methods) == 5
    assert len(result.classifier.history_) == 2


def test_a_job_reads_each_column_and_the_labels_once(read, frame, tmp_path):
    once = {"x": 1, "town": 1, "day": 1, "labels known": 1}
    tb.fit(frame, "known", budget="fast")
    assert read == once
    read.clear()
    frame.to_csv(tmp_path / "t.csv", index=False)
    result = tb.fit(tmp_path / "t.csv", "known", budget="fast")
    result.save(tmp_path / "run")
    assert read == {**once, "file": 1}


def test_a_sampled_job_passes_over_the_file_three_times(read, built, frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False)
    result = tb.fit(tmp_path / "t.csv", "known", budget=tb.Budget(preset="fast", sample=40))
    assert read["file"] == 3  # count the labels, draw, count the rest
    assert read["x"] == 4  # of the rows to train on, of two other samples, of the rest
    assert built == 2 * [(100, 40)]  # the first estimate, and without "x"; the pass counts others
    assert result.evidence.tails.n_u == 200 - 2 * 40


def test_a_path_gives_the_same_answer_as_its_frame(frame, tmp_path):
    frame.to_parquet(tmp_path / "t.parquet")
    here, there = (tb.fit(f, "known", budget="fast") for f in (frame, tmp_path / "t.parquet"))
    assert there.estimate == here.estimate
    assert there.data.sources == [str(tmp_path / "t.parquet")]
    assert here.data.sources == ["the frame"]
    two = frame.drop(columns="known")
    known = frame["known"].to_numpy()
    pair = tb.fit(two[~known], positives=two[known], budget="fast")
    assert pair.estimate == here.estimate  # the positives are first in both
    assert pair.candidates().index.equals(here.candidates().index)  # that of the given frame
