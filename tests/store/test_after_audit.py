"""A run that was audited scores by what scores and answers say together."""

import json
import shutil

import numpy as np
import pytest
from claims import claims, small_run
from click.testing import CliRunner
from coded import fails
from stored import forge_result, result_of

import topbin as tb
from topbin.cli import main
from topbin.core.posterior import LEVELS
from topbin.learn.probabilities import TILT, fit_probabilities
from topbin.store.answer import Answer
from topbin.store.runs import read_result
from topbin.store.scorer import after_audit


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The same run before an audit and after it."""
    before, after = (small_run(tmp_path_factory.mktemp("runs") / "run") for _ in range(2))
    opened = tb.audit(after)
    rows = opened.draw(80)["row"]
    truth = claims()["amount"] > 1.5
    opened.record({row: bool(truth[row - 1]) for row in rows})
    opened.judge()
    return before, after


@pytest.fixture
def run(runs, tmp_path):
    """A folder of its own to spoil."""
    return shutil.copytree(runs[1], tmp_path / "run")


def together(run):
    return result_of(run)["audit"]["together"]


def test_a_run_scores_by_the_updated_map(runs):
    old, new = (tb.load(run) for run in runs)
    told, fitted = together(runs[1]), tb.load(runs[1] / "model")
    assert new.model.alpha_ == new.model.estimate_.alpha == told["alpha"]
    assert list(new.model.estimate_.posterior.quantiles) == told["posterior"]["quantiles"]
    assert old.model.estimate_ == fitted.estimate_ != new.model.estimate_
    expected = fit_probabilities(fitted.evidence_, new.model.estimate_)
    np.testing.assert_array_equal(new.model.probability_map_.values, expected.values)
    rows = claims(50, seed=1)
    scores = [scorer.score(rows)["topbin_probability"] for scorer in (old, new)]
    assert (scores[0] != scores[1]).any()
    assert (scores[0].rank() == scores[1].rank()).all()  # rows keep their order
    z = fitted.evidence_.scores[1]
    assert TILT < told["alpha"] < 1 - TILT
    assert new.model.probability_map_(z).mean() == pytest.approx(told["alpha"], rel=1e-6)


def test_the_command_scores_as_load_does(runs, tmp_path):
    claims(50, seed=1).to_csv(tmp_path / "new.csv", index=False)
    given = ["score", runs[1], tmp_path / "new.csv", "-o", tmp_path / "scored.csv"]
    assert CliRunner().invoke(main, [str(one) for one in given]).exit_code == 0
    scored = tb.data.read_table(tmp_path / "scored.csv").frame["topbin_probability"]
    expected = tb.load(runs[1]).score(tmp_path / "new.csv")["topbin_probability"]
    np.testing.assert_allclose(scored, expected, atol=1e-9)


def test_the_model_of_the_run_stays_as_it_was_fitted(runs):
    """Rows of later audits are drawn by its probabilities."""
    before, after = (run / "model" for run in runs)
    assert (before / "SHA256SUMS").read_bytes() == (after / "SHA256SUMS").read_bytes()
    model = tb.load(after)
    values, alpha = model.probability_map_.values.copy(), model.alpha_
    changed = after_audit(model, read_result(runs[1]))
    assert changed is not model
    np.testing.assert_array_equal(model.probability_map_.values, values)
    assert model.alpha_ == alpha != changed.alpha_


def test_without_an_audit_or_with_one_of_an_earlier_version_nothing_changes(runs, run):
    model = tb.load(runs[0] / "model")
    assert after_audit(model, read_result(runs[0])) is model
    found = result_of(run)
    del found["audit"]["together"]
    forge_result(run, found)
    assert tb.load(run).model.alpha_ == model.alpha_
    assert "with the audit  α = " in CliRunner().invoke(main, ["inspect", str(run)]).output
    assert CliRunner().invoke(main, ["report", str(run)]).exit_code == 0


def test_the_schema_describes_what_is_known_after_an_audit(runs):
    found = json.loads((runs[1] / "result.json").read_text())
    assert Answer.from_dict(found).audit.together.alpha == found["audit"]["together"]["alpha"]
    assert set(found["audit"]["together"]) == {"alpha", "interval", "posterior", "alone"}


def quantiles(change):
    def edit(told):
        told["posterior"]["quantiles"] = change(told["posterior"]["quantiles"])

    return edit


FORGED = {
    "no posterior": lambda told: told.pop("posterior"),
    "no alpha": lambda told: told.pop("alpha"),
    "alpha above 1": lambda told: told.update(alpha=1.5),
    "alpha as text": lambda told: told.update(alpha="0.3"),
    "alpha null": lambda told: told.update(alpha=None),
    "one end": lambda told: told.update(interval=[0.1]),
    "interval null": lambda told: told.update(interval=None),
    "alone as text": lambda told: told.update(alone="yes"),
    "posterior as list": lambda told: told.update(posterior=[0.1] * len(LEVELS)),
    "too few": quantiles(lambda q: q[1:]),
    "too many": quantiles(lambda q: [*q, 1.0]),
    "none": quantiles(lambda q: []),
    "text": quantiles(lambda q: [str(one) for one in q]),
    "truth values": quantiles(lambda q: [True] * len(q)),
    "null": quantiles(lambda q: [None] * len(q)),
    "lists": quantiles(lambda q: [[one] for one in q]),
    "above 1": quantiles(lambda q: [*q[:-1], 1.01]),
    "below 0": quantiles(lambda q: [-0.01, *q[1:]]),
    "falling": quantiles(lambda q: q[::-1]),
    "one falls": quantiles(lambda q: [*q[:7], q[6] - 1e-3, *q[8:]]),
    "a number": lambda told: told["posterior"].update(quantiles=0.3),
}


@pytest.mark.parametrize("edit", FORGED.values(), ids=FORGED)
def test_a_forged_posterior_is_said_not_believed(run, edit):
    found = result_of(run)
    edit(found["audit"]["together"])
    forge_result(run, found)
    with fails("TB114", "is damaged"):
        tb.load(run)
    for verb in ("inspect", "report", "audit"):
        done = CliRunner().invoke(main, [verb, str(run)])
        assert done.exit_code == 1
        assert done.stderr.startswith("TB114"), done.stderr


@pytest.mark.parametrize("where", ["estimate", "first", "methods"])
def test_other_posteriors_are_checked_too(run, where):
    found = result_of(run)
    told = found["methods"][0] if where == "methods" else found[where]
    told["posterior"] = {"quantiles": list(LEVELS)[::-1]}
    forge_result(run, found)
    with fails("TB114", "numbers from 0 to 1 in ascending order"):
        result_of(run)
