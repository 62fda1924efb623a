"""What a fit says first: the verdict, leaks with their remedy, and whether labels look random."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import topbin as tb
from topbin.cli import main
from topbin.store.runs import read_result

pytestmark = pytest.mark.usefixtures("quick_fits")

N = 1200


@pytest.fixture(scope="module")
def rows():
    """Columns, who is positive, and who is labeled, at random."""
    rng = np.random.default_rng(3)
    is_positive = rng.random(N) < 0.35
    X = rng.normal(size=(N, 5)) + 1.5 * is_positive[:, None]
    return pd.DataFrame(X, columns=list("abcde")), is_positive, is_positive & (rng.random(N) < 0.4)


def fit(frame, labeled, **how):
    return tb.fit(frame.assign(known=labeled.astype(int)), "known", budget="fast", **how)


@pytest.fixture(scope="module")
def plain(rows):
    return fit(rows[0], rows[2])


def test_the_verdict_leads_everywhere(plain, tmp_path_factory):
    found = plain.verdict
    assert plain.summary().splitlines()[0] == f"verdict         {found}"
    assert next(iter(plain.to_dict())) == "verdict"
    folder = plain.save(tmp_path_factory.mktemp("run") / "run")
    assert read_result(folder).verdict == found
    page = (folder / "report.html").read_text()
    assert 0 < page.index(f"<strong>{found.say.capitalize()}.</strong>") < page.index("<h2>")


def test_a_clean_table_has_no_remedy_and_no_alarm_about_labels(plain):
    assert plain.remedy is None
    assert {alarm.code for alarm in plain.estimate.alarms}.isdisjoint({"leak", "biased-labels"})
    assert plain.random_labels is not None


@pytest.mark.parametrize("values", [(0.0, 1e308), (-1e308, 0.0)])
def test_values_as_large_as_floats_can_be_are_no_suspects(rows, values):
    huge = np.where(np.arange(N) % 5 < 2, *values)
    found = fit(rows[0].assign(huge=huge), rows[2])
    assert found.remedy is None


@pytest.mark.parametrize("strength", [1.0, 8.0])
def test_a_leak_is_named_and_the_answer_without_it_leads(rows, plain, strength):
    frame, is_positive, labeled = rows
    noise = np.random.default_rng(0).normal(size=N)
    found = fit(frame.assign(seen=noise + strength * labeled), labeled)
    truth = is_positive[~labeled].mean()
    assert found.verdict.say == "audit first"
    assert found.verdict.command == "the same fit with --drop seen"
    assert found.remedy.columns == ("seen",)
    assert abs(found.remedy.estimate.alpha - truth) < abs(found.estimate.alpha - truth)
    leaks = [alarm.column for alarm in found.estimate.alarms if alarm.code == "leak"]
    assert leaks == ["seen"]
    shown = found._repr_html_()
    lead = shown[shown.index('class="answer"') :].split("</p>")[0]
    assert "Without" in lead
    assert "About 0 %" not in lead


def test_where_rare_positives_are_as_clear_without_the_column_a_note_says_so():
    rng = np.random.default_rng(5)
    is_positive = rng.random(3000) < 0.04
    X = rng.normal(size=(3000, 7)) + np.outer(is_positive, [4.0] + [2.0] * 6)
    labeled = is_positive & (rng.random(3000) < 0.5)
    found = fit(pd.DataFrame(X, columns=list("abcdefg")), labeled)
    assert [alarm.code for alarm in found.estimate.alarms if alarm.code == "leak"]
    assert found.remedy is None
    (note,) = (note for note in found.estimate.notes if note.startswith("without"))
    both = "so either other columns leak the label too, or none does"
    assert note.endswith(f"(a quick estimate), {both}")
    assert note in found.summary()


def test_a_group_column_is_to_be_given_and_never_to_be_dropped(rows):
    frame, is_positive, labeled = rows
    frame = frame[:400].loc[np.repeat(np.arange(400), 3)].reset_index(drop=True)
    frame += 0.03 * np.random.default_rng(0).normal(size=frame.shape)
    frame["patient_id"] = np.repeat(np.arange(400), 3)
    found = fit(frame, np.repeat(labeled[:400], 3))
    assert (found.remedy.kind, found.remedy.columns) == ("group", ("patient_id",))
    assert "--group patient_id" in found.summary()
    assert "--drop patient_id" not in found.summary()
    truth = is_positive[:400][~labeled[:400]].mean()
    low, high = found.remedy.estimate.interval
    assert low <= truth <= high


def test_biased_labels_are_in_the_headline_and_point_upward():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 6, 1500)
    X = rng.normal(0, 3, (6, 6))[kind] + rng.normal(size=(1500, 6))
    labeled = (kind < 3) & (rng.random(1500) < np.where(kind == 0, 0.8, 0.12))
    found = fit(pd.DataFrame(X, columns=list("abcdef")), labeled)
    (alarm,) = (a for a in found.estimate.alarms if a.code == "biased-labels")
    assert alarm.bias == "down"
    words = "the labels do not look random, so the share is likely higher"
    assert words in found.estimate.summary().splitlines()[0]
    assert found.verdict.say == "audit first"
    assert "topbin audit" in found.verdict.command


def test_at_most_never_stands_without_its_condition(plain):
    alone = replace(plain.estimate, alpha=0.5, upper_bound=0.3, alarms=())
    told = alone.summary().splitlines()[0]
    assert "at most" in told
    assert "if the labeled positives are like the others" in told


def test_the_command_names_the_run_in_its_next_step(rows, tmp_path):
    frame, _, labeled = rows
    frame[:500].assign(known=labeled[:500].astype(int)).to_csv(tmp_path / "t.csv", index=False)
    run = str(tmp_path / "run")
    asked = ["fit", str(tmp_path / "t.csv"), "--label", "known", "-o", run, "--preset", "fast"]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 0, done.output
    (line,) = (line for line in done.output.splitlines() if line.startswith("next step"))
    assert f"topbin audit {run} --n " in line
