"""Tables, figures and progress, from rows made by hand."""

import io

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from topbin_bench import figures
from topbin_bench.errors import BenchError
from topbin_bench.figures.epochs import _even
from topbin_bench.figures.panels import blocks
from topbin_bench.figures.triangles import tilt
from topbin_bench.grid import Cell, grid, jobs_of
from topbin_bench.methods import ORDER, color_of
from topbin_bench.progress import Watch
from topbin_bench.results import beside, caption, finished, read_rows, with_nets
from topbin_bench.runner import Finished
from topbin_bench.store import Store
from topbin_bench.tables import (
    as_printed,
    by_alpha,
    compare,
    failures,
    mean_of,
    means_by_alpha,
    wide,
)
from topbin_bench.verdicts import against_best, coverage, early_stops, natural

METHODS = ("tedn", "bbe", "scott", "pvu", "topbin", "tedn-w0")


def made_rows():
    rows = []
    for task in ("concrete", "spambase"):
        for alpha in (0.1, 0.5):
            for seed in range(3):
                for i, method in enumerate(METHODS):
                    guess = np.nan if method == "pvu" else 0.01 * (i + seed)
                    right = np.nan if method in ("bbe", "scott") else 0.9 - 0.01 * (i + seed)
                    rows.append(
                        {
                            "key": Cell(task, method, alpha, seed, "paper").key,
                            "task": task, "method": method,
                            "alpha": alpha, "seed": seed, "profile": "paper", "status": "done",
                            "reason": "", "alpha_error_last": guess, "alpha_error_pu": guess / 2,
                            "alpha_error_oracle": guess / 4, "accuracy_last": right,
                            "accuracy_pu": right + 0.01, "accuracy_oracle": right + 0.02,
                            "low": alpha - 0.1, "high": alpha + (0.1 if seed else -0.05),
                        }
                    )  # fmt: skip
    return pd.DataFrame(rows)


@pytest.fixture
def rows():
    return made_rows()


def test_the_three_stops_stand_apart_beside_the_paper(rows):
    table = compare(rows, "alpha_error")
    assert table.header[2:] == (
        "last epochs", "PU-validated stop", "oracle stop", "splits", "paper ± its sd",
    )  # fmt: skip
    line = next(row for row in table.rows if row[:2] == ("concrete", "BBE"))
    # 0.01, 0.02, 0.03: mean 0.02, standard error 0.01/√3
    assert line[2:] == (
        "0.020 ± 0.006",
        "0.010 ± 0.003",
        "0.005 ± 0.001",
        "3",
        "0.152 (oracle stop)",
    )


def test_accuracies_are_in_per_cent_and_silent_methods_absent(rows):
    table = compare(rows, "accuracy")
    named = {row[1] for row in table.rows}
    assert "BBE" not in named
    line = next(row for row in table.rows if row[:2] == ("spambase", "PvU (known α)"))
    assert line[2] == "86.0 ± 0.6"
    assert line[-1] == "89.2 (oracle stop)"


def test_failed_cells_do_not_count_and_can_be_listed(rows):
    rows.loc[0, ["status", "reason"]] = ["failed", "TB015 the loss is nan"]
    line = next(r for r in compare(rows, "alpha_error", alpha=0.1).rows if r[1] == "(TED)ⁿ")
    assert line[-2] == "2"
    assert failures(rows).rows == (("concrete", "tedn", "0.1", "0", "TB015 the loss is nan"),)


def test_one_row_a_task_with_the_best_in_bold(rows):
    table = wide(rows, "alpha_error", ["tedn", "bbe", "km2"])
    assert table.rows[0] == ("concrete", "**0.010 ± 0.006**", "0.020 ± 0.006", "–", "3")
    assert table.rows[-1] == ("mean", "0.010", "0.020", "–", "")
    assert wide(rows, "accuracy", ["tedn", "topbin"]).rows[0][1].startswith("**")
    assert wide(rows, "alpha_error", ["nobody"]).rows == ()


def test_methods_are_compared_on_the_same_splits(rows):
    gone = (rows["method"] == "bbe") & (rows["seed"] == 2) & (rows["task"] == "concrete")
    table = wide(rows[~gone], "alpha_error", ["tedn", "bbe"])
    assert table.rows[0] == ("concrete", "**0.005 ± 0.005**", "0.015 ± 0.005", "2")
    never = wide(rows[~gone | (rows["seed"] == 9)], "alpha_error", ["bbe", "tedn-w0"])
    assert never.rows[0][-1] == "2"


def test_by_alpha_has_a_line_each(rows):
    lines = by_alpha(rows, "alpha_error", ["tedn"]).rows
    assert [line[:2] for line in lines] == [
        ("concrete", "0.1"), ("concrete", "0.5"), ("spambase", "0.1"), ("spambase", "0.5"),
        ("mean", "0.1"), ("mean", "0.5"),
    ]  # fmt: skip


