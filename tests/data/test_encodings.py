"""Csv files in other encodings are read, and the screen says so."""

import gzip

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import topbin as tb
from topbin.cli import main
from topbin.data.table import open_table, read_table

TEXT = "größe,who,preis\n1.5,Müller,5 €\n2.5,Zoë,“7”\n3.5,Ana,…\n"


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
@pytest.mark.parametrize("packed", [False, True])
def test_every_encoding_gives_the_same_rows(tmp_path, encoding, packed):
    (tmp_path / "utf8.csv").write_text(TEXT)
    content = TEXT.encode(encoding)
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(content) if packed else content)
    read, plain = read_table(path), read_table(tmp_path / "utf8.csv")
    pd.testing.assert_frame_equal(read.frame, plain.frame)
    assert read.hash() == plain.hash()


def test_files_of_several_encodings_are_one_table(tmp_path):
    for name, encoding in (("a", "utf-8"), ("b", "cp1252"), ("c", "utf-16")):
        (tmp_path / f"{name}.csv").write_bytes(TEXT.encode(encoding))
    table = open_table(str(tmp_path / "*.csv"))
    assert table.rows == 9
    assert table.whole().frame["who"].tolist() == ["Müller", "Zoë", "Ana"] * 3
    again = [batch.frame for part in table.parts(2) for batch in part.batches()]
    assert pd.concat(again)["who"].tolist() == ["Müller", "Zoë", "Ana"] * 3


def test_a_file_that_changes_is_read_again(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("x,who\n1,Müller\n".encode("cp1252"))
    assert read_table(path).frame["who"].tolist() == ["Müller"]
    path.write_bytes("x,who\n1,Schröder\n".encode("cp1252"))
    assert read_table(path).frame["who"].tolist() == ["Schröder"]


def claims(path, encoding):
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3 == 0
    frame = pd.DataFrame({"x": rng.normal(3.0 * y), "who": rng.choice(["Müller", "Zoë"], 120)})
    text = frame.assign(known=y & (rng.random(120) < 0.6)).to_csv(index=False)
    path.write_bytes(text.encode(encoding))


def test_the_screen_says_how_it_was_read_and_the_run_can_be_used(tmp_path):
    claims(tmp_path / "t.csv", "cp1252")
    words = ["fit", str(tmp_path / "t.csv"), "--label", "known", "--preset", "fast"]
    done = CliRunner().invoke(main, [*words, "-o", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    assert 't.csv" is not UTF-8 text; it was read as Windows-1252, such as "' in done.output
    drawn = CliRunner().invoke(main, ["audit", str(tmp_path / "run"), "--n", "5"])
    assert drawn.exit_code == 0, drawn.output
    claims(tmp_path / "utf8.csv", "utf-8")
    scorer = tb.load(tmp_path / "run")
    here, there = (scorer.score(tmp_path / f"{name}.csv") for name in ("t", "utf8"))
    pd.testing.assert_frame_equal(here, there)
