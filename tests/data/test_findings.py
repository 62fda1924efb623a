import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topbin.core import InputError
from topbin.data import check_table
from topbin.data.columns import as_columns
from topbin.data.findings import find_identifier, leaking, separation

N = 400
RNG = np.random.default_rng(0)
IS_P = np.arange(N) < 100
S = IS_P.astype(int)


def column(values, name="x"):
    return as_columns({name: values})[name]


def codes(table, s=S, **choices):
    return [(f.code, f.column) for f in check_table(table, s, **choices)]


@pytest.mark.parametrize("values", [[7] * N, ["a"] * N, [None] * N, [True] * N, [np.nan] * N])
def test_constant_columns(values):
    assert codes({"x": values, "y": RNG.normal(size=N)}) == [("constant", "x")]


def test_one_value_or_nothing_is_not_constant():
    assert codes({"x": [1.0, np.nan] * (N // 2), "y": RNG.normal(size=N)}) == []


@pytest.mark.parametrize(
    ("name", "values", "code"),
    [
        ("n", np.arange(N), "identifier"),  # a row number
        ("n", RNG.permutation(N) + 10**6, "identifier"),  # dense, shuffled
        ("n", np.sort(RNG.choice(10**9, N, replace=False)), "identifier"),  # in order
        ("customer_id", RNG.choice(10**9, N, replace=False), "identifier"),  # by its name
        ("customerId", RNG.choice(10**9, N, replace=False), "identifier"),
        ("ref", [f"C-{k:05}" for k in RNG.permutation(N)], "identifier"),
        ("note", [f"the client wrote letter {k}" for k in range(N)], "free-text"),
        ("amount", RNG.choice(10**9, N, replace=False), None),  # cents may all differ
        ("width", RNG.choice(10**9, N, replace=False), None),  # "id" inside a word is no id
        ("x", RNG.normal(size=N), None),
        ("x", np.where(np.arange(N) % 2, 1e308, -1e308), None),  # their difference is no float
        ("town", RNG.choice(["Bern", "Lyon"], N), None),
        ("day", np.arange(N).astype("datetime64[D]"), None),
        ("n", np.arange(N) // 2, None),
    ],
)
def test_identifiers(name, values, code):
    finding = find_identifier(column(values, name))
    assert (finding and finding.code) == code
    if code:
        assert finding.column == name
        assert f'"{name}" looks like' in finding.sentence


def test_values_that_no_model_reads():
    table = {"parts": [[1, 2]] * N, "mixed": [1, "a"] * (N // 2), "y": RNG.normal(size=N)}
    assert codes(pd.DataFrame(table)) == [("unreadable", "parts"), ("unreadable", "mixed")]


@pytest.mark.parametrize("name", ["{}.jpg", "photographs/last-year/cat {}.PNG"])
def test_paths_of_images_come_with_a_hint(name):
    paths = [name.format(k) for k in range(N)]
    assert "if these are images" in find_identifier(column(paths, "path")).sentence
    assert "(--image path)." in find_identifier(column(paths, "path")).sentence
    others = [path + ".csv" for path in paths]
    assert "image" not in find_identifier(column(others, "path")).sentence


def test_vectors_are_compared_as_a_whole():
    vectors = RNG.normal(size=(N, 3))
    vectors[0] = vectors[N - 1]  # a positive with a copy among the unlabeled
    assert codes(pd.DataFrame({"v": list(vectors)})) == [("overlap", None)]


def test_a_few_rows_prove_no_identifier():
    assert find_identifier(column(np.arange(19))) is None


LEAKS = {
    "higher": np.where(IS_P, 5.0, 0.0) + RNG.normal(size=N) * 0.1,
    "lower": np.where(IS_P, -5.0, 0.0) + RNG.normal(size=N) * 0.1,
    "missing for U": np.where(IS_P, RNG.normal(size=N), np.nan),
    "missing for P": np.where(IS_P, np.nan, RNG.normal(size=N)),
    "a middle value": np.where(IS_P, 3, RNG.choice([1, 2, 4, 5], N)),
    "a category": np.where(IS_P, "checked", RNG.choice(["new", "old"], N)),
    "a name or nothing": np.where(IS_P, RNG.choice(["Ann", "Bob", "Cy"], N), None),
    "a different name or nothing": np.where(IS_P, RNG.choice(9999, N).astype(str), None),
    "a date or nothing": np.where(IS_P, np.datetime64("2026-01-01"), np.datetime64("NaT")),
    "infinite": np.where(IS_P, np.inf, RNG.normal(size=N)),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_leaks(leak):
    found = leaking(column(LEAKS[leak]), IS_P, ~IS_P)
    assert found is not None
    assert found.figure >= 0.98
    assert f"(AUC {found.figure:.3f})" in found.sentence


@given(st.integers(0, 10**6), st.integers(2, 400), st.integers(5, 60))
def test_noise_is_no_leak(seed, categories, n_p):
    rng = np.random.default_rng(seed)
    is_p = rng.permutation(N) < n_p
    for values in (
        rng.normal(size=N),
        rng.integers(0, categories, N),
        rng.integers(0, categories, N).astype(str),
        np.where(rng.random(N) < 0.3, np.nan, rng.normal(size=N)),
    ):
        assert separation(column(values), is_p, ~is_p) < 0.95


@pytest.mark.parametrize("share", [0.9, 0.6, 0.3, 0.05, 0.0])
@pytest.mark.parametrize("kind", ["date", "flag", "category"])
def test_a_value_of_the_known_positives_alone_is_a_leak(kind, share):
    """It is filled in for a part of the known positives, and so a note of what people found."""
    rng = np.random.default_rng(0)
    is_p = np.arange(2_000) < 300
    filled = is_p & (rng.random(2_000) < share)
    values = {
        "date": np.where(filled, 7.5 + rng.random(2_000), np.nan),
        "flag": filled.astype(float),
        "category": np.where(filled, "confirmed", rng.choice(["a", "b"], 2_000)),
    }
    found = leaking(column(values[kind]), is_p, ~is_p)
    assert (found is not None) == (share >= 0.3)
    if found is not None and share < 0.9:
        part = f"for {100 * filled[is_p].mean():.0f} % of the known positives and no unlabeled row"
        assert part in found.sentence


def test_a_value_that_hidden_positives_share_is_no_leak():
    rng = np.random.default_rng(0)
    is_p, hidden = np.arange(2_000) < 300, np.arange(2_000) > 1_800
    has = (is_p | hidden) & (rng.random(2_000) < 0.6)
    assert leaking(column(has.astype(float)), is_p, ~is_p) is None


def test_separation_of_numbers_is_auc():
    values = np.r_[RNG.normal(1, 1, 100), RNG.normal(0, 1, 300)]
    wins = np.mean(values[:100, None] > values[None, 100:])
    assert separation(column(values), IS_P, ~IS_P) == pytest.approx(wins, abs=1e-12)
    assert separation(column(-values), IS_P, ~IS_P) == pytest.approx(wins, abs=1e-12)


def test_separation_of_categories_is_auc_by_hand():
    # a: 60 P, 30 U; b: 40 P, 270 U. A positive of a beats b; within a category they tie.
    values = np.array(["a"] * 60 + ["b"] * 40 + ["a"] * 30 + ["b"] * 270)
    by_hand = 0.6 * (0.9 + 0.1 / 2) + 0.4 * (0.9 / 2)
    assert separation(column(values), IS_P, ~IS_P) == pytest.approx(by_hand)


def test_a_good_feature_is_no_leak_unless_positives_are_rare():
    rng = np.random.default_rng(3)
    hidden = rng.random(3000) < 0.3
    values = np.r_[rng.normal(6, 1, 500), rng.normal(6 * hidden, 1)]
    is_p = np.arange(3500) < 500
    assert leaking(column(values), is_p, ~is_p) is None
    auc = separation(column(values), is_p, ~is_p)
    assert 2 * (1 - auc) == pytest.approx(0.3, abs=0.03)  # what the sentence says of α


def test_row_order_changes_nothing():
    table = {"a": LEAKS["a category"], "b": LEAKS["missing for U"], "c": RNG.integers(0, 9, N)}
    mixed = RNG.permutation(N)
    shuffled = {name: values[mixed] for name, values in table.items()}
    assert check_table(table, S) == check_table(shuffled, S[mixed])


@pytest.mark.parametrize("maker", [pd.DataFrame, pl.DataFrame, dict])
def test_tables_of_every_kind_say_the_same(maker):
    table = {
        "id": np.arange(N), "same": np.ones(N), "leak": LEAKS["higher"], "x": RNG.normal(size=N),
    }  # fmt: skip
    assert codes(maker(table)) == [("identifier", "id"), ("constant", "same"), ("leak", "leak")]


def test_copies_of_positives_among_the_unlabeled():
    table = {"a": RNG.normal(size=N), "b": RNG.choice(["u", "v"], N)}
    assert codes(table) == []
    for values in table.values():
        values[200:240] = values[:40]
    finding = check_table({**table, "id": np.arange(N)}, S)[-1]
    assert (finding.code, finding.column, finding.figure) == ("overlap", None, 40)
    assert finding.sentence == ("40 of 100 positives have an exact copy among the unlabeled.")
    table["a"][200] = -table["a"][200]
    assert check_table(table, S)[-1].figure == 39


def test_missing_cells_and_zeros_are_equal_whatever_their_bits():
    odd_nan = np.array([0x7FF8000000000001], np.uint64).view(np.float64)[0]
    a = np.arange(N) + 0.5
    b = RNG.normal(size=N)
    a[0], a[200], b[0], b[200] = np.nan, odd_nan, 0.0, -0.0
    assert check_table({"a": a, "b": b}, S, leak=0.999999)[-1].figure == 1


def test_tables_of_few_different_rows_say_that_copies_are_usual():
    table = {"a": RNG.integers(0, 3, N), "b": RNG.integers(0, 3, N)}
    (finding,) = check_table(table, S)
    assert "among the unlabeled; so do 100 % of the unlabeled rows themselves." in finding.sentence


def test_known_negatives_are_no_unlabeled_rows():
    s = np.where(IS_P, "p", np.where(np.arange(N) < 200, "n", "u"))
    values = np.where(s == "u", 0.0, 5.0) + RNG.normal(size=N) * 0.1
    assert codes({"x": values}, s, positive="p", negative="n") == [("leak", "x")]
    assert codes({"x": values}, s, positive="p") == []


def test_a_finding_prints_and_goes_to_json():
    (finding,) = check_table({"x": np.ones(N), "y": RNG.normal(size=N)}, S)
    assert str(finding) == 'constant: "x" is the same in every row.'
    assert json.loads(json.dumps(finding.to_dict()))["code"] == "constant"


def test_labels_must_fit():
    with pytest.raises(InputError, match=r"^TB005 400 rows and 3 labels"):
        check_table({"x": np.ones(N)}, [1, 0, 0])
    with pytest.raises(InputError, match=r"^TB003"):
        check_table({"x": np.ones(N)}, np.zeros(N))
    with pytest.raises(InputError, match=r"^TB008 leak"):
        check_table({"x": np.ones(N)}, S, leak=2)


def test_all_dropped_columns_leave_no_rows_to_compare():
    assert codes({"id": np.arange(N), "same": np.ones(N)}) == [
        ("identifier", "id"),
        ("constant", "same"),
    ]
