"""From settings to labels and features: typed values, and columns with two roles."""

import numpy as np
import pandas as pd
import pytest
from asked import asked

from topbin.core import InputError
from topbin.core.options import read_request
from topbin.data import columns
from topbin.job.prepare import prepare


def test_words_on_the_command_line_fit_any_kind_of_column(tmp_path):
    frame = pd.DataFrame({"x": range(12), "s": [1.5] * 4 + [2.5] * 8})
    frame.to_csv(tmp_path / "t.csv", index=False)
    settings = {"source": [str(tmp_path / "t.csv")], "label": "s", "positive": "1.5"}
    assert prepare(read_request(settings)).labels.n_p == 4


def test_one_column_cannot_be_label_and_id():
    table = pd.DataFrame({"x": range(12), "s": [1, 0] * 6})
    with pytest.raises(InputError, match='TB008 "s" cannot be the label and the id at once'):
        prepare(asked(table, "s", id="s"))


def test_an_unclear_label_is_called_by_its_name():
    table = pd.DataFrame({"x": range(3), "s": ["a", "b", "c"]})
    with pytest.raises(InputError, match='TB002 column "s" has 3 values'):
        prepare(asked(table, "s"))


def test_a_fit_reads_each_column_once(monkeypatch):
    read = []
    inner = columns.read_column
    monkeypatch.setattr(columns, "read_column", lambda t, name: read.append(name) or inner(t, name))
    frame = pd.DataFrame({"x": [0.5, 1.5] * 12, "town": ["a", "b", "c"] * 8, "s": [1, 0] * 12})
    frame["day"] = pd.date_range("2026-01-01", periods=24)
    frame["note"] = [f"a dent in door {i}" for i in range(24)]
    prepare(asked(frame, "s", text="note"))
    assert sorted(read) == ["day", "note", "town", "x"]


def test_a_plain_text_is_one_column():
    frame = pd.DataFrame({"x": range(12), "n": range(3, 15), "s": [1, 0] * 6})
    frame["note"] = ["a small dent in the door"] * 6 + ["a large loss of all cargo"] * 6
    frame["n"] = frame["n"] % 5
    table = frame
    assert prepare(asked(table, "s", drop="note")).encoder.columns == ["n", "x"]
    assert prepare(asked(table, "s", text="note")).encoder.sparse
    with pytest.raises(InputError, match=r'TB103 .* has no column "nope"'):
        prepare(asked(table, "s", drop="nope"))


def test_a_frame_that_its_owner_changes_later_is_not_changed_here():
    frame = pd.DataFrame({"x": np.arange(40) / 8, "known": np.arange(40) < 10})
    data = prepare(asked(frame, "known"))
    before = data.table.frame["x"].tolist()
    frame.loc[:, "x"] = -1.0
    frame.iloc[3, 0] = 7.0
    assert data.table.frame["x"].tolist() == before
