"""How far a fit is, and how long it will take."""

from io import StringIO

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import topbin as tb
from topbin.core import AlphaEstimate
from topbin.job.forecast import Forecast, work_of
from topbin.learn import Plan
from topbin.learn.defaults import FIRST, PRESETS
from topbin.show.screen import Event, progress_on

PLAN = Plan(outer=3, inner=2, repeats=1)


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("topbin.job.forecast.monotonic", lambda: now[0])
    return now


def test_the_first_estimate_tells_how_long_the_careful_one_will_take(clock):
    forecast, clock[0] = Forecast(began=0.0), 10.0
    assert forecast.after_first(FIRST, PLAN) == 10 * work_of(PLAN) / work_of(FIRST) == 30


def test_each_step_makes_the_forecast_better(clock):
    forecast = Forecast(began=0.0)
    forecast.after_first(FIRST, PLAN)
    clock[0] = 8.0
    assert forecast.after_step(1, 4) == 24
    clock[0] = 20.0
    assert forecast.after_step(2, 4) == 20
    assert forecast.after_step(4, 4) == 0


def test_steps_from_before_are_not_timed(clock):
    forecast = Forecast(began=0.0, steps_before=2)
    assert forecast.after_first(FIRST, PLAN) is None
    assert forecast.after_step(2, 4) is None
    clock[0] = 5.0
    assert forecast.after_step(3, 4) == 5


def test_a_log_gets_a_forecast_and_a_line_per_quarter():
    log = StringIO()
    estimate = AlphaEstimate(alpha=0.3, n_p=9, n_u=9, method="bbe", interval=(0.2, 0.4))
    with progress_on(Console(file=log, width=100)) as tell:
        tell(Event("first", estimate=estimate, seconds_left=30))
        for done in range(1, 9):
            tell(Event("refine", done, 8, seconds_left=10.0 * (8 - done)))
    assert log.getvalue().splitlines()[1:] == [
        "refining        about 30 s left",
        "refining        2 of 8 steps, about 60 s left",
        "refining        4 of 8 steps, about 40 s left",
        "refining        6 of 8 steps, about 20 s left",
        "refining        8 of 8 steps",
    ]


def test_verbose_says_the_same_from_python_and_changes_nothing(capsys, monkeypatch):
    monkeypatch.setitem(PRESETS, "good", Plan(2, 2, 1, 1, 1))
    x = np.random.default_rng(0).normal(np.repeat([4, 0], 60))
    frame = pd.DataFrame({"x": x, "known": np.arange(120) < 40})
    quiet, events = tb.fit(frame, "known"), []
    assert capsys.readouterr().out == ""
    loud = tb.fit(frame, "known", budget=tb.Budget(verbose=True, on_event=events.append))
    said = capsys.readouterr().out
    assert said.startswith("first estimate  between ")
    assert "refining        3 of 3 steps" in said
    assert [event.stage for event in events] == ["first", *["refine"] * 3, "done"]
    assert events[1].seconds_left > 0
    assert loud.estimate == quiet.estimate
