import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topbin.core import InputError
from topbin.evaluate import with_truth

pairs = st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1)), min_size=1, max_size=40)


@given(pairs)
def test_every_figure_is_its_definition(rows):
    y, p = [row[0] for row in rows], [row[1] for row in rows]
    found = with_truth.performance(y, p)
    assert found.accuracy == pytest.approx(np.mean([(b >= 0.5) == a for a, b in rows]))
    assert found.brier == pytest.approx(np.mean([(a - b) ** 2 for a, b in rows]))
    gaps = [
        abs(sum(a - b for a, b in rows if min(int(b * 15), 14) == k)) / len(rows) for k in range(15)
    ]
    assert found.ece == pytest.approx(sum(gaps))
    wins = [(b > d) + (b == d) / 2 for a, b in rows if a == 1 for c, d in rows if c == 0]
    assert (found.auc is None) == (not wins)
    if wins:
        assert found.auc == pytest.approx(np.mean(wins))


def test_a_calibrated_model_has_no_calibration_error_to_speak_of():
    rng = np.random.default_rng(0)
    p = rng.random(100_000)
    y = rng.random(100_000) < p
    assert with_truth.ece(y, p) < 0.01
    assert with_truth.ece(y, p**2) == pytest.approx(1 / 6, abs=0.01)  # E|p − p²|


def test_performance_goes_to_json_values():
    assert with_truth.performance([1], [0.75]).to_dict() == {
        "accuracy": 1.0, "auc": None, "brier": 0.0625, "ece": 0.25,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: with_truth.performance([1, 0], [0.1]), "TB005"),
        (lambda: with_truth.performance([1, 2], [0.1, 0.2]), "TB002"),
        (lambda: with_truth.performance([1, 0], [0.1, 1.2]), "TB009"),
        (lambda: with_truth.ece([1, 0], [-0.1, 0.2]), "TB009"),
        (lambda: with_truth.ece([1, 0], [0.1, 0.2], bins=0), "TB008"),
        (lambda: with_truth.performance([], []), "TB001"),
        (lambda: with_truth.performance([1], [np.nan]), "TB004"),
    ],
)
def test_bad_input_is_refused(call, code):
    with pytest.raises(InputError, match=f"^{code}"):
        call()
