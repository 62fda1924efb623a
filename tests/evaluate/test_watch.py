"""α of one period after another: when the share moves, when the rows do, and when nothing does."""

from dataclasses import replace

import numpy as np
import pytest

from topbin.core.posterior import LEVELS, AlphaPosterior
from topbin.evaluate.parts import Whole
from topbin.evaluate.watch import Period, _column_p, follow

RNG = np.random.default_rng(0)
POSTERIOR = AlphaPosterior(tuple(0.08 + 0.04 * level for level in LEVELS))


def probabilities(rng, n, alpha, noise=0.1):
    """Probabilities of n rows by a good model."""
    return np.clip(rng.normal((rng.random(n) < alpha).astype(float), noise), 0, 1)


WHOLE = Whole(probabilities(RNG, 500, 1.0), probabilities(RNG, 3000, 0.1), POSTERIOR)


def periods(alphas, rows=200, seed=0, columns=None):
    rng, found = np.random.default_rng(seed), []
    for week, alpha in enumerate(alphas):
        seen = WHOLE.seen(probabilities(rng, rows, alpha))
        shares = np.full((3, 5), 0.2) if columns is None else columns[week]
        counts = tuple(tuple(map(int, rng.multinomial(100, one))) for one in shares)
        found.append(Period(f"{week}", seen.rows, seen.total, seen.bins, counts))
    return found


def watched(found):
    return follow(WHOLE, found, per_year=52, columns=("a", "b", "c"))


def test_intervals_hold_the_share_of_each_period():
    alphas = np.repeat([0.1, 0.15, 0.3], 10)
    found = watched(periods(alphas))
    covered = [
        one.interval[0] <= a <= one.interval[1] for one, a in zip(found, alphas, strict=True)
    ]
    assert np.mean(covered) >= 0.9
    assert found[0].change == 0
    low, high = found[-1].change_interval
    assert low < 0.2 < high


@pytest.mark.parametrize(("alpha", "weeks"), [(0.15, 6), (0.2, 2), (0.3, 1)])
def test_a_share_that_moves_raises_its_alarm_once(alpha, weeks):
    waits = []
    for seed in range(10):
        found = watched(periods([0.1] * 20 + [alpha] * 12, seed=seed))
        assert not any(one.alarm == "rows" for one in found)
        waits.append(next((i for i, one in enumerate(found[20:], 1) if one.alarm), 99))
    assert np.median(waits) <= weeks


def test_nothing_moves_and_hardly_any_year_has_an_alarm():
    years = [watched(periods([0.1] * 52, seed=seed)) for seed in range(20)]
    for kind in ("share", "rows"):
        # One in 20 is promised; more than 3 have a chance of 0.016 then.
        assert sum(any(one.alarm == kind for one in year) for year in years) <= 3


def test_changes_are_those_of_the_shown_shares_and_inside_their_intervals():
    found = watched(periods([0.1] * 5 + [0.3] * 5))
    for one in found:
        assert one.change == one.alpha - found[0].alpha
        assert one.change_interval[0] <= one.change <= one.change_interval[1]


def test_a_period_like_the_first_is_not_the_first():
    same = periods([0.1] * 2)
    twice = [same[0], replace(same[0], start=same[1].start)]
    first, second = watched(twice)
    assert first.change_interval == (0, 0)
    assert second.change == 0
    assert second.change_interval[0] < 0 < second.change_interval[1]


def test_later_periods_change_nothing_and_each_is_added_once():
    many = periods([0.1] * 20 + [0.3] * 20)
    whole = watched(many)
    for size in (5, 21, 33):
        assert watched(many[:size]) == whole[:size]


def test_columns_that_move_are_named_and_are_not_called_a_moved_share():
    moved = np.array([[0.2] * 5, [0.6, 0.1, 0.1, 0.1, 0.1], [0.2] * 5])
    columns = [np.full((3, 5), 0.2)] * 10 + [moved] * 3
    found = watched(periods([0.1] * 13, columns=columns))
    alarms = [one for one in found if one.alarm]
    assert [one.alarm for one in alarms][:1] == ["rows"]
    assert alarms[0].start == alarms[0].since == "10"
    assert alarms[0].columns == ("b",)
    assert "the rows have moved since 10 (b)" in alarms[0].sentence


