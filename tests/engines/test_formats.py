"""Text files, and parquet without Arrow, give the same tails as Arrow's row groups."""

import json
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from score_files import scored, whole, write

from topbin.core.errors import InputError
from topbin.engines import Local, count_from, tails_from

COLUMNS = {"score": "score", "label": "label"}


def write_text(folder, table, ending):
    frame = pd.DataFrame(table)
    for i, part in enumerate((frame[:1200], frame[1200:])):
        path = folder / f"part-{i}{ending}"
        if ending == ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in part.to_dict("records")))
        else:
            part.to_csv(path, index=False, sep="\t" if ending == ".tsv" else ",")
    return str(folder / f"part-*{ending}")


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".csv.gz"])
def test_text_files_give_the_tails_of_all_rows(tmp_path, ending):
    table = scored()
    counted = count_from(Local(), write_text(tmp_path, table, ending), **COLUMNS, by="town")
    assert sum(tails.n_u for tails in counted.tails.values()) == whole(table).n_u
    found = tails_from(Local(), write_text(tmp_path, table, ending), **COLUMNS)
    assert found == whole(table)


def test_words_for_labels_in_text_and_a_file_without_any(tmp_path):
    (tmp_path / "a.csv").write_text("score,label\n3,True\n1,False\n2,true\n")
    (tmp_path / "b.csv").write_text("score,label\n2.5,False\n0,false\n")
    found = tails_from(Local(), str(tmp_path / "*.csv"), **COLUMNS)
    assert (found.cuts.tolist(), found.above_u.tolist(), found.n_u) == ([2, 3], [1, 0], 3)


def test_a_word_among_text_scores_names_the_file(tmp_path):
    (tmp_path / "a.csv").write_text("score,label\n3,1\nhigh,0\n")
    with pytest.raises(InputError, match=r"TB102 \".*a.csv\" cannot be read: .* in line 3: 'high'"):
        tails_from(Local(), tmp_path / "a.csv", **COLUMNS)


@pytest.mark.parametrize("kind", ["float32", "int64"])
def test_parquet_without_arrow_is_read_by_duckdb(tmp_path, monkeypatch, kind):
    table = scored(kind=kind)
    pattern = write(tmp_path, table)
    for module in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, module, None)
    found = tails_from(Local(), pattern, **COLUMNS)
    assert found == whole(table)
    assert found.cuts.dtype == whole(table).cuts.dtype


def test_groups_spelled_in_two_ways_are_one(tmp_path):
    town = pa.array(["Ulm", "Ulm ", None, "Ulm", ""]).dictionary_encode()
    table = pa.table({"score": [3.0, 2.0, 2.0, 1.0, 0.0], "label": [1, 0, 1, 0, 0], "town": town})
    pq.write_table(table, tmp_path / "a.parquet")
    counted = count_from(Local(), tmp_path / "a.parquet", **COLUMNS, by="town")
    assert {group: (t.n_p, t.n_u) for group, t in counted.tails.items()} == {
        None: (1, 1),
        "Ulm": (1, 2),
    }


def test_missing_scores_count_as_nan(tmp_path):
    table = pa.table({"score": [3.0, None, 1.0], "label": [True, False, False]})
    pq.write_table(table, tmp_path / "a.parquet")
    found = tails_from(Local(), tmp_path / "a.parquet", **COLUMNS, drop_nan=True)
    assert (found.n_p, found.n_u) == (1, 1)
    assert np.isfinite(found.cuts).all()


@pytest.mark.parametrize("span", [20, 1000])
def test_labels_of_many_whole_numbers(tmp_path, span):
    table = scored()
    table["label"] = np.arange(3000) % span
    found = tails_from(Local(), write(tmp_path, table), **COLUMNS, positive=7)
    table["label"] = table["label"] == 7
    assert found == whole(table)
