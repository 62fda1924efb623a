"""What topbin writes it reads again, whatever the columns are called and the cells hold."""

import csv
import shutil

import pandas as pd
import pytest
from claims import small_run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stored import result_of

from topbin.data.write import in_front, write_table
from topbin.job import files
from topbin.job.audits.draw import draw_audit
from topbin.job.audits.judge import read_audit

OURS = ["row", "rank", "probability", "is_positive", "about this file", "row of the table"]
odd = st.sampled_from(
    [f(name) for name in OURS for f in (str, str.upper, str.title, " {} ".format)]
)
texts = st.text(max_size=8)
names = st.lists(
    odd | texts | st.sampled_from(["=x", "'=x", "", " ", "a\0b", "\ufeffrow", '"', "a,b", "\r\n"]),
    min_size=1,
    max_size=5,
    unique=True,
)
cells = texts | st.sampled_from(
    ["a\0b", "=1+1", "\0", "'", '"', ",", "\n", "\r", "nan", "1", "a;b"]
)
ROWS = 6


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return small_run(tmp_path_factory.mktemp("own") / "run")


def label(path):
    """Fill in the answers as a spreadsheet would, and change nothing else."""
    with path.open(newline="", encoding="utf-8") as handle:
        header, *rows = csv.reader(handle)
    place = header.index("is_positive")
    for row in rows:
        row[place] = "yes"
    with path.open("w", newline="", encoding="utf-8") as handle:
        csv.writer(handle, quoting=csv.QUOTE_ALL).writerows([header, *rows])


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(names, st.lists(cells, min_size=ROWS, max_size=ROWS))
def test_files_of_any_table_come_back(run, tmp_path_factory, columns, values):
    folder = tmp_path_factory.mktemp("any")
    shutil.copytree(run, folder / "run")
    scored = len(pd.read_parquet(run / "unlabeled.parquet", columns=["row"]))
    numbers = list(range(11, 11 + scored))
    frame = pd.DataFrame(dict.fromkeys(columns, (values * scored)[:scored]))
    write_table(folder / "run" / "unlabeled.parquet", in_front(frame, {"row": numbers}), force=True)
    listed = in_front(frame[:ROWS], {"rank": 1, "row": numbers[:ROWS], "probability": 0.5})
    write_table(folder / "run" / "candidates.csv", listed, force=True)
    draw_audit(folder / "run", 4, folder / "a.csv")
    label(folder / "a.csv")
    shown = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "page", lambda result, model, rows, *_: str(shown.append(rows)))
        assert read_audit(folder / "run", folder / "a.csv").n_positive == 4
    assert len(shown[0]) == ROWS
    assert len(shown[0][0]) == min(12, len(columns) + 3)
    assert result_of(folder / "run")["audit"]["n"] == 4


@pytest.mark.parametrize("name", ["Row", "Rank", "Probability", "Is_positive"])
def test_columns_named_like_ours_get_another_name(name):
    found = in_front(
        pd.DataFrame({name: [1]}), {"rank": 1, "row": 1, "is_positive": "", "probability": 0.5}
    )
    assert f"{name} of the table" in found
