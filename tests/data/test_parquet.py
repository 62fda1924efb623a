"""Parquet in parts and behind an address; `file://` stands for services that Arrow reads alike."""

import numpy as np
import pandas as pd
import pytest
from score_files import scored, write

from topbin.core.errors import InputError
from topbin.data import open_table, read_table, write_table
from topbin.data.formats.parquet import find_behind, stamp
from topbin.engines import Local, tails_from

COLUMNS = {"score": "score", "label": "label"}


@pytest.fixture
def folder(tmp_path):
    write(tmp_path, scored())
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "part-9.parquet").write_bytes(b"of another folder")
    return tmp_path


def test_an_address_gives_the_bits_of_the_path(folder):
    found = tails_from(Local(), f"file://{folder}/*.parquet", **COLUMNS)
    wanted = tails_from(Local(), f"{folder}/*.parquet", **COLUMNS)
    assert found == wanted
    one = f"file://{folder}/part-1.parquet"
    assert list(find_behind(one)) == [one]
    assert list(find_behind(f"file://{folder}/part-?.parquet"))[1] == one
    assert stamp(one) == stamp(one.removeprefix("file://"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none-*.parquet", "TB101 there is no file .*, or none that fits it"),
        ("none.parquet", "TB101 there is no file .*, or none that fits it"),
        ("deep", "TB101 there is no file .*, or none that fits it"),
        ("away/*.parquet", r"TB102 .* cannot be reached"),
        ("a.csv", "TB102 .* is not parquet; only parquet files are read from an address"),
    ],
)
def test_what_is_not_behind_it_is_refused(folder, name, message):
    (folder / "a.csv").write_text("score,label\n1,1\n")
    with pytest.raises(InputError, match=message):
        open_table(f"file://{folder}/{name}")


def test_an_unknown_service_and_a_damaged_file_are_said(folder):
    with pytest.raises(InputError, match=r'TB102 "ftp://a/b.parquet" cannot be used'):
        open_table("ftp://a/b.parquet")
    bad = f"file://{folder}/deep/part-9.parquet"
    with pytest.raises(InputError, match=r"TB102 .*part-9.parquet.* cannot be read"):
        tails_from(Local(), bad, **COLUMNS)
    kept = tails_from(Local(), [f"file://{folder}/*.parquet", bad], skip_bad=True, **COLUMNS)
    assert kept == tails_from(Local(), f"{folder}/*.parquet", **COLUMNS)


def test_all_rows_behind_an_address_are_those_of_the_path(folder):
    pattern = f"{folder}/part-*.parquet"
    here, there = read_table(pattern), read_table(f"file://{pattern}")
    assert there.hash() == here.hash()
    assert open_table(f"file://{pattern}").rows == here.rows
    with pytest.raises(InputError, match=r"TB113 .* a query reads files on the disk only"):
        open_table(f"file://{pattern}", sql="select * from data")


def test_parts_have_places_that_do_not_depend_on_the_cut(folder, monkeypatch):
    table = open_table(f"{folder}/part-*.parquet")
    for rows in (1, 700, 10**6):
        monkeypatch.setattr("topbin.data.table.PART_ROWS", rows)
        batches = [batch for part in table.placed_parts() for batch in part.batches(["score"], 90)]
        assert np.concatenate([batch.places for batch in batches]).tolist() == list(range(3000))
        scores = np.concatenate([batch.numbers("score") for batch in batches])
        assert np.array_equal(scores, scored()["score"])


def test_a_column_that_pandas_calls_an_index_is_a_column(tmp_path):
    frame = pd.DataFrame({"case": [7, 3, 4], "x": [1.0, 2.0, 3.0]}).set_index("case")
    frame.to_parquet(tmp_path / "a.parquet")
    (part,) = open_table(tmp_path / "a.parquet").parts()
    (batch,) = part.batches()
    assert batch.frame.to_dict("list") == {"case": [7, 3, 4], "x": [1.0, 2.0, 3.0]}
    assert batch.frame.equals(read_table(tmp_path / "a.parquet").frame[list(batch.kinds)])


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_a_folder_with_an_equals_sign_makes_no_column(tmp_path, ending):
    folder = tmp_path / "x=7"
    folder.mkdir()
    write_table(folder / f"a.{ending}", pd.DataFrame({"x": [1, 2], "score": [0.5, 0.25]}))
    table = open_table(folder / f"a.{ending}")
    assert table.whole().frame["x"].tolist() == [1, 2]
    (part,) = table.parts()
    assert [batch.frame["x"].tolist() for batch in part.batches()] == [[1, 2]]


def test_a_column_of_null_fits_any_type_and_only_if_it_is_one_itself(tmp_path):
    """A column has the type null where its writer saw no value, as in an empty part."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    inside = arrow.array([{"town": None}], arrow.struct([("town", arrow.null())]))
    files = [tmp_path / "filled.parquet", tmp_path / "null.parquet"]
    for path, towns in zip(files, (arrow.array(["Ulm"]), arrow.nulls(1)), strict=True):
        parquet.write_table(arrow.table({"town": towns, "inside": inside}), path)
    assert [open_table(path).kinds["town"] for path in files] == ["string", "blank"]
    towns = read_table(files).frame["town"]
    assert towns[0] == "Ulm"
    assert towns.isna().tolist() == [False, True]
