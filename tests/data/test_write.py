"""Tables out: no cell runs as a formula, values come back, chunks make one file."""

import csv

import numpy as np
import pandas as pd
import pytest
from coded import fails
from hypothesis import given
from hypothesis import strategies as st

from topbin.data import read_table, write_table
from topbin.data.write import escape_cell

RISKY = ["=cmd()", "+1+1", "-2+3", "@sum(a1)", "\t=1", "\r=1", "\nx", " =1", "＝1", "-", "=-5"]
HARMLESS = ["-5", "+4.5", "-1e-3", " -.5 ", "a=b", "", "'", "x-y", "é"]


@pytest.mark.parametrize("text", RISKY)
def test_formulas_get_an_apostrophe(text):
    assert escape_cell(text) == "'" + text


@pytest.mark.parametrize("text", [*HARMLESS, -5, 0.5, None, True])
def test_other_values_stay(text):
    assert escape_cell(text) is text


@given(st.text())
def test_what_was_escaped_is_not_escaped_again(text):
    assert escape_cell(escape_cell(text)) == escape_cell(text)


def test_a_csv_holds_no_formula_and_keeps_numbers(tmp_path):
    frame = pd.DataFrame(
        {
            "=name": RISKY,
            "n": np.linspace(-1, 1, len(RISKY)),
            "c": pd.Categorical(RISKY),
            "mixed": [-1, None, "=x", *range(len(RISKY) - 3)],
            "day": pd.to_datetime("2020-01-01"),
        }
    )
    before = frame.copy(deep=True)
    for ending, separator in ((".csv", ","), (".tsv", "\t")):
        assert write_table(tmp_path / f"out{ending}", frame) == len(frame)
        with (tmp_path / f"out{ending}").open(newline="", encoding="utf-8") as handle:
            header, *rows = csv.reader(handle, delimiter=separator)
        assert header == ["'=name", "n", "c", "mixed", "day"]
        assert [row[0] for row in rows] == ["'" + text for text in RISKY]
        assert [row[2] for row in rows] == ["'" + text for text in RISKY]
        assert [float(row[1]) for row in rows] == frame["n"].tolist()
        assert [row[3] for row in rows][:4] == ["-1", "", "'=x", "0"]
        assert rows[0][4] == "2020-01-01"
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "jsonl"])
def test_chunks_make_one_table_with_the_widest_types(tmp_path, ending):
    chunks = [
        pd.DataFrame({"id": [1, 2], "town": [None, None], "p": [0.1, 1 / 3]}),
        pd.DataFrame({"id": [3, 4], "town": ["Ulm", None], "p": [np.nan, 1e-300]}),
        pd.DataFrame({"id": [5.0, np.nan], "town": ["Köln", "Rom"], "p": [1.0, 0.0]}),
    ]
    path = tmp_path / f"ü out [1].{ending}"
    assert write_table(path, iter(chunks)) == 6
    frame = read_table(path).frame
    assert frame["id"].tolist()[:5] == [1, 2, 3, 4, 5]
    assert frame["town"].dropna().tolist() == ["Ulm", "Köln", "Rom"]
    np.testing.assert_array_equal(frame["p"], pd.concat(chunks)["p"])
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_an_existing_file_is_kept(tmp_path):
    frame = pd.DataFrame({"a": [1]})
    write_table(tmp_path / "a.csv", frame)
    with fails("TB104", "there already"):
        write_table(tmp_path / "a.csv", frame)
    write_table(tmp_path / "a.csv", frame.assign(a=2), force=True)
    assert read_table(tmp_path / "a.csv").frame["a"].tolist() == [2]


def test_an_ending_must_say_the_format(tmp_path):
    for name in ("a.ods", "a", "a.db"):
        with fails("TB105", "does not end in a known format", ".parquet"):
            write_table(tmp_path / name, pd.DataFrame({"a": [1]}))


def test_no_rows_leave_no_file(tmp_path):
    with fails("TB001", "no rows to write"):
        write_table(tmp_path / "a.csv", iter([]))
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_source_that_fails_midway_leaves_no_file(tmp_path, ending):
    def rows():
        yield pd.DataFrame({"a": [1]})
        raise read_table(tmp_path / "missing.csv")

    with fails("TB101", "there is no file"):
        write_table(tmp_path / f"a.{ending}", rows())
    assert not any(tmp_path.iterdir())


def test_what_duckdb_cannot_write_is_said(tmp_path):
    with fails("TB105", "the rows cannot be written"):
        write_table(tmp_path / "a.parquet", pd.DataFrame(index=[0, 1]))
    assert not any(tmp_path.iterdir())


def test_a_sheet_holds_no_formula_and_values_come_back(tmp_path):
    frame = pd.DataFrame({"t": RISKY, "n": np.arange(len(RISKY)) / 4, "b": [True, *[False] * 10]})
    frame["d"] = pd.Timestamp("2024-02-29", tz="UTC")
    assert write_table(tmp_path / "x.xlsx", frame) == len(frame)
    back = pd.read_excel(tmp_path / "x.xlsx")
    assert all(cell.startswith("'") for cell in back["t"])
    assert back["n"].tolist() == frame["n"].tolist()
    assert back["b"].tolist() == frame["b"].tolist()
    assert back["d"][0] == "2024-02-29 00:00:00+00:00"
