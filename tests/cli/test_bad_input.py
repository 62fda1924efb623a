"""What can be wrong with a file, a label or a disk: a code, a sentence, an exit status."""

import errno
import os

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from topbin.cli import main
from topbin.core.atomic import lock
from topbin.learn import Plan
from topbin.learn.defaults import PRESETS

ROWS = 80


def frame():
    rng = np.random.default_rng(0)
    positive = np.arange(ROWS) < 50
    return pd.DataFrame(
        {
            "name": [f"row {i}" for i in range(ROWS)],
            "x": rng.normal(size=ROWS) + 3 * positive,
            "y": rng.normal(size=ROWS),
            "known": (np.arange(ROWS) < 30).astype(int),
        }
    )


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setitem(PRESETS, "fast", Plan(outer=2, inner=2, repeats=1))


def call(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def fit_call(path, run, *more, label="known"):
    return call("fit", path, "--label", label, "--preset", "fast", "-o", run, *more)


def written(text):
    return lambda path: path.write_bytes(text if isinstance(text, bytes) else text.encode())


def wide(path):
    names = ",".join(f"c{i}" for i in range(100_000))
    path.write_text(f"known,{names}\n" + "\n".join("1" + ",1" * 100_000 for _ in range(2)) + "\n")


def labels(*values):
    return lambda path: frame().assign(known=np.resize(values, ROWS)).to_csv(path, index=False)


# What the file holds, its name, then the code, the exit status and words of the message.
BAD = {
    "missing": (lambda path: None, "t.csv", "TB101", 1, "t.csv"),
    "empty": (written(""), "t.csv", "TB102", 1, "is empty (0 bytes)"),
    "only a header": (written("x,known\n"), "t.csv", "TB001", 1, "columns but no rows"),
    "a directory": (lambda path: path.mkdir(), "t.csv", "TB102", 1, "is a folder, not a table"),
    "broken parquet": (written(b"PAR1 nonsense"), "t.parquet", "TB102", 1, "cannot be read"),
    "cut parquet": (
        lambda path: (frame().to_parquet(path), os.truncate(path, 900)),
        "t.parquet", "TB102", 1, "cannot be read",
    ),
    "ragged": (
        written("x,y,known\n1,2,1\n3,4,5,6\n"),
        "t.csv", "TB102", 1, "line 3 has 4 fields; the header has 3",
    ),
    "1e5 columns": (wide, "t.csv", "TB102", 1, "100,001 columns; a csv may have 30,000"),
    "not UTF-8": (
        written(b"x,who,known\n1,M\x81ller,1\n"),
        "t.csv", "TB102", 1, "not UTF-8 text (byte 0x81 in line 2)",
    ),
    "binary": (written(bytes(range(256))), "t.csv", "TB102", 1, "binary data"),
    "three label values": (
        labels("yes", "no", ""),
        "t.csv", "TB002", 1, "Likely: --positive yes --negative no   (blank = unlabeled)",
    ),
    "no positives": (labels(0), "t.csv", "TB003", 1, "no row is positive"),
    "all positives": (labels(1), "t.csv", "TB003", 1, "no row is unlabeled"),
    "an unknown label column": (
        lambda path: frame().rename(columns={"known": "knwon"}).to_csv(path, index=False),
        "t.csv", "TB103", 2, 'no column "known"',
    ),
    "two columns of one name": (written("x,x,known\n1,2,1\n"), "t.csv", "TB115", 1, '"x"'),
    "no usable column": (
        lambda path: frame()[["known"]].assign(c=1).to_csv(path, index=False),
        "t.csv", "TB108", 1, "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_bad_table_is_a_coded_sentence_and_leaves_nothing(tmp_path, case):
    make, name, code, status, words = BAD[case]
    make(tmp_path / name)
    done = fit_call(tmp_path / name, tmp_path / "run")
    assert done.exit_code == status
    assert done.stderr.startswith(f"{code} ")
    assert words in done.stderr
    assert "Traceback" not in done.output
    assert not (tmp_path / "run").exists()


def test_the_nearest_column_is_suggested_and_label_values_are_shown(tmp_path):
    frame().to_csv(tmp_path / "t.csv", index=False)
    done = fit_call(tmp_path / "t.csv", tmp_path / "run", label="knwon")
    assert 'Did you mean "known"?' in done.stderr
    labels("yes", "no", "")(tmp_path / "t.csv")
    done = fit_call(tmp_path / "t.csv", tmp_path / "run")
    assert done.stderr.startswith(
        "TB002 column \"known\" has 3 values: 'yes' (27), 'no' (27), blank (26).\n      Which"
    )


@pytest.fixture(scope="module")
def strange(tmp_path_factory):
    """One run of all that is unusual and yet fine: the file, its path, its cells."""
    folder = tmp_path_factory.mktemp("Größe & <b>") / "a 'quoted' folder 数"
    folder.mkdir()
    table = frame()
    table["name"] = np.where(table.index % 2 == 0, "=cmd()", "<script>alert(1)</script>")
    table.loc[::3, "name"] = "@SUM(A1)"
    (folder / "t 1.csv").write_text("\ufeff" + table.to_csv(index=False), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PRESETS, "fast", Plan(outer=2, inner=2, repeats=1))
        done = fit_call(folder / "t 1.csv", folder / "run 1", "--id", "name")
    assert done.exit_code == 0, done.output
    return folder / "run 1"


def test_a_byte_order_mark_is_no_part_of_the_first_name(strange):
    assert "name" in pd.read_csv(strange / "candidates.csv").columns


def test_formulas_are_escaped_wherever_rows_are_written(strange):
    call("audit", strange, "--n", 40)
    call("score", strange, strange.parent / "t 1.csv", "-o", strange / "s.csv")
    for name in ("candidates.csv", "audit.csv", "s.csv"):
        cells = pd.read_csv(strange / name)["name"]
        assert set(cells.str[0]) <= {"'", "<"}
        assert "'=cmd()" in set(cells)


def test_html_is_escaped_in_the_report(strange):
    text = (strange / "report.html").read_text()
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text


def failing(number, at=0):
    """An operating system that fails from the `at`-th call on."""
    calls = iter(range(10**9))

    def call_(*_, **__):
        if next(calls) >= at:
            raise OSError(number, os.strerror(number))

    return call_


@pytest.mark.parametrize("at", [0, 3, 12])
def test_a_full_disk_leaves_nothing_half_written(tmp_path, monkeypatch, at):
    frame().to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.setattr(os, "fsync", failing(errno.ENOSPC, at))
    done = fit_call(tmp_path / "t.csv", tmp_path / "run")
    assert done.exit_code == 1
    assert done.stderr.startswith("TB105 cannot write")
    assert "the disk is full. Nothing was left half-written" in done.stderr
    left = [path.name for path in (tmp_path / "run").rglob("*")]
    assert "result.json" not in left
    assert not [name for name in left if name.endswith(".part")]
    monkeypatch.undo()
    if "run.toml" in left:
        assert fit_call(tmp_path / "t.csv", tmp_path / "run", "--force").exit_code == 0


def test_a_read_only_disk_is_said(tmp_path, monkeypatch):
    frame().to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.setattr(os, "mkdir", failing(errno.EROFS))
    done = fit_call(tmp_path / "t.csv", tmp_path / "run")
    assert done.exit_code == 1
    assert done.stderr.startswith("TB105 cannot write")
    assert "the disk is read-only" in done.stderr


def test_a_limit_on_file_sizes_is_said(tmp_path):
    resource = pytest.importorskip("resource", reason="file size limits are a matter of POSIX")
    frame().to_csv(tmp_path / "t.csv", index=False)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, hard))
    try:
        done = fit_call(tmp_path / "t.csv", tmp_path / "run")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert done.exit_code == 1
    assert done.stderr.startswith("TB105 cannot write")
    assert "the file would be larger than allowed" in done.stderr
    assert not (tmp_path / "run" / "result.json").exists()


def test_two_runs_into_one_folder(tmp_path):
    frame().to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "run").mkdir()
    with lock(tmp_path / "run"):
        done = fit_call(tmp_path / "t.csv", tmp_path / "run")
    assert done.exit_code == 1
    assert done.stderr.startswith('TB107 another run is writing to "')
    assert list((tmp_path / "run").iterdir()) == []


