"""Files that go out to people come back: partly filled, in any order, from any spreadsheet."""

import warnings

import numpy as np
import pandas as pd
import pytest
from claims import claims, small_run
from click.testing import CliRunner
from coded import fails
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import topbin as tb
from topbin.cli import main
from topbin.core.labels import NO, NO_ANSWER, NOT_SURE, YES, YES_AND_NO
from topbin.evaluate.audit import read_answers
from topbin.job.audits import judge as audits
from topbin.job.audits.answers import ANSWERS, read_state
from topbin.job.audits.draw import draw_audit
from topbin.job.audits.judge import read_audit

N = 12
MEANT = {
    "positive": ["yes", "Ja", "OUI", "sí", "si\u0301", "sim", "да", "1", "True", " y "],
    "negative": ["no", "Nein", "NON", "não", "nao", "нет", "0", "False", "n"],
    "unsure": ["?", "unsure", "Maybe"],
    None: ["", "NA", "n/a", "blank"],
}
CELLS = [(meaning, cell) for meaning, cells in MEANT.items() for cell in cells]


@pytest.fixture
def run(tmp_path):
    return small_run(tmp_path / "run")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A run with one draw, and the file of it."""
    folder = tmp_path_factory.mktemp("drawn")
    run = small_run(folder / "run")
    draw_audit(run, N, folder / "a.csv")
    return run, folder / "a.csv"


def write(frame, path):
    if path.suffix == ".xlsx":
        frame.to_excel(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")


@given(
    cells=st.lists(st.sampled_from(CELLS), min_size=N, max_size=N),
    order=st.permutations(range(N)),
    ending=st.sampled_from([".csv", ".tsv", ".xlsx"]),
)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_a_person_wrote_comes_back(drawn, monkeypatch, cells, order, ending):
    pytest.importorskip("openpyxl")
    run, path = drawn
    (run / ANSWERS).unlink(missing_ok=True)
    frame = pd.read_csv(path).assign(is_positive=[cell for _, cell in cells])
    other = path.with_suffix(f".back{ending}")
    write(frame.iloc[list(order)], other)
    with monkeypatch.context() as patch:
        patch.setattr(audits, "judge_audit", lambda *_, **__: None)  # which has tests of its own
        read_audit(run, other)
    said = {row: meaning for row, (meaning, _) in zip(frame["row"], cells, strict=True) if meaning}
    assert read_state(run).answers == said


@pytest.mark.parametrize("blank", [0, 5, 19])
@pytest.mark.parametrize("ending", [".csv", ".xlsx"])
def test_a_single_empty_cell_does_no_harm(run, tmp_path, blank, ending):
    draw_audit(run, 20, tmp_path / "a.csv")
    frame = pd.read_csv(tmp_path / "a.csv").assign(is_positive=["yes", "no"] * 10)
    frame.loc[blank, "is_positive"] = None
    path = tmp_path / f"back{ending}"
    write(frame.sample(frac=1, random_state=0), path)
    found = read_audit(run, path)
    assert found.n_positive + found.n_negative == 19
    assert found.n_blank == (blank < 19)  # the last row of the draw counts as not drawn


def test_rows_that_nobody_reached_do_not_widen_the_interval(run, tmp_path):
    draw_audit(run, 100, tmp_path / "a.csv")
    frame = pd.read_csv(tmp_path / "a.csv")
    frame["is_positive"] = (["yes", "no", "no"] * 14)[:40] + [None] * 60
    frame.to_csv(tmp_path / "a.csv", index=False)
    found = read_audit(run, tmp_path / "a.csv")
    assert (found.n, found.n_blank) == (40, 0)


def test_empty_lines_of_a_spreadsheet_are_no_rows(run, tmp_path):
    draw_audit(run, 20, tmp_path / "a.csv")
    frame = pd.read_csv(tmp_path / "a.csv").assign(is_positive="no")
    frame.to_csv(tmp_path / "a.csv", index=False, sep=";")
    with (tmp_path / "a.csv").open("a") as handle:
        handle.write(";" * (len(frame.columns) - 1) + "\n")
    assert read_audit(run, tmp_path / "a.csv").n_negative == 20


@pytest.mark.parametrize("more", [[], ["--refit"]])
def test_a_file_that_is_refused_changes_nothing(run, tmp_path, more):
    draw_audit(run, 20, tmp_path / "a.csv")
    frame = pd.read_csv(tmp_path / "a.csv").assign(is_positive=["yes"] * 19 + ["hmm"])
    frame.to_csv(tmp_path / "a.csv", index=False)
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    words = ["audit", str(run), "--labels", str(tmp_path / "a.csv"), *more]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 1
    assert done.stderr.startswith("TB002 audit answers not understood: 'hmm' (1). Write yes or no")
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_no_word_means_two_things():
    assert not YES & NO
    assert not (YES | NO) & NOT_SURE
    assert not (YES | NO | NOT_SURE) & NO_ANSWER
    for pair in YES_AND_NO:
        assert read_answers([word.upper() for word in pair]) == ["positive", "negative"], pair


# --- what Python gets ---


def test_candidates_have_the_index_of_the_frame():
    frame = claims(300)
    frame.index = [f"case {i}" for i in np.random.default_rng(0).permutation(300)]
    found = tb.fit(frame, "known", id="case", budget="fast").candidates(10)
    assert "row" not in found
    rows = frame.loc[found.index]
    assert not rows["known"].any()
    assert rows["case"].tolist() == found["case"].tolist()


def test_candidates_of_two_frames_have_the_index_of_the_unlabeled_one():
    frame = claims(300).set_index("case", drop=False).rename_axis(None)
    known = frame["known"]
    two = frame.drop(columns="known")
    result = tb.fit(two[~known], positives=two[known], id="case", budget="fast")
    found = result.candidates(10)
    assert found.index.tolist() == found["case"].tolist()


def test_candidates_of_a_file_count_from_zero_and_files_from_one(tmp_path):
    claims(300).to_csv(tmp_path / "t.csv", index=False)
    result = tb.fit(tmp_path / "t.csv", "known", id="case", budget="fast")
    found = result.candidates()
    assert (
        pd.read_csv(tmp_path / "t.csv").loc[found.index, "case"].tolist() == found["case"].tolist()
    )
    stored = pd.read_csv(result.save(tmp_path / "run") / "candidates.csv")
    assert stored["row"].tolist() == (found.index + 1).tolist()
    assert "Row 1 is the first one below the header" in (tmp_path / "run/report.html").read_text()


def test_a_saved_result_can_be_audited_and_another_says_how(tmp_path):
    result = tb.fit(claims(300), "known", id="case", budget="fast")
    with fails("TB114", "in memory only", "result.save("):
        tb.audit(result)
    result.save(tmp_path / "run")
    assert len(tb.audit(result).draw(5)) == 5
    with fails("TB006", "got int"):
        tb.audit(3)


def test_a_table_of_many_columns_gives_no_warnings(tmp_path):
    rng = np.random.default_rng(0)
    many = pd.DataFrame(rng.normal(size=(400, 150)), columns=[f"x{i}" for i in range(150)])
    frame = pd.concat([claims(), many], axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.PerformanceWarning)
        result = tb.fit(frame, "known", id="case", budget="fast")
        result.candidates(5, why=True)
        run = result.save(tmp_path / "run")
        draw_audit(run, 5, tmp_path / "a.csv")
        tb.load(run).score(frame)