@pytest.mark.parametrize("bad", [1, 4])
def test_after_the_rows_have_moved_alpha_is_unknown_until_they_are_back(bad):
    moved = np.array([[0.2] * 5, [0.6, 0.1, 0.1, 0.1, 0.1], [0.2] * 5])
    usual = np.full((3, 5), 0.2)
    many = periods([0.1] * 24, columns=[usual] * 10 + [moved] * bad + [usual] * (14 - bad))
    found = watched(many)
    unknown = [int(one.start) for one in found if one.is_unknown]
    assert unknown == list(range(10, 10 + bad))
    assert not any(one.alarm for one in found[11:])
    for one in found[11 : 10 + bad]:
        assert "α is unknown (200 rows); the rows are still unlike those before 10;" in one.sentence
    assert found[10 + bad].sentence.startswith(f"{10 + bad}: α = ")


def test_a_share_that_moved_meanwhile_raises_its_alarm_when_the_rows_are_back():
    moved = np.array([[0.2] * 5, [0.6, 0.1, 0.1, 0.1, 0.1], [0.2] * 5])
    usual = np.full((3, 5), 0.2)
    many = periods([0.1] * 13 + [0.4] * 9, columns=[usual] * 10 + [moved] * 4 + [usual] * 8)
    found = watched(many)
    alarms = [(one.start, one.alarm, one.since) for one in found if one.alarm]
    assert alarms == [("10", "rows", "10"), ("14", "share", "14")]
    assert not any(one.is_unknown for one in found[14:])


def test_rows_that_move_twice_are_unlike_those_before_the_first_move():
    moved = np.array([[0.2] * 5, [0.6, 0.1, 0.1, 0.1, 0.1], [0.2] * 5])
    columns = [np.full((3, 5), 0.2)] * 10 + [moved] * 4 + [moved[[1, 0, 2]]] * 4
    found = watched(periods([0.1] * 18, columns=columns))
    assert [one.start for one in found if one.alarm] == ["10", "14"]
    assert all("unlike those before 10;" in one.sentence for one in found[15:])


def test_one_odd_first_period_does_not_make_all_others_unknown():
    odd = np.array([[0.2] * 5, [0.6, 0.1, 0.1, 0.1, 0.1], [0.2] * 5])
    found = watched(periods([0.1] * 20, columns=[odd] + [np.full((3, 5), 0.2)] * 19))
    assert sum(one.is_unknown for one in found) <= 3
    assert not found[-1].is_unknown


def test_a_share_that_moves_among_unknown_rows_is_no_alarm():
    moved = np.array([[0.2] * 5, [0.6, 0.1, 0.1, 0.1, 0.1], [0.2] * 5])
    columns = [np.full((3, 5), 0.2)] * 10 + [moved] * 9
    found = watched(periods([0.1] * 14 + [0.4] * 5, columns=columns))
    assert [one.start for one in found if one.alarm] == ["10"]
    assert all(one.is_unknown for one in found[10:])


def test_scores_that_are_no_mixture_raise_the_alarm_of_the_rows():
    rng = np.random.default_rng(1)
    odd = WHOLE.seen(np.full(200, 0.45) + rng.normal(0, 0.01, 200))  # neither class has these
    found = periods([0.1] * 6)
    found.append(replace(found[0], start="6", total=odd.total, bins=odd.bins))
    assert watched(found)[-1].alarm == "rows"


def test_later_periods_change_nothing_before_them():
    found = periods([0.1] * 10 + [0.3] * 5)
    assert watched(found)[:8] == watched(found[:8])


def test_empty_periods_and_periods_of_one_row_are_no_alarm():
    found = periods([0.1] * 10)
    empty = Period("x", 0, 0.0, (0,) * len(found[0].bins), ((0,) * 5,) * 3)
    one = WHOLE.seen(np.array([1.0]))
    single = Period("y", 1, one.total, one.bins, ((0,) * 5,) * 3)
    said = watched([empty, *found, empty, single, empty])
    assert said[0].alpha is None
    assert "no rows" in said[0].sentence
    assert said[-2].alarm is None
    assert said[-2].interval[0] < 0.1 < 0.3 < said[-2].interval[1]


def test_periods_add():
    a, b = periods([0.1, 0.2])
    assert (a + b).rows == 400
    assert (a + b).bins == tuple(map(sum, zip(a.bins, b.bins, strict=True)))


def test_the_test_of_columns_is_pearson_s():
    from scipy.stats import chi2_contingency

    new, old = periods([0.1, 0.1], columns=[np.full((3, 5), 0.2)] * 2)
    expected = [
        chi2_contingency([a, b], correction=False).pvalue
        for a, b in zip(new.columns, old.columns, strict=True)
    ]
    assert _column_p(new, old) == pytest.approx(expected)
