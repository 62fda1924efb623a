"""Small comforts: a dry run, weights, completion, other demo data, pictures and reprs."""

import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from asked import asked
from click.testing import CliRunner
from coded import fails

import topbin as tb
from topbin.cli import VERBS, main
from topbin.cli.demo import DATA, hide_labels
from topbin.data import open_table
from topbin.job.prepare import prepare


def claims(n=240):
    rng = np.random.default_rng(0)
    is_positive = rng.random(n) < 0.5
    return pd.DataFrame({
        "amount": rng.normal(3.0 * is_positive),
        "town": rng.choice(["Ulm", "Rom"], n),
        "w": rng.integers(1, 5, n),
        "known": (is_positive & (rng.random(n) < 0.5)).astype(int),
    })  # fmt: skip


pytestmark = pytest.mark.usefixtures("quick_fits")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run with weights, and its file."""
    folder = tmp_path_factory.mktemp("comforts")
    claims().to_csv(folder / "a.csv", index=False)
    asked = ("--label", "known", "--weight", "w", "--preset", "fast", "-o", folder / "run")
    done = run("fit", folder / "a.csv", *asked)
    assert done.exit_code == 0, done.output
    return folder, done.stdout


def run(*given):
    return CliRunner().invoke(main, list(map(str, given)))


def test_a_dry_run_says_how_and_how_long_and_writes_nothing(made, tmp_path):
    folder, _ = made
    asked = ("fit", folder / "a.csv", "--label", "known", "-o", tmp_path / "run", "--dry-run")
    told = run(*asked).stdout
    for line in (
        "columns         2 numbers, 1 category",
        "rows            ",
        "nothing was written",
    ):
        assert line in told, told
    assert "time            about " in told
    assert not (tmp_path / "run").exists()
    found = json.loads(run(*asked, "--json").stdout)
    assert found["seconds"] > 0
    assert found["data"]["n_u"] == (claims()["known"] == 0).sum()


def test_weights_train_the_models_and_are_no_feature(made):
    folder, told = made
    assert "weights         they train the models; α, its interval and the candidates count" in told
    stored = json.loads((folder / "run" / "result.json").read_text())
    assert stored["data"]["features"] == ["amount", "town"]
    frame = claims()
    same = tb.fit(frame, "known", read=tb.Read(weight="w"), budget="fast").estimate.alpha
    assert same == stored["estimate"]["alpha"]
    X = frame[["amount", "town"]].assign(town=(frame["town"] == "Ulm") * 1.0).to_numpy()
    weighted = tb.TEDnClassifier(preset="fast").fit(X, frame["known"], frame["w"])
    assert weighted.alpha_ == same
    assert weighted.estimate_.n_u == (frame["known"] == 0).sum()  # rows, not weights
    assert (folder / "run" / "run.toml").read_text().count('weight = "w"') == 1


def test_a_dry_run_refuses_what_the_fit_refuses(made):
    folder, _ = made
    asked = "fit", folder / "a.csv", "--label", "known", "--dry-run", "--labeled-by"
    for column, code in (("nothing", "TB103"), ("known", "TB126")):
        done = run(*asked, column)
        assert (done.exit_code, done.stderr[:5]) == (2, code)
    done = run(*asked, "town", "--drop", "town")
    assert done.exit_code == 2
    assert '--labeled-by and --drop both name "town"' in done.stderr


@pytest.mark.parametrize("bad", [[-1.0] * 240, ["much"] * 240, [0] * 240, [np.nan, *[1.0] * 239]])
def test_bad_weights_are_refused(bad):
    with fails("TB012", 'the weights in "w"'):
        tb.fit(claims().assign(w=bad), "known", read=tb.Read(weight="w"))


@pytest.mark.parametrize(("bad", "said"), [(-2.5, "row 19 has -2.5"), (np.nan, "row 19 has none")])
def test_the_first_bad_weight_is_shown(bad, said):
    weights = np.where(np.arange(240) == 18, bad, 1.0)
    with fails("TB012", said):
        tb.fit(claims().assign(w=weights), "known", read=tb.Read(weight="w"))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_the_script_of_a_shell(shell):
    told = run("completion", shell).stdout
    assert "_TOPBIN_COMPLETE" in told
    assert "topbin" in told


def test_the_shell_completes_verbs_and_options():
    env = {"_TOPBIN_COMPLETE": "bash_complete", "COMP_WORDS": "topbin ", "COMP_CWORD": "1"}
    found = CliRunner().invoke(main, env=env, prog_name="topbin").stdout
    assert [line.partition(",")[2] for line in found.split()] == list(VERBS)
    env |= {"COMP_WORDS": "topbin fit --dec", "COMP_CWORD": "2"}
    assert "--decimal" in CliRunner().invoke(main, env=env, prog_name="topbin").stdout
    env |= {"COMP_WORDS": "topbin fit a", "COMP_CWORD": "2"}
    assert "file" in CliRunner().invoke(main, env=env, prog_name="topbin").stdout


@pytest.mark.parametrize(("name", "rows", "positive"), [("cancer", 569, 212), ("digits", 1797, 174),
                                                        ("wine", 178, 59)])  # fmt: skip
def test_every_bundled_set_hides_what_its_words_say(name, rows, positive):
    chosen = DATA[name]
    frame, truth = hide_labels(0, chosen)
    assert len(frame) == rows
    assert frame[chosen.label].sum() == chosen.labeled
    assert truth == pytest.approx((positive - chosen.labeled) / (rows - chosen.labeled))
    assert f"{rows:,}" in run("demo", "--help").stdout.replace("\n  ", " ")


@pytest.fixture(scope="module")
def fitted():
    frame = claims()
    return tb.PvUClassifier(plan=tb.learn.Plan(outer=3, inner=1, repeats=1, warm=0, rounds=1)).fit(
        frame[["amount"]], frame["known"]
    )


def test_displays_draw_at_once_like_those_of_scikit_learn(fitted):
    figure, axes = plt.subplots(1, 3)
    displays = tb.TopBinDisplay, tb.ScoreDisplay, tb.HistoryDisplay
    for display, ax in zip(displays, axes, strict=True):
        assert display.from_estimator(fitted, ax=ax).ax_ is ax
        assert ax.get_title()
    plt.close(figure)


def test_reprs_fit_on_a_line(fitted, made):
    folder, _ = made
    evidence = fitted.evidence_
    shown = (
        fitted.estimate_, evidence, evidence.tails, open_table(folder / "a.csv"),
        open_table(folder / "a.csv").whole(), tb.data.fit_features(claims()),
        prepare(asked(claims(), "known")), tb.TopBinDisplay.from_scores(*evidence.scores),
        tb.ScoreDisplay.from_scores(*evidence.scores), tb.core.read_labels([1, 0]),
    )  # fmt: skip
    for value in shown:
        assert "\n" not in repr(value)
        assert len(repr(value)) <= 160
