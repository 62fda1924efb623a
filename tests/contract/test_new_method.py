"""A method that is only a line in the registry is at home everywhere: no other list knows names."""

import re
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from gaussians import gaussians
from score_files import scored, write
from sklearn.linear_model import LogisticRegression

import topbin as tb
from topbin.cli.demo import as_table, every_method
from topbin.core import AlphaEstimate, Evidence, Tails
from topbin.engines import Local, bin_scores, count_from
from topbin.mpe import METHODS, Method, compared_estimates, thinning
from topbin.mpe.registry import cost_of_thinning

mpl.use("Agg")
SAMPLE = gaussians(0.3, 300, 400)
X, LABELS = np.r_[SAMPLE.X_p, SAMPLE.X_u], np.repeat([1, 0], [300, 400])
WHY = "it ignores the data, so the truth may be anything"


def throwaway(*samples):
    if isinstance(samples[0], Tails):
        sizes = samples[0].n_p, samples[0].n_u
    else:
        sizes = len(samples[0]), len(samples[1])
    return AlphaEstimate(alpha=0.3, n_p=sizes[0], n_u=sizes[1], method="throwaway")


@pytest.fixture
def register(monkeypatch):
    def add(needs, **more):
        added = Method(throwaway, needs, "nobody", "Throw-away", "#123456", **more)
        monkeypatch.setitem(METHODS, "throwaway", added)
        return added

    return add


@pytest.mark.parametrize("needs", ["tails", "scores"])
def test_estimates_displays_and_results_have_it(register, needs):
    register(needs, errs="up", why=WHY)
    est = tb.estimate_alpha(*SAMPLE.scores(), method="throwaway")
    assert (est.alpha, est.method, est.interval is None) == (0.3, "throwaway", False)
    assert f"bias            {WHY}" in est.summary()
    assert "throwaway" in {e.method for e in compared_estimates(Evidence.of(*SAMPLE.scores()))}
    for display in (tb.TopBinDisplay, tb.ScoreDisplay):
        assert display.from_scores(*SAMPLE.scores(), method="throwaway").plot().figure_ is not None


@pytest.mark.parametrize("needs", ["tails", "scores", "features"])
def test_the_estimator_face_and_the_demo_table_have_it(register, needs):
    register(needs)
    fitted = tb.AlphaEstimator("throwaway", estimator=LogisticRegression(), repeats=1)
    assert "α may be too high or too low" in fitted.fit(X, LABELS).summary()
    rows = every_method(X[::5], LABELS[::5])
    assert [row.estimate.method for row in rows] == list(METHODS)
    assert "throwaway" in list(as_table(rows, 0.3).columns[0].cells)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "with all of them throwaway may give another α"),
        ({"cuts": "ranks"}, "all that throwaway and the interval read: no error from that"),
        ({"bracket": lambda tails: (0.25, 0.5)}, "between 0.250000 and 0.500000"),
    ],
)
def test_the_note_on_thinned_cuts_is_the_methods_own(register, more, words):
    register("tails", **more)
    some = Tails.from_scores(*SAMPLE.scores()).at(slice(None, None, 7))
    assert words in cost_of_thinning(some, 300, "throwaway")[0]


def test_engines_have_it(register, tmp_path, monkeypatch):
    monkeypatch.setattr(thinning, "MANY", 10)
    monkeypatch.setattr(thinning, "STEP", 0.1)
    counted = count_from(Local(), write(tmp_path, scored()), score="score", label="label")
    register("tails")
    assert "may give another α" in counted.estimates("throwaway")[None].notes[-1]
    register("scores")
    assert bin_scores(Local(), counted).estimate("throwaway").alpha == 0.3


def test_a_whole_job_shows_it_and_a_classifier_can_use_it(register):
    register("tails")
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])]).assign(known=LABELS)
    result = tb.fit(frame, "known", budget="fast")
    assert "throwaway" in {other.method for other in result.methods}
    assert "throwaway 0.300" in result.agreement()
    assert "<td>throwaway" in result._repr_html_()
    quick = tb.PvUClassifier(LogisticRegression(), method="throwaway").fit(X, LABELS)
    assert quick.alpha_ == 0.3


def test_every_method_says_how_it_is_seen_and_which_way_it_errs():
    assert len({method.color for method in METHODS.values()}) == len(METHODS)
    assert len({method.label for method in METHODS.values()} - {""}) == len(METHODS)
    assert all(method.caution and method.source for method in METHODS.values())


def test_the_sentence_on_bias_is_the_methods_own():
    est = tb.AlphaEstimator("tice").fit(X, LABELS).estimate_
    assert "top bin is impure" not in est.summary()
    assert METHODS["tice"].caution in est.summary()


def test_no_other_room_imports_a_method_to_apply_it():
    rooms = Path(tb.__file__).parent
    names = "|".join(METHODS)
    imports = re.compile(rf"^from topbin\.mpe\S* import .*\b({names})\b", re.MULTILINE)
    outside = [path for path in rooms.rglob("*.py") if path.parent.name != "mpe"]
    assert len(outside) > 100
    assert [path for path in outside if imports.search(path.read_text("utf-8"))] == []
