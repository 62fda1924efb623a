"""Finding files: by path, pattern or list; by their first bytes; and a hint when there is none."""

import gzip
import os

import pytest
from coded import fails

from topbin.core.errors import InputError
from topbin.data import read_table
from topbin.data.find import check_columns, find_source, nearest


@pytest.fixture
def folder(tmp_path):
    for name in ("b.csv", "a.csv", "a.tsv", "notes.md"):
        (tmp_path / name).write_text("x\n1\n")
    return tmp_path


def test_a_pattern_is_sorted_and_a_list_is_not(folder):
    found = find_source(str(folder / "*.csv"))
    assert [path.name for path in found.paths] == ["a.csv", "b.csv"]
    assert found.name == f'"{folder / "a.csv"}" and 1 more'
    listed = find_source([folder / "b.csv", folder / "a.csv"])
    assert [path.name for path in listed.paths] == ["b.csv", "a.csv"]


def test_a_name_that_looks_like_a_pattern_is_taken_as_written(tmp_path):
    (tmp_path / "data[1]*.csv").write_text("x\n1\n")
    (tmp_path / "data1.csv").write_text("x\n2\n")
    (tmp_path / "data[1]z.csv").write_text("x\n3\n")
    assert read_table(tmp_path / "data[1]*.csv").frame["x"].tolist() == [1]


def test_a_missing_file_suggests_the_nearest_name(folder):
    with fails("TB101", "there is no file", "a.cvs", 'Did you mean "a.csv"?'):
        find_source(folder / "a.cvs")
    with fails("TB101", "there is no file"):
        find_source(folder / "nowhere" / "a.csv")
    with pytest.raises(InputError) as caught:
        find_source(folder / "zzzzzzz")
    assert "Did you mean" not in str(caught.value)


def test_other_ways_of_naming_nothing(folder, monkeypatch):
    monkeypatch.chdir(folder)
    with fails("TB101", 'Did you mean "a.csv"?'):
        find_source("a.csvv")
    with fails("TB101", "no file fits the pattern"):
        find_source(str(folder / "*.parquet"))
    with fails("TB101", "no file is named"):
        find_source([])
    with fails("TB101", "topbin reads local files"):
        find_source("https://example.org/a.csv")


def test_a_folder_is_not_a_table(folder, tmp_path):
    with fails("TB102", "is a folder, not a table", f'Did you mean "{folder}/*.csv"?'):
        find_source(folder)
    (tmp_path / "empty").mkdir()
    with fails("TB102", "Name a file in it"):
        find_source(tmp_path / "empty")


def test_files_that_are_no_tables(folder, tmp_path):
    (tmp_path / "zero.csv").touch()
    with fails("TB102", "zero.csv", "is empty (0 bytes)"):
        find_source(tmp_path / "zero.csv")
    with fails("TB102", "unknown kind", ".parquet"):
        find_source(folder / "notes.md")
    with fails("TB102", "not a regular file"):
        find_source(os.devnull)


def test_a_file_that_may_not_be_opened(folder, monkeypatch):
    def deny(self, mode):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", deny)
    with fails("TB102", "cannot be opened: Permission denied"):
        find_source(folder / "a.csv")


def test_files_of_two_formats_are_not_one_table(folder):
    with fails("TB106", "is a csv file", "is a tsv file"):
        find_source([folder / "a.csv", folder / "b.csv", folder / "a.tsv"])


def test_one_database_at_a_time(tmp_path):
    for name in ("a.db", "b.db"):
        (tmp_path / name).write_bytes(b"SQLite format 3\0")
    with fails("TB102", "one database file at a time; got 2"):
        find_source(str(tmp_path / "*.db"))


def test_the_first_bytes_win_over_the_ending(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"PAR1")
    (tmp_path / "a.db").write_bytes(b"\0" * 8 + b"DUCK" + b"\0" * 8)
    assert find_source(tmp_path / "a.csv").format == "parquet"
    assert find_source(tmp_path / "a.db").format == "duckdb"


def test_gz_is_looked_through(tmp_path):
    with gzip.open(tmp_path / "a.csv.gz", "wt") as handle:
        handle.write("x,y\n1,2\n")
    assert find_source(tmp_path / "a.csv.gz").format == "csv"
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
    with fails("TB103", 'no column "colum_3" in it', 'Did you mean "column_3"?', "and 12 more"):
        check_columns(["column_1", "colum_3"], known, "it")
