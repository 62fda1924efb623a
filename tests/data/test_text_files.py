"""Folders of .txt files: one row per file; what is no text is a coded error that names the file."""

import os

import numpy as np
import pytest
from asked import asked
from click.testing import CliRunner
from coded import fails

import topbin as tb
from topbin.cli import main
from topbin.data import open_table, read_table
from topbin.job.prepare import prepare


@pytest.fixture
def docs(tmp_path):
    """Reviews: the known good ones, and others of which 60 of 150 are good."""
    rng = np.random.default_rng(0)
    words = {
        True: ["lovely", "warm", "brilliant", "moving", "gem"],
        False: ["dull", "slow", "weak", "boring", "mess"],
    }
    common = ["film", "story", "actor", "scene", "music", "plot", "camera", "ending"]
    for side, goods in (("yes", [True] * 120), ("rest", [True] * 60 + [False] * 90)):
        folder = tmp_path / "docs" / side
        folder.mkdir(parents=True)
        for k, good in enumerate(goods):
            text = [*rng.choice(words[good], 5), *rng.choice(common, 12)]
            (folder / f"review {k} – café.txt").write_text(" ".join(rng.permutation(text)))
    return tmp_path / "docs"


def test_two_folders_give_an_answer(docs, monkeypatch):
    monkeypatch.chdir(docs.parent)
    given = ["--positives", "docs/yes", "--unlabeled", "docs/rest"]
    done = CliRunner().invoke(main, ["fit", *given, "--preset", "fast", "-o", "run"])
    assert done.exit_code == 0, done.output
    assert "1 text" in done.output
    result = tb.load("run")
    scored = result.score(read_table("docs/rest"))
    good = scored["file"].str.extract(r"review (\d+)")[0].astype(int) < 60
    assert ((scored["topbin_probability"] > 0.5) == good).mean() > 0.9
    first = (docs.parent / "run/candidates.csv").read_text().splitlines()
    assert first[0].startswith("rank,row,probability,file,text,reason_1")
    assert "docs/rest/review" in first[1]
    for engine in ([], ["--engine", "local"]):
        out = "scored" if engine else "scored.csv"
        done = CliRunner().invoke(main, ["score", "run", "docs/rest", "-o", out, *engine])
        assert done.exit_code == 0, done.output
    whole = read_table("scored.csv").frame["topbin_probability"]
    parts = read_table("scored/*.parquet").frame["topbin_probability"]
    np.testing.assert_allclose(np.sort(whole), np.sort(parts))


def test_the_screen_says_what_folders_have_beside_texts(docs):
    assert not prepare(asked(docs / "rest", positives=docs / "yes")).findings
    (docs / "yes" / "scan.pdf").write_bytes(b"%PDF")
    (docs / "rest" / "notes.md").write_text("no text")
    (docs / "rest" / "empty.txt").write_text("")
    lines = prepare(asked(docs / "rest", positives=docs / "yes")).lines()
    told = "2 files in folders of texts were skipped because they do not end in .txt."
    assert f"noticed         other-files: {told}" in lines
    told = "1 text file is empty; it counts as a row."
    assert f"noticed         empty-texts: {told}" in lines


def test_the_rows_of_a_folder(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "b.txt").write_bytes("\ufeffzwei".encode())
    (tmp_path / "in" / "ä 1.TXT").write_bytes("drei".encode("utf-16"))
    (tmp_path / "a.txt").write_text("")
    (tmp_path / "cover.png").write_bytes(b"\x89PNG")
    (tmp_path / ".hidden").write_text("")
    (tmp_path / "._a.txt").write_bytes(b"\0\5\x16\7")  # what macOS leaves beside a file
    (tmp_path / "in" / "loop").symlink_to(tmp_path)
    table = open_table(tmp_path)
    assert table.rows == 3
    assert table.id_column == "file"
    assert "without 1 other file" in table.files[0].name
    frame = table.whole().frame
    assert frame["text"].tolist() == ["", "zwei", "drei"]
    assert frame["file"].tolist() == [str(tmp_path / n) for n in ("a.txt", "b.txt", "in/ä 1.TXT")]
    (rows,) = table.files[0].cut(2)[1].batches()
    assert rows.frame["text"].tolist() == ["drei"]


def test_a_folder_that_cannot_be_searched_is_said(tmp_path, monkeypatch):
    (tmp_path / "in").mkdir()
    (tmp_path / "a.txt").write_text("a")
    listed = os.scandir

    def refused(place):
        if str(place).endswith("in"):
            raise PermissionError(13, "Permission denied", str(place))
        return listed(place)

    monkeypatch.setattr(os, "scandir", refused)
    with fails("TB130", 'in" cannot be searched: Permission denied'):
        open_table(tmp_path)


def test_what_is_no_text(tmp_path):
    with fails("TB102", "is a folder, not a table", "or a folder of .txt files"):
        open_table(tmp_path)
    (tmp_path / "a.txt").write_bytes(b"PK\x03\x04\x00\x00")
    with fails("TB140", 'a.txt" is called .txt but is not text: it contains NUL bytes'):
        read_table(tmp_path)
    (tmp_path / "a.txt").write_bytes("Grüße".encode("latin1"))
    with fails("TB141", 'a.txt" is not UTF-8: byte 3 is 0xfc', "iconv -f latin1"):
        read_table(tmp_path)
    (tmp_path / "t.csv").write_text("x\n1\n")
    with fails("TB102", 'Did you mean "', "*.csv"):
        open_table(tmp_path)
