"""Cheaper labels in an audit: kept in the run, shown before anybody labels, and never trusted."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from coded import fails
from stored import result_of

import topbin as tb
from topbin.cli import main

pytestmark = pytest.mark.usefixtures("quick_fits")

ROWS, LABELED = 900, 150


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run of a csv file whose column says_model is right in 95 % of rows."""
    folder = tmp_path_factory.mktemp("proxies")
    rng = np.random.default_rng(0)
    y = np.arange(ROWS) < 300
    wrong = rng.random(ROWS) < 0.05
    frame = pd.DataFrame({
        "x": rng.normal(1.5 * y, 1), "z": rng.normal(size=ROWS),
        "says_model": np.where(y != wrong, "yes", "no"), "share": np.where(y, 0.8, 0.1),
        "far": 7.0, "empty": None, "odd": "perhaps", "known": np.arange(ROWS) < LABELED,
    })  # fmt: skip
    frame.to_csv(folder / "claims.csv", index=False)
    drop = "says_model,share,far,empty,odd"
    asked = ["--label", "known", "--drop", drop, "--preset", "fast", "-o", str(folder / "run")]
    fit = CliRunner().invoke(main, ["fit", str(folder / "claims.csv"), *asked])
    assert fit.exit_code == 0, fit.output
    return folder


@pytest.fixture
def run(made, tmp_path, monkeypatch):
    import shutil

    shutil.copytree(made / "run", tmp_path / "run")
    monkeypatch.chdir(made)
    return tmp_path / "run"


def answered(run, n=100):
    audit = tb.audit(run)
    audit.record({row: row <= 300 for row in audit.draw(n)["row"].tolist()})
    return audit.judge()


def width(found):
    return found.interval[1] - found.interval[0]


def test_a_proxy_makes_the_interval_narrower_and_stays(run):
    plain = answered(run)
    gain = tb.audit(run).use_proxies("says_model")
    assert gain.proxies == ("says_model",)
    assert 0.85 < gain.finds[0] <= 1
    assert gain.width < gain.without
    sharp = tb.audit(run).judge()
    assert width(sharp) < 0.85 * width(plain)
    assert sharp.interval[0] < 150 / 750 < sharp.interval[1]
    assert sharp.proxies == ("says_model",)
    assert result_of(run)["audit"]["proxies"] == ["says_model"]


def test_the_command_shows_the_gain_before_anybody_labels(run):
    found = CliRunner().invoke(
        main, ["audit", str(run), "--proxy", "says_model", "--proxy", "share"]
    )
    assert found.exit_code == 0, found.output
    assert '"says_model", "share" find' in found.output
    assert "100 labels give an interval" in found.output
    told = CliRunner().invoke(main, ["audit", str(run), "--proxy", "share", "--json"])
    assert json.loads(told.stdout)["proxies"] == ["share"]
    assert answered(run).proxies == ("share",)


@pytest.mark.parametrize(
    ("column", "code", "words"),
    [
        ("gone", "TB103", "gone"),
        ("far", "TB008", "from 0 to 1; it is 7 to 7"),
        ("empty", "TB008", "no value in any row"),
        ("odd", "TB002", 'the proxy "odd" is not understood: '),
    ],
)
def test_columns_that_are_no_labels_are_refused_and_nothing_changes(run, column, code, words):
    before = sorted(path.name for path in run.iterdir())
    with fails(code, words):
        tb.audit(run).use_proxies("says_model", column)
    assert sorted(path.name for path in run.iterdir()) == before


def test_more_proxies_than_a_run_can_have_are_refused_before_one_is_kept(
    made, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    names = [f"says_{k}" for k in range(21)]
    frame = pd.read_csv(made / "claims.csv")[["x", "z", "known", "share"]]
    frame = frame.assign(**dict.fromkeys(names, frame["share"]))
    frame.to_csv("many.csv", index=False)
    asked = ["--label", "known", "--drop", ",".join([*names, "share"]), "--preset", "fast"]
    assert CliRunner().invoke(main, ["fit", "many.csv", *asked, "-o", "run"]).exit_code == 0
    with fails("TB008", "at most 20", "21"):
        tb.audit("run").use_proxies(*names)
    assert answered("run").proxies == ()
    assert len(tb.audit("run").use_proxies(*names[:20]).proxies) == 20


def test_a_proxy_of_unlabeled_rows_only_is_enough(made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.read_csv(made / "claims.csv")
    frame["late"] = frame["says_model"].mask(frame["known"])
    frame.drop(columns=["far", "empty", "odd"]).to_csv("late.csv", index=False)
    asked = ["--label", "known", "--drop", "says_model,share,late", "--preset", "fast", "-o", "run"]
    assert CliRunner().invoke(main, ["fit", "late.csv", *asked]).exit_code == 0
    gain = tb.audit("run").use_proxies("late")
    assert (gain.finds, gain.width) == ((), None)


def test_a_proxy_and_a_draw_in_one_command(run, tmp_path):
    out = str(tmp_path / "a.csv")
    told = CliRunner().invoke(
        main, ["audit", str(run), "--proxy", "share", "--n", "7", "-o", out, "--json"]
    )
    assert json.loads(told.stdout)["rows"] == 7
    assert (run / "proxies.parquet").exists()


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"p": [0.5] * 3}),
        pd.DataFrame({f"p{i}": [0.5] * 750 for i in range(99)}),
        pd.DataFrame({"p": [2.0] * 750}),
        pd.DataFrame({"p": ["x"] * 750}),
        pd.DataFrame({"p": [None] * 750}, dtype=float),
    ],
)
def test_a_forged_file_of_proxies_is_refused(run, frame):
    frame.to_parquet(run / "proxies.parquet")
    with fails("TB114", "proxies.parquet"):
        answered(run)


def test_a_source_that_the_folder_cannot_vouch_for_is_named_again(run, made, tmp_path):
    frame = pd.read_csv(made / "claims.csv")
    frame.assign(share=1 - frame["share"]).to_csv(tmp_path / "other.csv", index=False)
    with fails("TB117", "has changed"):
        tb.audit(run, str(tmp_path / "other.csv")).use_proxies("share")


def test_a_run_that_keeps_its_rows_has_no_known_positives_to_compare(made, tmp_path):
    frame = pd.read_csv(made / "claims.csv")
    drop = ["says_model", "share", "far", "empty", "odd"]
    run = tb.fit(frame, "known", drop=drop, budget="fast").save(tmp_path / "run")
    gain = tb.audit(run).use_proxies("says_model")
    assert (gain.finds, gain.width) == ((), None)
    assert "if the answers agree with it" in str(gain)
    assert answered(tmp_path / "run").proxies == ("says_model",)
