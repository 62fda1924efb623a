"""Finding files: by path, pattern or list; by their first bytes; and a hint when there is none."""

import gzip
import os

import pandas as pd
import pytest
from coded import fails

from topbin.core.errors import InputError
from topbin.data import open_table, read_table
from topbin.data.paths import find_files, format_of
from topbin.data.schema import check_columns, nearest
from topbin.data.table import FORMATS


def find(source):
    return find_files(source, FORMATS)


@pytest.fixture
def folder(tmp_path):
    for name in ("b.csv", "a.csv", "a.tsv", "notes.md"):
        (tmp_path / name).write_text("x\n1\n")
    return tmp_path


def test_a_pattern_is_sorted_and_a_list_is_not(folder):
    assert find(str(folder / "*.csv")) == [str(folder / "a.csv"), str(folder / "b.csv")]
    found = open_table(str(folder / "*.csv"))
    assert [file.path[-5:] for file in found.files] == ["a.csv", "b.csv"]
    assert found.name == f'"{folder / "a.csv"}" and 1 more'
    listed = open_table([folder / "b.csv", folder / "a.csv"])
    assert [file.path[-5:] for file in listed.files] == ["b.csv", "a.csv"]


def test_a_name_that_looks_like_a_pattern_is_taken_as_written(tmp_path):
    (tmp_path / "data[1]*.csv").write_text("x\n1\n")
    (tmp_path / "data1.csv").write_text("x\n2\n")
    (tmp_path / "data[1]z.csv").write_text("x\n3\n")
    assert read_table(tmp_path / "data[1]*.csv").frame["x"].tolist() == [1]


def test_a_missing_file_suggests_the_nearest_name(folder):
    with fails("TB101", "there is no file", "a.cvs", 'Did you mean "a.csv"?'):
        find(folder / "a.cvs")
    with fails("TB101", "there is no file"):
        find(folder / "nowhere" / "a.csv")
    with pytest.raises(InputError) as caught:
        find(folder / "zzzzzzz")
    assert "Did you mean" not in str(caught.value)


def test_other_ways_of_naming_nothing(folder, monkeypatch):
    monkeypatch.chdir(folder)
    with fails("TB101", 'Did you mean "a.csv"?'):
        find("a.csvv")
    with fails("TB101", "no file fits the pattern"):
        find(str(folder / "*.parquet"))
    with fails("TB101", "no file is named"):
        open_table([])
    with fails("TB101", "topbin reads local files"):
        open_table("https://example.org/a.csv")
    with fails("TB006", "a table must be a path, a list of paths, or a pandas", "got int"):
        open_table([1, 2])


def test_a_folder_is_not_a_table(folder, tmp_path):
    with fails("TB102", "is a folder, not a table", f'Did you mean "{folder}/*.csv"?'):
        find(folder)
    (tmp_path / "empty").mkdir()
    with fails("TB102", "is a folder, not a table: it is empty", "Name a file"):
        find(tmp_path / "empty")


def test_files_that_are_no_tables(folder, tmp_path):
    (tmp_path / "zero.csv").touch()
    with fails("TB102", "zero.csv", "is empty (0 bytes)"):
        open_table(tmp_path / "zero.csv")
    with fails("TB102", "unknown format", ".parquet"):
        open_table(folder / "notes.md")
    with fails("TB102", "not a regular file"):
        find(os.devnull)


def test_a_file_that_may_not_be_opened(folder, monkeypatch):
    def deny(path, mode):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("topbin.data.paths.open", deny, raising=False)
    with fails("TB102", "cannot be opened: Permission denied"):
        open_table(folder / "a.csv")


def test_files_of_several_formats_are_one_table_if_they_fit_together(folder):
    pd.DataFrame({"x": [2.5]}).to_parquet(folder / "c.parquet")
    mixed = [folder / "a.csv", folder / "c.parquet", folder / "a.tsv"]
    assert read_table(mixed).frame["x"].tolist() == [1.0, 2.5, 1.0]
    (folder / "a.tsv").write_text("x\nword\n")
    with fails("TB106", 'column "x" holds numbers', 'text (VARCHAR) in "', "a.tsv"):
        open_table(mixed)


def test_one_database_at_a_time(tmp_path):
    for name in ("a.db", "b.db"):
        (tmp_path / name).write_bytes(b"SQLite format 3\0")
    with fails("TB102", "is a database; name one database and no other file"):
        open_table(str(tmp_path / "*.db"))


def test_the_first_bytes_win_over_the_ending(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"PAR1")
    (tmp_path / "a.db").write_bytes(b"\0" * 8 + b"DUCK" + b"\0" * 8)
    assert format_of(str(tmp_path / "a.csv"), FORMATS).name == "parquet"
    assert format_of(str(tmp_path / "a.db"), FORMATS).name == "duckdb"


def test_gz_is_looked_through(tmp_path):
    with gzip.open(tmp_path / "a.csv.gz", "wt") as handle:
        handle.write("x,y\n1,2\n")
    assert format_of(str(tmp_path / "a.csv.gz"), FORMATS).name == "csv"
    assert read_table(tmp_path / "a.csv.gz").frame.values.tolist() == [[1, 2]]


def test_a_cut_gz_is_a_coded_error(tmp_path):
    whole = gzip.compress(b"x,y\n" + os.urandom(2000).hex().encode() + b",2\n")
    (tmp_path / "a.csv.gz").write_bytes(whole[:400])
    with fails("TB102", "cannot be read", "ended before"):
        read_table(tmp_path / "a.csv.gz")
    (tmp_path / "a.csv.gz").write_bytes(whole[:300] + b"\0\1" * 100 + whole[500:])
    with fails("TB102", "cannot be read"):
        read_table(tmp_path / "a.csv.gz")


def test_names_are_matched_without_case():
    assert nearest("IS_FRAUD", ["is_fraud"]) == ' Did you mean "is_fraud"?'
    assert nearest("qqq", ["is_fraud"]) == ""


def test_an_unknown_column_shows_what_there_is():
    known = [f"column_{i}" for i in range(20)]
    with fails("TB103", 'it has no column "colum_3"', 'Did you mean "column_3"?', "and 12 more"):
        check_columns(["column_1", "colum_3"], known, "it")
