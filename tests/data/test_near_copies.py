"""Rows that belong together are noticed; rows that are independent raise no alarm."""

import numpy as np
import pytest
from sklearn import datasets

from topbin.core.labels import read_labels
from topbin.data.columns import Columns, as_batch
from topbin.data.findings import find_groups, find_jump, labels_are_shared
from topbin.job.grouping import unsaid_groups


def independent_tables():
    """Real and drawn tables of independent rows, with the rows that are truly positive."""
    rng = np.random.default_rng(0)
    for load in (datasets.load_breast_cancer, datasets.load_wine, datasets.load_iris):
        X, y = load(return_X_y=True)
        yield load.__name__, X, y > 0
        yield f"{load.__name__} 0", X, y == 0
    X, y = datasets.load_digits(return_X_y=True)
    yield "digits", X[::2], y[::2] > 4
    for d in (1, 2, 5, 20):
        y = rng.random(1500) < 0.4
        X = rng.normal(size=(1500, d))
        X[y, 0] += 2
        yield f"normal {d}", X, y
        yield f"whole numbers {d}", np.round(2 * X), y
        yield f"far apart {d}", X + 4 * y[:, None], y
    categories = rng.integers(0, 3, (2000, 6))
    yield "categories", categories, categories.sum(axis=1) > 7
    yield "categories and a number", np.c_[categories, rng.normal(size=2000)], categories[:, 0] > 1
    blob = rng.integers(0, 100, 1500)
    yield "blobs", rng.normal(size=(100, 5))[blob] + 0.05 * rng.normal(size=(1500, 5)), blob < 40
    small = np.arange(1000) < 60
    spread = np.where(small, 0.1, 1)[:, None]
    yield "a small tight class", spread * rng.normal(size=(1000, 4)), small


INDEPENDENT = {name: (X, y) for name, X, y in independent_tables()}


def visits(noise, *, patients=200, per_patient=6, known=60, columns=8, seed=0):
    rng = np.random.default_rng(seed)
    is_positive = np.arange(patients) < known + 0.3 * (patients - known)
    own = rng.normal(size=(patients, columns)) + 1.5 * is_positive[:, None]
    patient = np.repeat(np.arange(patients), per_patient)
    noise = noise * rng.normal(size=(patient.size, columns))
    return own[patient] + noise, patient < known, patient


@pytest.mark.parametrize("name", INDEPENDENT)
def test_independent_rows_raise_no_alarm(name):
    X, y = INDEPENDENT[name]
    rng = np.random.default_rng(1)
    for labeled in (0.2, 0.5, 0.9):
        is_p = y & (rng.random(y.size) < labeled)
        assert find_jump(X, is_p, ~is_p) is None


@pytest.mark.parametrize("noise", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("per_patient", [2, 3, 6, 12])
def test_visits_of_patients_are_noticed_in_any_order(noise, per_patient):
    X, is_p, _ = visits(noise, per_patient=per_patient)
    found = find_jump(X, is_p, ~is_p)
    assert found.near < 0.1 < 0.3 < found.next
    order = np.random.default_rng(2).permutation(is_p.size)
    assert find_jump(X[order], is_p[order], ~is_p[order]) is not None


def test_a_group_that_splits_patients_leaves_near_copies_and_the_right_one_leaves_none():
    X, is_p, patient = visits(0.02)
    wards = np.arange(patient.size) % 3
    assert find_jump(X, is_p, ~is_p, wards) is not None
    assert find_jump(X, is_p, ~is_p, patient) is None


def test_copies_that_are_labeled_one_by_one_do_no_harm():
    X, _, patient = visits(0.02)
    is_p = (patient < 100) & (np.random.default_rng(3).random(patient.size) < 0.5)
    assert find_jump(X, is_p, ~is_p) is None


def test_missing_values_constant_columns_and_few_rows():
    X, is_p, _ = visits(0.02)
    X[:, 0], X[::3, 1] = 7.0, np.nan
    assert find_jump(X, is_p, ~is_p) is not None
    few = np.flatnonzero(is_p)[:10]
    is_p = np.isin(np.arange(is_p.size), few)
    assert find_jump(X, is_p, ~is_p) is None


@pytest.mark.parametrize("name", ["patient_id", "PatientId", "customer", "account_no", "id"])
def test_a_column_of_names_is_found_by_name_and_values(name):
    ids = np.repeat([f"p{i}" for i in range(40)], 5)
    columns = Columns(as_batch({name: ids, "town": ids, "x": np.arange(200.0) % 7}))
    assert [f.column for f in find_groups(columns[c] for c in (name, "town", "x"))] == [name]


@pytest.mark.parametrize("ids", [np.arange(200), np.arange(200) % 4, np.arange(200) / 2])
def test_ids_of_rows_few_values_and_fractions_are_no_groups(ids):
    columns = Columns(as_batch({"patient_id": ids}))
    assert find_groups([columns["patient_id"]]) == ()


def test_the_alarm_says_that_alpha_is_too_low_and_names_the_column():
    X, is_p, patient = visits(1.0)
    table = {"a": X[:, 0], "patient_id": patient.astype(float)}
    columns, labels = Columns(as_batch(table)), read_labels(is_p.astype(int))
    assert labels_are_shared(columns["patient_id"], is_p, ~is_p)
    noise = np.random.default_rng(0).normal(size=(is_p.size, 3))
    (finding,), (alarm,) = unsaid_groups(columns, noise, labels, ["a", "patient_id"])
    assert (alarm.code, alarm.bias, finding.code) == ("group-column", "down", "group")
    assert "--group patient_id" in alarm.message
    (copies,) = unsaid_groups(columns, visits(0.02)[0], labels, ["a"])[1]
    assert (copies.code, copies.bias) == ("near-copies", "down")
    assert "α is likely too low" in copies.message


def test_beside_near_copies_a_column_of_words_may_name_the_group():
    machine = np.array([f"M{k:02d}" for k in np.repeat(np.arange(30), 4)])
    columns = Columns(as_batch({"machine": machine, "load": np.repeat(np.arange(30), 4)}))
    both = [columns["machine"], columns["load"]]
    assert find_groups(both) == ()
    assert [finding.column for finding in find_groups(both, by_name=False)] == ["machine"]