def test_a_folder_of_other_files_is_refused_even_with_force(tmp_path):
    frame().to_csv(tmp_path / "t.csv", index=False)
    done = fit_call(tmp_path / "t.csv", tmp_path, "--force")
    assert done.exit_code == 2
    assert done.stderr.startswith("TB104 the folder")
    assert (tmp_path / "t.csv").exists()


@pytest.mark.parametrize("verb", ["score", "audit", "report"])
def test_verbs_that_need_a_run_say_so(tmp_path, verb):
    more = [tmp_path / "t.csv", "-o", tmp_path / "s.csv"] if verb == "score" else []
    done = call(verb, tmp_path, *more)
    assert done.exit_code == 1
    assert done.stderr.startswith(f'TB114 "{tmp_path}" is not a run folder')


@pytest.mark.parametrize("verb", ["score", "audit", "report", "inspect"])
def test_a_run_that_is_not_complete_is_said_to_be_one(tmp_path, verb):
    (tmp_path / "run.toml").write_text("seed = 0\n")
    more = [tmp_path / "t.csv", "-o", tmp_path / "s.csv"] if verb == "score" else []
    done = call(verb, tmp_path, *more)
    assert done.exit_code == 1
    assert done.stderr.startswith(
        f'TB114 the run in "{tmp_path}" is not complete. Continue it with '
    )
    assert "--resume" in done.stderr


def test_a_query_of_the_file_by_its_name_is_told_what_the_rows_are_called(tmp_path):
    frame().to_csv(tmp_path / "claims.csv", index=False)
    asked = "--sql", "select * from claims"
    done = fit_call(tmp_path / "claims.csv", tmp_path / "run", *asked)
    assert done.stderr.startswith("TB113 the query fails on")
    assert "The rows of a file are called data: --sql 'select * from data'" in done.stderr
    assert "pg_class" not in done.stderr


@pytest.mark.parametrize("engine", [(), ("--engine", "local")])
def test_a_damaged_spreadsheet_is_to_be_saved_again(tmp_path, engine):
    (tmp_path / "t.xlsx").write_bytes(b"PK\3\4 and so on")
    done = fit_call(tmp_path / "t.xlsx", tmp_path / "run", *engine)
    assert done.stderr.startswith("TB102")
    assert "Save it again, as .xlsx or as .csv." in done.stderr