def test_means_by_alpha_have_the_best_in_bold(rows):
    table = means_by_alpha(rows, "alpha_error", ["tedn", "bbe"])
    assert table.header == ("α", "0.1", "0.5")
    assert table.rows == (("(TED)ⁿ", "**0.010**", "**0.010**"), ("BBE", "0.020", "0.020"))


def test_unpaired_methods_keep_all_their_splits(rows):
    gone = (rows["method"] == "bbe") & (rows["seed"] == 2)
    line = wide(rows[~gone], "alpha_error", ["tedn", "bbe"], paired=False).rows[0]
    assert line == ("concrete", "**0.010 ± 0.006**", "0.015 ± 0.005", "2 to 3")


def test_coverage_of_the_intervals(rows):
    assert coverage(rows).rows[0] == ("(TED)ⁿ", "8 of 12", "0.15")


def test_forms(rows):
    table = wide(rows[rows["task"] == "concrete"], "alpha_error", ["tedn", "bbe"])
    assert table.render("markdown").splitlines()[:2] == [
        "| task | (TED)ⁿ | BBE | splits |", "| --- | --- | --- | --- |",
    ]  # fmt: skip
    assert table.render("csv").splitlines()[1] == "concrete,0.010 ± 0.006,0.020 ± 0.006,3"
    latex = table.render("latex")
    assert r"concrete & \textbf{0.010 $\pm$ 0.006} & 0.020 $\pm$ 0.006 & 3 \\" in latex
    assert latex.count(r"\midrule") == 1


def test_means():
    assert mean_of(pd.Series([np.nan])) is None
    assert mean_of(pd.Series([2.0])).error is None


def test_two_nets_are_never_averaged(rows):
    photos = rows[rows["task"] == "concrete"].assign(task="cifar_dog_cat")
    both = pd.concat([photos.assign(profile="cpu"), photos.assign(profile="cpu-allconv")])
    assert compare(with_nets(both), "accuracy").rows[-1][0] == "cifar_dog_cat · All-CNN"
    assert {line[5] for line in compare(with_nets(both), "accuracy").rows} == {"3"}
    assert set(with_nets(rows.assign(profile="cpu-allconv"))["task"]) == {"concrete", "spambase"}
    assert len(with_nets(pd.DataFrame())) == 0
    assert beside("cifar_dog_cat", "tedn", "accuracy").value == 75.2  # the ResNet's


def test_two_profiles_of_a_task_are_never_averaged(rows):
    digits = rows[rows["task"] == "concrete"].assign(task="mnist17")
    both = with_nets(pd.concat([digits.assign(profile="cpu"), digits]))
    assert set(both["task"]) == {"mnist17 · cpu", "mnist17 · paper"}
    assert beside("mnist17 · cpu", "tedn", "accuracy").value == 98.7
    # the settings of tables are the same in both profiles
    same = with_nets(pd.concat([rows.assign(profile="cpu"), rows]))
    assert set(same["task"]) == {"concrete", "spambase"}


def test_a_caption_says_what_the_nets_were(rows):
    photos = rows.assign(task="cifar_dog_cat", profile="cpu-allconv")
    tables, images = caption(with_nets(pd.concat([rows, photos]))).splitlines()
    assert tables.startswith("concrete, spambase: uci-mlp, 100 + 200 epochs")
    assert images.startswith("cifar_dog_cat · All-CNN: allconv of 16, 30 + 30 epochs, batches of 1")


def test_the_papers_own_tables(rows):
    lines = as_printed("MPE_scott", ["mnist17", "imdb"], ["tedn", "scott", "km2"]).rows
    assert lines == (("mnist17", "0.003", "0.037*", "–"),)
    assert beside("binarized_cifar", "km2", "alpha_error") is None  # only All-CNN has one
    assert beside("binarized_cifar · All-CNN", "km2", "alpha_error").value == 0.168
    assert beside("mnist17", "elkan_noto", "alpha_error").stop == "oracle"


def test_rows_made_under_other_settings_are_left_out(tmp_path, rows):
    store = Store(tmp_path)
    old = rows.assign(key=rows["key"] + "old")
    gone = rows.assign(key=rows["key"] + "gone", profile="no such profile")
    none = rows.assign(key=rows["key"] + "none", task="no such task")
    store.put("job", {"rows": pd.concat([old, rows, gone, none]).to_dict("records")})
    assert len(store.frame()) == 4 * len(rows)
    assert store.current()["key"].tolist() == rows["key"].tolist()
    assert len(Store(tmp_path / "none").current()) == 0


