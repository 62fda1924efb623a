"""A fit on a sample: α of all rows without bias, the same for every engine and every cut."""

import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from asked import asked as asks
from asked import fit, listing
from click.testing import CliRunner
from stored import result_of

import topbin as tb
from topbin.cli import main
from topbin.core.errors import InputError
from topbin.data import batch
from topbin.data import table as table_module
from topbin.engines import Local
from topbin.engines.engine import Outcome, total
from topbin.job.audits.draw import draw_audit
from topbin.job.audits.judge import read_audit
from topbin.job.labeled import open_labeled
from topbin.job.sampling import count_labels, draw
from topbin.job.score_rest import Fold, Folds, RestCounts
from topbin.learn.crossfit import Chain

ENGINE = Local(threads=2)


def table(seed=0, *, n_p=300, n_u=8000, apart=2.5, alpha=0.3):
    """Rows of which `alpha` of the unlabeled are positive; a column of 2,000 names says nothing."""
    rng = np.random.default_rng([seed, n_u])
    y = np.append(np.ones(n_p, bool), rng.random(n_u) < alpha)
    frame = pd.DataFrame(rng.normal(size=(y.size, 4)) + apart * y[:, None], columns=list("abcd"))
    frame["name"] = rng.integers(0, 2000, y.size).astype(str)
    frame["known"] = np.arange(y.size) < n_p
    frame["case"] = rng.permutation(y.size)
    return frame.assign(truth=y).sample(frac=1, random_state=seed).reset_index(drop=True)


def write(folder, frame, cuts=(3000, 3001, 3001), group=1500):
    folder.mkdir(exist_ok=True)
    for i, (start, stop) in enumerate(zip((0, *cuts), (*cuts, len(frame)), strict=True)):
        part = pa.Table.from_pandas(frame[start:stop], preserve_index=False)
        pq.write_table(part, folder / f"{i}.parquet", row_group_size=group)
    return str(folder / "*.parquet")


def opened_as(source, label):
    request = asks(source, label)
    return open_labeled(request.rows, request.read)


def sampled(files, engine=ENGINE, **more):
    asked = {"sample": 1200, "preset": "fast", "id": "case", "drop": ["truth"], **more}
    return fit(files, "known", engine=engine, **asked)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write(tmp_path_factory.mktemp("large") / "in", table())


@pytest.fixture(scope="module")
def result(files):
    return sampled(files, seed=7)


def test_alpha_is_counted_on_all_rows_but_the_drawn(result):
    est, frame = result.estimate, table()
    counted = ~frame["known"] & ~frame.index.isin(result.data.rest.places)
    truth = frame["truth"][counted].mean()  # of these very rows
    assert counted.sum() == est.n_u
    assert (est.n_p, est.n_u) == (300, 8000 - 2 * 1200)
    assert est.interval[0] <= truth <= est.interval[1]
    assert est.alpha == pytest.approx(truth, abs=0.06)
    note = (
        "trained on 1,200 of 8,000 unlabeled rows, drawn at random (seed 7); α is of 5,600 others"
    )
    assert est.notes == (note,)
    assert note in result.summary()
    assert "False = unlabeled (8,000 rows)" in result.summary()


def test_engine_and_parts_change_no_bit(result, files, tmp_path, monkeypatch):
    other = write(tmp_path / "in", table(), (10, 4000), group=333)
    monkeypatch.setattr(table_module, "PART_ROWS", 2000)
    monkeypatch.setattr(batch, "CHUNK_ROWS", 900)
    again = sampled(other, Local(threads=1), seed=7)
    assert again.evidence.tails == result.evidence.tails
    assert again.evidence.tails.cuts.tobytes() == result.evidence.tails.cuts.tobytes()
    assert again.estimate == result.estimate
    pd.testing.assert_frame_equal(again.candidates(), result.candidates())


