"""The audit of a run: every draw can come back, whatever a spreadsheet did to its order."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from asked import asked
from claims import claims, fitted, small_run
from click.testing import CliRunner
from coded import fails
from stored import forge_result, result_of

import topbin as tb
from topbin.cli import main
from topbin.core.errors import InputError
from topbin.evaluate.audit import draw_weighted
from topbin.evaluate.audit.scored import Pooled, Scored, equally_likely
from topbin.job import files
from topbin.job.audits.answers import read_state
from topbin.job.audits.draw import draw_audit
from topbin.job.audits.judge import read_audit
from topbin.store.runs import open_run

pytestmark = pytest.mark.usefixtures("quick_fits")


@pytest.fixture
def run(tmp_path):
    """Fitted on a frame in memory, so that no file holds its rows."""
    return small_run(tmp_path / "run")


def filled(path, answer="no"):
    frame = pd.read_csv(path).assign(is_positive=answer)
    frame.to_csv(path, index=False)
    return frame


def test_a_run_fitted_on_a_frame_can_be_audited(run, tmp_path):
    given = [str(run), "--n", "30", "-o", str(tmp_path / "a.csv")]
    done = CliRunner().invoke(main, ["audit", *given])
    assert done.exit_code == 0, done.output
    drawn = filled(tmp_path / "a.csv")
    rows = claims().iloc[drawn["row"] - 1]
    assert not rows["known"].any()
    assert rows["case"].tolist() == drawn["case"].tolist()
    assert "known" not in drawn
    assert read_audit(run, tmp_path / "a.csv").n_negative == 30


def test_the_rows_kept_stand_in_the_order_of_the_scores(run, tmp_path):
    n_u = fitted().estimate.n_u
    draw_audit(run, n_u, tmp_path / "a.csv", stratified=True)
    sample = json.loads((run / "audit.json").read_text())["draws"][0]
    by_row = dict(zip(sample["row"], sample["stratum"], strict=True))
    data = fitted().data
    numbers = data.table.places[data.unlabeled_rows] + 1
    means = [
        np.mean(fitted().classifier.scores_u_[np.isin(numbers, rows)])
        for rows in ([r for r, s in by_row.items() if s == k] for k in (0, 9))
    ]
    assert means[0] < means[1]


def test_every_draw_can_come_back(run, tmp_path):
    draw_audit(run, 20, tmp_path / "a.csv")
    filled(tmp_path / "a.csv")
    draw_audit(run, 20, tmp_path / "b.csv", seed=5)
    draw_audit(run, 40, tmp_path / "c.csv", stratified=True)
    draw_audit(run, 20, tmp_path / "again.csv")
    filled(tmp_path / "c.csv")
    assert read_audit(run, tmp_path / "a.csv").n == 20
    both = read_audit(run, tmp_path / "c.csv")
    assert (both.kind, both.n) == ("weighted", 60)  # the kind that says most about the draws
    assert result_of(run)["audit"]["kind"] == "weighted"
    assert len(json.loads((run / "audit.json").read_text())["draws"]) == 3


def test_a_sorted_file_gives_each_row_its_own_answer(run, tmp_path):
    draw_audit(run, 40, tmp_path / "a.csv", stratified=True)
    frame = filled(tmp_path / "a.csv")
    frame["is_positive"] = np.where(frame["amount"] > 2, "yes", "no")
    frame.to_csv(tmp_path / "a.csv", index=False)
    as_drawn = read_audit(run, tmp_path / "a.csv")
    frame.sort_values("amount").to_csv(tmp_path / "a.csv", index=False)
    assert read_audit(run, tmp_path / "a.csv") == as_drawn


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f[1:], "1 missing, 0 there twice, 0 added"),
        (lambda f: pd.concat([f, f[:2]]), "0 missing, 2 there twice, 0 added"),
        (lambda f: pd.concat([f, f[:1].assign(row=10**6)]), "0 there twice, 1 added"),
        (lambda f: f.assign(row=range(10**6, 10**6 + len(f))), "has no row of any audit drawn"),
        (lambda f: f.assign(row="x"), "has no row of any audit drawn"),
    ],
)
def test_missing_double_and_foreign_rows_are_refused(run, tmp_path, change, words):
    draw_audit(run, 20, tmp_path / "a.csv")
    change(filled(tmp_path / "a.csv")).to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(InputError, match=f"TB117 .*{words}"):
        read_audit(run, tmp_path / "b.csv")


def test_draws_of_other_data_do_not_count(run, tmp_path):
    draw_audit(run, 20, tmp_path / "a.csv")
    filled(tmp_path / "a.csv")
    stored = json.loads((run / "audit.json").read_text())
    stored["draws"][0]["data"] = "sha256:other"
    (run / "audit.json").write_text(json.dumps(stored))
    with pytest.raises(InputError, match=r"TB114 .* has no audit; draw one first"):
        read_audit(run, tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("n", "words"), [(40, "equally many from each group"), (4, "without looking at the scores")]
)
def test_the_file_says_how_its_rows_were_drawn(run, tmp_path, n, words):
    sample = draw_audit(run, n, tmp_path / "a.csv", stratified=True)
    assert words in pd.read_csv(tmp_path / "a.csv")["about this file"][0]
    told = CliRunner().invoke(main, ["audit", str(run), "--n", str(n), "--stratified", "--force"])
    assert ("equally many" in told.stdout) == (sample.kind == "stratified")


def test_columns_of_a_frame_that_no_file_would_have(tmp_path):
    frame = claims().assign(**{"row": 7, "Amount": 1.5, "": "x", "tags": [["a"]] * 400})
    frame.loc[3, "Amount"] = np.nan
    run = tb.fit(frame, "known", id="case", budget="fast").save(tmp_path / "run")
    draw_audit(run, 5, tmp_path / "a.csv")
    drawn = pd.read_csv(tmp_path / "a.csv")
    assert (claims().iloc[drawn["row"] - 1]["case"].tolist()) == drawn["case"].tolist()
    assert (drawn["row of the table"] == 7).all()


def test_a_run_that_starts_over_leaves_no_rows_of_the_last_one(run):
    assert (run / "unlabeled.parquet").exists()
    with open_run(run, asked(seed=1), force=True):
        assert not (run / "unlabeled.parquet").exists()


def test_a_table_is_scored_as_a_frame_is(run, tmp_path):
    claims(30).to_csv(tmp_path / "new.csv", index=False)
    of_table = tb.load(run).score(tb.data.read_table(tmp_path / "new.csv"))
    of_frame = tb.load(run).score(claims(30))
    assert of_table["topbin_probability"].tolist() == of_frame["topbin_probability"].tolist()


@pytest.mark.parametrize("text", ["{", '{"rows": [1]}', "[1]"])
def test_a_damaged_list_of_draws_is_said(run, tmp_path, text):
    (run / "audit.json").write_text(text)
    with pytest.raises(InputError, match=r"TB114 .* does not say which rows were drawn"):
        draw_audit(run, 5, tmp_path / "a.csv")
    assert not (tmp_path / "a.csv").exists()


def answered(run, n, truth, **how):
    """Draw n rows, answer them by the truth, and judge."""
    opened = tb.audit(run)
    rows = opened.draw(n, **how)["row"]
    opened.record({row: bool(truth[row - 1]) for row in rows})
    return opened.judge(), set(rows)


def test_audits_of_a_run_add_up(run):
    truth = claims()["amount"] > 1.5
    first, rows = answered(run, 40, truth)
    second, more = answered(run, 60, truth)
    assert not rows & more  # no row is asked for twice
    assert (first.n, second.n, first.look, second.look) == (40, 100, 1, 2)
    width = [one.interval[1] - one.interval[0] for one in (first, second)]
    assert width[1] <= width[0]
    stored = result_of(run)
    assert stored["audit"]["n"] == 100
    assert stored["audit"]["assumes"] == "needs only random rows and right answers"
    assert stored["estimate"] == fitted().to_dict()["estimate"] | {
        "interval": list(fitted().estimate.interval),
        "posterior": {"quantiles": list(fitted().estimate.posterior.quantiles)},
        "alarms": stored["estimate"]["alarms"],
        "notes": stored["estimate"]["notes"],
    }  # the first estimate stays as it was
    assert tb.audit(run).judge() == second  # to look again at the same answers is the same look


@pytest.mark.parametrize("where", ["anywhere", "top", "recall"])
def test_an_audit_loads_the_model_once_and_the_next_one_loads_it_again(run, monkeypatch, where):
    opened = tb.audit(run)
    rows = opened.draw(20, where=where)["row"]
    opened.record({row: bool(row % 2) for row in rows})
    loaded, load = [], files.load
    monkeypatch.setattr(files, "load", lambda folder: loaded.append(folder) or load(folder))
    for times in (1, 2):
        opened.judge()
        assert loaded == [run / "model"] * times


def test_a_model_of_other_rows_is_refused(run, tmp_path):
    other = tb.fit(claims(200), "known", id="case", budget="fast").save(tmp_path / "other")
    opened = tb.audit(run)
    rows = opened.draw(200)["row"]
    opened.record({row: bool(row % 2) for row in rows})
    shutil.rmtree(run / "model")
    shutil.copytree(other / "model", run / "model")
    with fails("TB114", "its scores are of other rows than those of the run"):
        opened.judge()


def test_a_top_audit_is_a_kind_of_its_own_and_stands_beside_the_random_one(run):
    truth = claims()["amount"] > 1.5
    top, _ = answered(run, 20, truth, where="top")
    assert (top.kind, top.n) == ("top", 20)
    scores = fitted().evidence.scores_u
    drawn = tb.audit(run).state.draws[0]
    assert (scores[list(drawn.rows)] >= drawn.bin.cut).all()
    both, _ = answered(run, 40, truth)
    assert (both.kind, both.n, [other.kind for other in both.others]) == ("weighted", 40, ["top"])
    assert "no sign of biased labels" in both.labels or "biased" in both.labels
    html = (run / "report.html").read_text()
    assert "by the audit" in html
    assert "Before the audit: About" in html
    assert "random rows of the top bin" in html


def test_answers_one_by_one_count_as_far_as_they_go(run):
    opened, truth = tb.audit(run), claims()["amount"] > 1.5
    rows = opened.draw(30)["row"].tolist()
    for row in rows[:12]:
        opened.record({row: bool(truth[row - 1])})
    assert opened.judge().n == 12  # the others were not reached, and their order is random
    opened.record({row: bool(truth[row - 1]) for row in rows[12:]})
    assert opened.judge().n == 30


@pytest.mark.parametrize("said", ["yes", "no"])
def test_one_row_gives_a_wide_interval(run, said):
    opened = tb.audit(run)
    opened.record({opened.draw(1)["row"][0]: said})
    low, high = opened.judge().interval
    assert high - low > 0.8


def test_doubts_alone_are_kept_and_no_estimate(run, tmp_path):
    draw_audit(run, 8, tmp_path / "a.csv")
    filled(tmp_path / "a.csv", "?")
    with pytest.raises(InputError, match="TB001 no audited row has an answer yet"):
        read_audit(run, tmp_path / "a.csv")
    assert set(tb.audit(run).state.answers.values()) == {"unsure"}
    assert result_of(run).get("audit") is None


def test_a_file_that_contradicts_earlier_answers_needs_force(run, tmp_path):
    draw_audit(run, 20, tmp_path / "a.csv")
    filled(tmp_path / "a.csv", "no")
    read_audit(run, tmp_path / "a.csv")
    filled(tmp_path / "a.csv", "yes")
    with pytest.raises(InputError, match="TB119 20 rows were answered differently"):
        read_audit(run, tmp_path / "a.csv")
    assert result_of(run)["audit"]["n_positive"] == 0
    assert read_audit(run, tmp_path / "a.csv", force=True).n_positive == 20


def test_an_audit_of_another_run_is_refused(run, tmp_path):
    other = tb.fit(claims(seed=7), "known", id="case", budget="fast").save(tmp_path / "other")
    draw_audit(other, 20, tmp_path / "a.csv", seed=3)
    draw_audit(run, 20, tmp_path / "b.csv")
    filled(tmp_path / "a.csv")
    with pytest.raises(InputError, match="TB117"):
        read_audit(run, tmp_path / "a.csv")
    assert tb.audit(run).state.answers == {}


def test_a_run_audited_by_an_earlier_version_still_works(run, tmp_path):
    """Draws without `where` and `n`, and a result without what audits say now."""
    draw_audit(run, 20, tmp_path / "a.csv")
    stored = json.loads((run / "audit.json").read_text())
    for drawn in stored["draws"]:
        del drawn["where"], drawn["n"]
    (run / "audit.json").write_text(json.dumps(stored))
    old = {"kind": "simple", "n": 20, "alpha": 0.3, "interval": [0.1, 0.5], "confidence": 0.95,
           "verdict": "agrees", "sentence": "The audit agrees."}  # fmt: skip
    forge_result(run, {**result_of(run), "audit": old})
    for verb in ("report", "inspect"):
        done = CliRunner().invoke(main, [verb, str(run)])
        assert done.exit_code == 0, done.output
    assert "with the audit  α = 0.300" in done.output
    filled(tmp_path / "a.csv")
    assert read_audit(run, tmp_path / "a.csv").n_negative == 20


@pytest.mark.parametrize("where", ["bottom", ""])
def test_an_unknown_place_is_refused(run, where):
    with pytest.raises(InputError, match="TB008 where must be one of anywhere, top"):
        tb.audit(run).draw(5, where=where)


def test_a_plain_draw_of_an_earlier_version_and_a_weighted_one_add_up(run):
    """Rows of the earlier draw were equally likely: they keep a weight of their own."""
    opened, truth = tb.audit(run), claims()["amount"] > 1.5
    rows = opened.draw(40)["row"]
    stored = json.loads((run / "audit.json").read_text())
    n_u = result_of(run)["data"]["n_u"]
    old = stored["draws"][0]
    assert len(old["expected"]) == len(old["sizes"]) == len(old["cuts"]) + 1
    del old["cuts"], old["expected"]
    old |= {"stratum": [0] * 40, "sizes": [n_u]}
    (run / "audit.json").write_text(json.dumps(stored))
    opened.record({row: bool(truth[row - 1]) for row in rows})
    first = opened.judge()
    assert first.kind == "simple"
    assert "40 random unlabeled rows are positive, so" in first.sentence
    second, more = answered(run, 60, truth)
    assert not set(rows) & more
    assert (second.kind, second.n) == ("weighted", 100)
    assert "drawn more often and count less" in second.sentence
    assert second.interval[0] >= first.interval[0]  # looks at either kind add up too
    assert second.interval[1] <= first.interval[1]
    share = (truth & ~claims()["known"]).sum() / n_u
    assert second.interval[0] <= share <= second.interval[1]


@pytest.mark.parametrize(
    "change",
    [{"expected": [5.0]}, {"expected": None}, {"cuts": [0.9, 0.1]}, {"expected": [-1.0, 9.0]}],
)
def test_a_weighted_draw_that_does_not_fit_itself_is_damaged(run, change):
    tb.audit(run).draw(10)
    stored = json.loads((run / "audit.json").read_text())
    stored["draws"][0] |= change
    (run / "audit.json").write_text(json.dumps(stored))
    with fails("TB114", "does not say which rows were drawn"):
        read_state(run)


def test_positives_that_were_drawn_more_often_are_compared_with_such_labeled_ones():
    rng = np.random.default_rng(0)
    y = np.arange(4000) < 200
    scores_p, scores_u = rng.normal(2, 1, 2000), rng.normal(size=4000) + 2 * y
    f_p, f_u = (1 / (1 + 19 * np.exp(2 - 2 * scores)) for scores in (scores_p, scores_u))
    scored, signs = Scored(scores_p, scores_u, f_p, f_u), []
    for seed in range(25):
        sample = draw_weighted(f_u, 300, seed=seed)
        said = np.where(y[sample.rows], "positive", "negative").tolist()
        signs.append("no sign" in scored.compare(Pooled(sample, said, None)))
    assert np.mean(signs) >= 0.92
    half = equally_likely(np.where(f_u > 0.5, 1.0, 0.5))
    assert half[f_u > 0.5].all()
    assert half[f_u <= 0.5].mean() == pytest.approx(0.5, abs=0.05)


def test_empty_cells_among_the_answers_count_whichever_way_is_worse(run, tmp_path):
    draw_audit(run, 30, tmp_path / "a.csv")
    filled(tmp_path / "a.csv", answer=["", "yes", "no"] * 10)
    judged = read_audit(run, tmp_path / "a.csv")
    assert (judged.n, judged.n_blank) == (30, 10)
    low, high = judged.interval
    assert low < 1 / 3
    assert high > 2 / 3