def test_ours_against_the_best_of_the_others(rows):
    # tedn errs 0.01 less than bbe in every split: no noise in the difference
    line = against_best(rows, "alpha_error", ["tedn"], ["bbe", "scott"]).rows[0]
    assert line == (
        "concrete", "(TED)ⁿ", "0.010", "BBE", "0.020", "-0.010 ± 0.000", "3", "better",
    )  # fmt: skip
    worse = against_best(rows, "accuracy", ["tedn-w0"], ["tedn", "bbe"]).rows[0]
    assert worse[-1] == "worse"
    assert against_best(rows, "accuracy", ["tedn"], ["bbe"]).rows == ()


def test_a_difference_within_its_noise_is_a_tie(rows):
    noisy = rows["method"] == "bbe"
    rows.loc[noisy, "alpha_error_last"] = rows["seed"].map({0: 0.0, 1: 0.05, 2: 0.0})
    assert against_best(rows, "alpha_error", ["tedn"], ["bbe"]).rows[0][-1] == "tied"
    one = rows[rows["seed"] == 0]
    assert against_best(one, "alpha_error", ["tedn"], ["bbe"]).rows[0][-1] == "one split"


def test_early_stops_stand_beside_the_papers(rows):
    lines = early_stops(rows.replace({"task": {"spambase": "binarized_mnist"}})).rows
    assert lines[0] == ("concrete", "87.0 ± 0.6", "88.0 ± 0.6", "86.0 ± 0.6", "3", "–", "–")
    assert lines[1][-2:] == ("94.1", "94.5")


def test_where_nobody_knows_alpha_there_are_answers_only(rows):
    gsec = rows[rows["task"] == "concrete"].assign(task="gsec_pu", alpha=np.nan, alpha_last=0.25)
    line = natural(gsec.drop(columns="high")).rows[0]
    assert line[:3] == ("gsec_pu", "(TED)ⁿ", "0.250 ± 0.000")
    assert line[5:] == ("–", "–", "6")
    assert natural(rows).rows == ()


def test_no_rows(tmp_path):
    with pytest.raises(BenchError, match="has no results"):
        read_rows(Store(tmp_path))


# ---------------------------------------------------------------- figures


def made_curves(rows):
    points = [
        {"key": key, "method": method, "epoch": epoch, "phase": "pvu", "alpha_hat": 0.4,
         "accuracy": 0.8, "top_purity": 0.9, "top_size": 0.3}
        for key, method in zip(rows["key"], rows["method"], strict=True)
        for epoch in (1, 10)
    ]  # fmt: skip
    return pd.DataFrame(points)


def made_scores():
    rng = np.random.default_rng(0)
    samples = ("held_p", "held_u_positive", "held_u_negative", "train_u_positive",
               "train_u_negative")  # fmt: skip
    return pd.DataFrame(
        {"key": Cell("concrete", trainer, 0.5, 0, "paper").key, "task": "concrete",
         "trainer": trainer, "epoch": epoch, "sample": name,
         "scores": rng.normal(2.0 if "negative" not in name else -2.0, 1, 40).astype(np.float32)}
        for trainer in ("pvu", "tedn") for epoch in (1, 10) for name in samples
    )  # fmt: skip


@pytest.fixture
def store(tmp_path, rows):
    store = Store(tmp_path)
    tables = {"rows": rows, "curves": made_curves(rows), "scores": made_scores()}
    store.put("job", {kind: frame.to_dict("records") for kind, frame in tables.items()})
    return store


def test_every_figure_is_drawn(store):
    drawn = dict(figures._figures(store, ()))
    wanted = [*figures.FROM_ROWS, *figures.FROM_CURVES, *figures.FROM_SCORES, "triangles"]
    assert list(drawn) == wanted
    for figure in drawn.values():
        assert all(ax.has_data() for ax in figure.axes)
        assert len(figure.legends) == 1


def test_scores_of_other_settings_are_left_out(store, tmp_path, monkeypatch):
    old = made_scores().assign(key="old", epoch=5)
    store.put("first", {"rows": [], "scores": old.to_dict("records")})
    store.pack()
    drawn = []
    monkeypatch.setattr(figures, "FROM_SCORES", {"all": lambda scores: drawn.append(scores)})
    list(figures.draw_all(store, tmp_path / "images"))
    assert set(drawn[0]["epoch"]) == {1, 10}
    assert len(drawn[0]) == len(made_scores())


def test_one_model_a_task_and_trainer():
    scores = made_scores()
    both = pd.concat([scores, scores.assign(key="other")])
    assert len(figures.one_model(both)) == len(scores)


def test_smoke_is_shown_only_alone(rows):
    smoke = rows.assign(profile="smoke")
    assert len(finished(smoke)) == len(rows)
    assert set(finished(pd.concat([smoke, rows]))["profile"]) == {"paper"}
    assert len(finished(rows.assign(status="failed"))) == 0


