"""Files behind an address: `file://` stands for the services, which Arrow reads in the same way."""

import pytest
from score_files import scored, write

from topbin.core.errors import InputError
from topbin.data.addresses import stamp
from topbin.data.files import find_files
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
    assert find_files(one) == [one]
    assert find_files(f"file://{folder}/part-?.parquet")[1] == one
    assert stamp(one) == stamp(one.removeprefix("file://"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none-*.parquet", "TB101 no file is called or fits"),
        ("none.parquet", "TB101 no file is called or fits"),
        ("deep", "TB101 no file is called or fits"),
        ("away/*.parquet", r"TB102 .* cannot be reached"),
        ("a.csv", "TB102 .* is not parquet; of addresses only that is read"),
    ],
)
def test_what_is_not_behind_it_is_refused(folder, name, message):
    (folder / "a.csv").write_text("score,label\n1,1\n")
    with pytest.raises(InputError, match=message):
        find_files(f"file://{folder}/{name}")


def test_an_unknown_service_and_a_damaged_file_are_said(folder):
    with pytest.raises(InputError, match=r'TB102 "ftp://a/b.parquet" cannot be used'):
        find_files("ftp://a/b.parquet")
    bad = f"file://{folder}/deep/part-9.parquet"
    with pytest.raises(InputError, match=r"TB102 .*part-9.parquet.* cannot be read"):
        tails_from(Local(), bad, **COLUMNS)
    kept = tails_from(Local(), [f"file://{folder}/*.parquet", bad], skip_bad=True, **COLUMNS)
    assert kept == tails_from(Local(), f"{folder}/*.parquet", **COLUMNS)