def test_candidates_are_the_best_of_all_unlabeled_rows(result):
    frame, given = result.candidates(200), table()
    assert list(frame.columns[:3]) == ["rank", "probability", "case"]
    assert "known" not in frame
    rows = given.iloc[frame.index].reset_index(drop=True)
    assert rows["case"].tolist() == frame["case"].tolist()
    assert not rows["known"].any()
    assert rows["truth"].mean() > 0.95
    assert frame["probability"].is_monotonic_decreasing
    assert len(result.candidates(10**6)) == 1000
    picked = result.picked(min_precision=0.5)
    assert 0 < picked.rows <= 1000
    assert picked.precision is None or picked.precision_low > 0.3


def test_more_rows_of_a_precision_than_are_kept_is_said(result):
    assert "rows reach it, and only the first are listed" in result.picked(min_precision=0.3).why

    assert listing(result, min_precision=0.999).picked().rows == 100
    assert listing(result, min_precision=0.3).picked().rows == 1000


def test_the_sample_is_drawn_by_place_alone(files, tmp_path, monkeypatch):
    other = write(tmp_path / "in", table(), (77,), group=50)
    drawn = []
    for source in (files, other):
        opened = count_labels(ENGINE, opened_as(source, "known"))
        drawn.append(draw(ENGINE, opened, 500, seed=3))
        monkeypatch.setattr(table_module, "PART_ROWS", 100)
    first, second = drawn
    assert first.sample.frame.equals(second.sample.frame)
    assert np.array_equal(first.places, second.places)
    assert first.places.size == 1000
    assert not np.intersect1d(first.sample.places, first.columns.places).size
    rows = table().iloc[first.places]
    assert not rows["known"].any()
    assert first.positives.rows == 300
    # A simple random sample of 1,000 places: their mean is that of all, within 4 of its errors.
    assert abs(first.places.mean() / 8300 - 0.5) < 4 * np.sqrt(1 / 12 / 1000)
    other_seed = draw(ENGINE, opened, 500, seed=4)
    assert np.intersect1d(first.places, other_seed.places).size < 250


@pytest.mark.slow
def test_alpha_of_noise_is_not_biased(tmp_path):
    """P and U are the same noise, so α = 1; models that met a row would tell it from new ones."""
    found, met = [], []
    for seed in range(3):
        frame = table(seed, apart=0.0, n_p=400, n_u=6000)
        result = sampled(write(tmp_path / str(seed), frame), seed=seed, sample=1000)
        found.append(result.estimate.alpha)
        assert result.estimate.interval[0] <= 1 <= result.estimate.interval[1] + 1e-9
        # What goes wrong otherwise: positives scored by models that were trained on them.
        classifier, encoder = result.classifier, result.data.encoder
        new = frame[~frame["known"]]
        seen = [classifier.predict_proba(encoder.encode(rows))[:, 1]
                for rows in (frame[frame["known"]], new)]  # fmt: skip
        met.append(tb.estimate_alpha(*seen, method="bbe", confidence=None).alpha)
    assert np.mean(found) > 0.93
    assert np.mean(met) < 0.75


def test_a_table_of_positives_beside_unlabeled_files(tmp_path):
    frame = table().drop(columns=["truth"])
    known = frame["known"].to_numpy()
    frame = frame.drop(columns=["known"])
    frame[known].to_parquet(tmp_path / "p.parquet", index=False)
    files = write(tmp_path / "in", frame[~known])
    asked = {"positives": tmp_path / "p.parquet", "preset": "fast", "id": "case"}
    result = fit(files, sample=1200, **asked)
    assert (result.estimate.n_p, result.estimate.n_u) == (300, 5600)
    assert 0.2 < result.estimate.alpha < 0.4
    assert result.data.label is None
    frame.assign(extra=1)[known].to_parquet(tmp_path / "p.parquet", index=False)
    with pytest.raises(InputError, match="TB106 the tables have different columns"):
        fit(files, sample=1200, **asked)