def test_tasks_are_wrapped_four_to_a_line():
    figure, axes = blocks(6, 2)
    assert axes.shape == (2, 6)
    assert len(figure.axes) == 12  # four places of 16 are taken away
    places = [ax.get_subplotspec().rowspan.start for ax in axes[:, 4]]
    assert places == [2, 3]


def test_warm_starts_are_compared_on_the_same_splits(rows):
    gone = (rows["method"] == "tedn-w0") & (rows["seed"] > 0)
    left, _ = figures.warm_start(rows[~gone]).axes
    labels = left.get_legend_handles_labels()[1]
    assert labels == ["concrete, 1 splits", "spambase, 1 splits"]
    assert left.lines[0].get_xdata().tolist() == [0, 100]


def test_a_warm_start_that_ends_by_itself_is_a_dashed_line(rows):
    itself = rows[rows["method"] == "tedn"].assign(method="tedn-auto", alpha_error_last=0.25)

    def levels(cells):
        left, _ = figures.warm_start(pd.concat([rows, cells])).axes
        dashed = [line.get_ydata() for line in left.lines if line.get_linestyle() == "--"]
        return [ys[0] for ys in dashed if len(ys)]

    assert levels(itself) == [0.25, 0.25]
    assert levels(itself[itself["seed"] == 0]) == []  # not on the same splits: not drawn


def test_curves_are_drawn_at_even_distances():
    means = pd.Series(1.0, index=[1, 10, 20, 28, 29, 30])
    assert _even(means).index.tolist() == [1, 10, 20, 30]


def test_without_results_only_the_triangles(tmp_path):
    written = list(figures.draw_all(Store(tmp_path / "none"), tmp_path / "images"))
    assert [path.stem for path in written] == ["triangles"]


@pytest.mark.parametrize("draw", [*figures.FROM_ROWS.values(), *figures.FROM_CURVES.values()])
def test_a_figure_without_its_rows_is_none(draw, rows):
    other = rows.assign(alpha=0.3, method="pvu", low=np.nan)
    assert draw(other) is None


def test_columns_that_are_not_there(rows):
    assert figures.coverage(rows.drop(columns="low")) is None
    assert figures.by_epoch(rows.drop(columns="alpha")) is None
    assert [draw(pd.DataFrame({"key": ["a"]})) for draw in figures.FROM_SCORES.values()] == [
        None
    ] * 3


def test_only_the_figures_asked_for(store, tmp_path):
    written = list(figures.draw_all(store, tmp_path / "images", ("scott", "triangles")))
    assert [path.stem for path in written] == ["scott", "triangles"]


def test_coverage_counts_what_it_shows(rows):
    titles = [ax.get_title() for ax in figures.coverage(rows).axes]
    assert (
        titles[0] == "(TED)ⁿ: 8 of 12 intervals (95 %) cover α"
    )  # every first split was made to miss


def test_linear_pvu_is_tilted_though_a_flat_line_separates():
    P, N, w = tilt()
    assert P[:, 1].min() > 0 > N[:, 1].max()
    assert abs(w[0]) > 0.3 * w[1] > 0
    assert (P @ w > (N @ w).max()).mean() > 0.2


def test_methods_that_figures_show_together_have_colors_of_their_own():
    assert len({color_of(method) for method in ORDER}) == len(ORDER)


# ---------------------------------------------------------------- progress


def ended(job, seconds, reason=""):
    return Finished(job, len(job.cells) * bool(reason), reason, seconds)


def test_plain_lines_with_the_time_left():
    jobs = jobs_of(grid(["gaussians", "beta"], "smoke", methods=["km1", "tice"]))
    text = io.StringIO()
    with Watch(jobs, Console(file=text, width=200), workers=2) as watch:
        watch(ended(jobs[0], 10.0))
        assert watch.time_left() == pytest.approx(3 * 10 / 2)  # as any so far
        watch(ended(jobs[1], 2.0, "InputError: TB004 NaN"))
        assert watch.time_left() == pytest.approx((10 * 0 + 6 + 6) / 2)
    lines = text.getvalue().splitlines()
    assert lines[0].startswith("1/4  gaussians α=0.5 split 0  km1  10.0 s  done  left 0:15")
    assert "TB004" in lines[1]


def test_a_table_on_a_terminal():
    jobs = jobs_of(grid(["gaussians"], "smoke", methods=["km1", "tice"]))
    text = io.StringIO()
    with Watch(jobs, Console(file=text, force_terminal=True, width=80)) as watch:
        watch(ended(jobs[0], 61.0))
    assert "about 1:01 left" in text.getvalue()
    assert "gaussians" in text.getvalue()