def test_files_that_fit_in_memory_are_read_whole(tmp_path):
    frame = table(n_p=100, n_u=300).drop(columns=["truth"])
    whole = tb.fit(
        write(tmp_path / "in", frame, ()), "known", budget=tb.Budget(sample=75, preset="fast")
    )
    assert whole.data.rest is None
    assert (whole.estimate.n_p, whole.estimate.n_u) == (100, 300)


def test_the_command_names_what_it_reads(tmp_path):
    frame = table(n_p=100, n_u=300).drop(columns=["truth", "name"])
    files = write(tmp_path / "in", frame, ())
    given = ["fit", files, "--label", "known", "--engine", "local", "-o", str(tmp_path / "run")]
    wrong = CliRunner().invoke(main, [*given, "--sql", "select * from data"])
    assert wrong.exit_code == 2
    assert "--sql needs all rows in memory" in wrong.stderr
    known = frame.pop("known").to_numpy()
    frame[known].to_parquet(tmp_path / "p.parquet", index=False)
    files = write(tmp_path / "in", frame[~known], ())
    two = ["--positives", str(tmp_path / "p.parquet"), "--unlabeled", files, "--preset", "fast"]
    done = CliRunner().invoke(main, ["fit", *two, "--sample", "75", "-o", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    assert "of the 300 unlabeled are positive" in done.stdout


def test_the_run_folder_is_complete_and_scores_new_rows(result, tmp_path):
    folder = result.save(tmp_path / "run")
    stored = result_of(folder)
    assert stored["data"]["n_u"] == 8000
    assert stored["data"]["rows"] == 8300
    assert stored["data"]["sample"] == {"rows": 1200, "of": 8000, "seed": 7}
    assert "trained on 1,200 of 8,000" in (folder / "report.html").read_text()
    model, encoder = tb.load(folder).model, tb.load(folder).encoder
    new = table(5)
    found = model.predict_proba(encoder.encode(new))[:, 1]
    assert found[new["truth"]].mean() > found[~new["truth"]].mean() + 0.5
    assert model.alpha_ == result.estimate.alpha
    assert result.probabilities.mean() == pytest.approx(result.estimate.alpha, abs=0.05)


def test_an_audit_draws_random_rows_of_all_files_and_reads_them_back(result, tmp_path):
    run = result.save(tmp_path / "run")
    drawn = draw_audit(run, 400, tmp_path / "audit.csv", seed=1)
    assert (drawn.n, drawn.sizes) == (400, (8000,))
    frame, given = pd.read_csv(tmp_path / "audit.csv"), table()
    rows = given.iloc[frame["row"] - 1].reset_index(drop=True)
    assert rows["case"].tolist() == frame["case"].tolist()
    assert not rows["known"].any()
    assert "known" not in frame
    assert frame["row"].is_unique
    assert not frame["row"].is_monotonic_increasing  # the order says nothing
    # Neither the sample nor the best rows: 400 of 8,300 places, their mean within 4 of its errors.
    assert abs(frame["row"].mean() / 8300 - 0.5) < 4 * np.sqrt(1 / 12 / 400)
    assert np.isin(frame["row"] - 1, result.data.rest.places).mean() == pytest.approx(0.3, abs=0.1)
    frame["is_positive"] = np.where(rows["truth"], "yes", "no")
    frame.sort_values("a").to_csv(tmp_path / "audit.csv", index=False)
    judged = read_audit(run, tmp_path / "audit.csv")
    assert judged.verdict == "agrees"
    assert judged.n_positive == rows["truth"].sum()
    assert result_of(run)["audit"]["n"] == 400
    again = draw_audit(run, 400, tmp_path / "again.csv", seed=1)
    assert np.array_equal(again.rows, drawn.rows)
    other = draw_audit(run, 400, tmp_path / "other.csv", seed=2)
    assert np.intersect1d(other.rows, drawn.rows).size < 100


def test_an_audit_is_the_same_however_the_files_are_cut(tmp_path, monkeypatch):
    rows = []
    for cuts, group in (((3000, 3001), 1500), ((77,), 333)):
        folder = tmp_path / str(group)
        folder.mkdir()
        files = write(folder / "in", table(n_p=100, n_u=2000), cuts, group)
        asked = {"sample": 300, "drop": ["truth", "name"], "preset": "fast"}
        run = fit(files, "known", **asked).save(folder / "run")
        rows.append(draw_audit(run, 50, folder / "a.csv").rows.tolist())
        monkeypatch.setattr(table_module, "PART_ROWS", 100)
    assert rows[0] == rows[1]


def test_an_audit_of_files_that_changed_or_by_score_is_refused(tmp_path):
    files = write(tmp_path / "in", table(n_p=100, n_u=2000))
    run = tb.fit(
        files, "known", budget=tb.Budget(sample=300, preset="fast"), drop=["truth", "name"]
    ).save(tmp_path / "run")
    with pytest.raises(InputError, match=r"TB117 the run was fitted on a sample, .* Draw without"):
        draw_audit(run, 10, tmp_path / "a.csv", stratified=True)
    with pytest.raises(InputError, match="TB008 2,001 rows cannot be drawn from 2,000"):
        draw_audit(run, 2001, tmp_path / "a.csv")
    write(tmp_path / "in", table(seed=1, n_p=100, n_u=2000))
    with pytest.raises(InputError, match=r"TB117 the data has changed since the run \(.*parquet\)"):
        draw_audit(run, 10, tmp_path / "a.csv")
    assert not (tmp_path / "a.csv").exists()


def test_an_audit_of_two_tables_counts_rows_of_the_unlabeled_one(tmp_path):
    frame = table(n_p=100, n_u=2000).drop(columns=["truth", "name"])
    known = frame.pop("known").to_numpy()
    frame[known].to_parquet(tmp_path / "p.parquet", index=False)
    files = write(tmp_path / "in", frame[~known])
    result = tb.fit(
        files, positives=str(tmp_path / "p.parquet"), budget=tb.Budget(sample=300, preset="fast")
    )
    draw_audit(result.save(tmp_path / "run"), 20, tmp_path / "a.csv")
    drawn = pd.read_csv(tmp_path / "a.csv")
    found = frame[~known].iloc[drawn["row"] - 1]
    assert found["case"].tolist() == drawn["case"].tolist()


def test_an_interrupt_keeps_what_is_whole(files, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    module = sys.modules["topbin.job.fit"]
    monkeypatch.setattr(module, "count_rest", interrupt)
    found = sampled(files)
    assert found.stopped == "interrupted before all rows were counted"
    assert (type(found.classifier), found.estimate.n_u) == (tb.TEDnClassifier, 1200)
    note = "trained on 1,200 of 8,000 unlabeled rows, drawn at random (seed 0); α is of these rows"
    assert f"{note} alone" in found.summary()
    rows = table().iloc[found.candidates(50).index]
    assert not rows["known"].any()
    monkeypatch.setattr(tb.TEDnClassifier, "crossfit", interrupt)
    first = sampled(files)
    assert first.stopped == "interrupted after the first estimate"
    assert first.estimate == first.first
    assert first.first == found.first


def test_what_cannot_be_used_is_said(files, tmp_path):
    with pytest.raises(InputError, match=r"TB103 .* has no column \"knwon\""):
        tb.fit(files, "knwon", budget=tb.Budget(engine=ENGINE))
    with pytest.raises(InputError, match="TB008 preset= must be one of 'fast'"):
        sampled(files, preset="slow")
    with pytest.raises(InputError, match="TB008 sample= must be"):
        sampled(files, sample=0)
    pq.write_table(pa.table({"a": pa.array([], pa.float64()), "known": pa.array([], pa.int8())}),
                   tmp_path / "none.parquet")  # fmt: skip
    with pytest.raises(InputError, match=r"TB001 .*none.parquet. has columns but no rows"):
        tb.fit(tmp_path / "none.parquet", "known", budget=tb.Budget(engine=ENGINE))


def test_a_spoiled_page_is_named_in_every_pass(tmp_path):
    from score_files import spoil

    for column, name in ((5, "known"), (0, "a")):
        files = write(tmp_path / name, table())
        spoil(tmp_path / name / "3.parquet", column=column)
        with pytest.raises(InputError, match=r"TB102 .*3.parquet. cannot be read"):
            sampled(files)


def test_files_that_change_while_they_are_scored_are_noticed(result):
    tails = result.evidence.tails
    counts = np.zeros(tails.cuts.size, np.int64)
    with pytest.raises(InputError, match="TB102 the files changed while they were read"):
        RestCounts(counts, 10, None).tails(tails, 11)

    class Broken:
        def total(self, task, parts, shared):
            return Outcome(bad={"b": InputError("TB102", "b"), "a": InputError("TB102", "a")})

    with pytest.raises(InputError, match="TB102 a"):
        total(Broken(), None, [], None)


def test_parts_without_unlabeled_rows_add_nothing():
    counts = np.array([2, 1])
    none = RestCounts(np.zeros(2, np.int64), 0, None)
    both = none + RestCounts(counts, 3, None) + none
    assert (both.above.tolist(), both.n_u, both.best) == ([2, 1], 3, None)


def test_a_time_limit_leaves_whole_repeats(tmp_path):
    files = write(tmp_path / "in", table(n_u=2000, n_p=100))
    asked = {"preset": "best", "time_limit": 0.01, "sample": 400}
    result = fit(files, "known", drop=["truth", "name"], **asked)
    assert len(result.classifier.model_.groups) == 1  # of 6 repeats
    assert result.stopped == "time limit before the first of 6 repeats finished"


def test_a_row_that_took_part_is_compared_with_the_others():
    fold = Fold((), np.array([1.0, 2.0, 3.0]))
    own = fold.place(fold.held_out_scores, is_held_out=True)
    assert np.allclose(own * 4 - 1 / (1 + np.exp(-fold.held_out_scores)), [0, 1.5, 3])
    chains = [
        Chain(0, np.array([0, 1]), (np.array([0.9, 0.1]),), (), ()),
        Chain(0, np.array([2, 3]), (np.array([0.8, 0.2]),), (), ()),
    ]
    is_p = np.array([True, False, True, False])
    scores = Folds.of([chains], is_p, 0).held_out([chains], is_p)
    assert scores[0] > scores[1]
    assert scores[2] > scores[3]


def test_pi_is_among_all_rows_known_negatives_included(tmp_path, result):
    from dataclasses import replace

    n_p, n_u, alpha = result.estimate.n_p, result.data.n_u, result.estimate.alpha
    assert result.pi == result.to_dict()["estimate"]["pi"] == (n_p + alpha * n_u) / (n_p + n_u)
    assert f"of all {n_p + n_u:,} rows" in result.summary()
    source = result.data.rest.source
    values = replace(source.values, counts={**source.values.counts, -1: 1000}, negative=-1)
    rest = replace(result.data.rest, source=replace(source, values=values))
    more = replace(result, data=replace(result.data, rest=rest)).to_dict()
    assert more["estimate"]["pi"] == (n_p + alpha * n_u) / (n_p + n_u + 1000)
    assert (more["data"]["rows"], more["data"]["n_n"]) == (n_p + n_u + 1000, 1000)
    frame = pd.DataFrame({"x": range(60), "found": ["yes"] * 10 + ["no"] * 20 + [None] * 30})
    files = write(tmp_path / "in", frame, cuts=(15, 30, 31))
    labels = count_labels(ENGINE, opened_as(files, "found"), "yes", "no").values
    assert (labels.note.count("rows"), labels.n_n, labels.n_u) == (3, 20, 30)
