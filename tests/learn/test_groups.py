"""No group is ever split between folds, outer or inner, and limits count groups."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from topbin import AlphaEstimator, TEDnClassifier
from topbin.core import Evidence, InputError
from topbin.learn import Plan, crossfit, find_learner
from topbin.learn.classifiers import DEDPULClassifier, ElkanNotoClassifier, PvUClassifier
from topbin.learn.crossfit import inner_folds
from topbin.learn.folds import folds_of
from topbin.learn.rows import Together, read_together
from topbin.mpe import alpha_posterior, upper_bound

FAST = Plan(outer=3, inner=2, repeats=1, warm=1, rounds=1)


def visits(patients=40, per_patient=5, known=12, alpha=0.3, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    is_positive = np.arange(patients) < known + alpha * (patients - known)
    own = rng.normal(size=(patients, 3)) + 2.0 * is_positive[:, None]
    patient = np.repeat(np.arange(patients), per_patient)
    X = own[patient] + noise * rng.normal(size=(patient.size, 3))
    return X, (patient < known).astype(int), patient


@st.composite
def grouped_rows(draw):
    """Labels and groups, several rows per group, some groups with rows of both kinds."""
    groups = draw(st.lists(st.integers(0, 15), min_size=12, max_size=80))
    labels = draw(st.lists(st.booleans(), min_size=len(groups), max_size=len(groups)))
    return np.array(labels), np.array(groups)


@settings(max_examples=60, deadline=None)
@given(grouped_rows(), st.integers(2, 6), st.integers(0, 9), st.booleans())
def test_no_group_is_ever_split_between_folds(rows, folds, seed, by_time):
    is_positive, groups = rows
    times = np.arange(groups.size, dtype=float) if by_time else None
    together = Together(groups, times)
    try:
        splits = list(folds_of(is_positive, folds, seed, together=together))
    except InputError as error:
        assert error.code in ("TB120", "TB121")
        return
    held = np.concatenate([out for _, out in splits])
    assert sorted(held) == list(range(groups.size))
    for train, out in splits:
        assert not np.isin(groups[train], groups[out]).any()
        assert is_positive[train].any()
        assert not is_positive[train].all()
        if not by_time:
            assert is_positive[out].any()
            assert not is_positive[out].all()
    outer = splits[0][1]
    try:
        fold = inner_folds(is_positive, outer, 3, seed, together)
    except InputError as error:
        assert error.code in ("TB120", "TB121")
        return
    assert (fold[outer] == -1).all()
    for group in np.unique(groups):
        assert np.unique(fold[groups == group]).size == 1


def test_the_models_of_a_crossfit_never_saw_the_group_of_a_row_they_score():
    X, y, patient = visits()

    all_seen = []

    class Spy(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None):
            all_seen.append(set(X[:, 0].tolist()))
            return super().fit(X, y, sample_weight)

    X[:, 0] = patient  # the models see who is in their training rows
    fit = crossfit(
        Spy(), X, y == 1, find_learner("tedn"), plan=FAST, groups=patient, keep_chains=True,
        new_rows=False,
    )  # fmt: skip
    for chain in fit.folds[0]:
        assert not np.isin(patient[chain.held_out], np.delete(patient, chain.held_out)).any()
    held = [set(patient[chain.held_out].tolist()) for chain in fit.folds[0]]
    per_chain = len(all_seen) // 3
    for k, out in enumerate(held):
        for seen in all_seen[k * per_chain : (k + 1) * per_chain]:
            assert not seen & out


def test_row_order_and_names_of_groups_do_not_matter():
    X, y, patient = visits()
    X = np.round(X)  # equal rows in different groups
    order = np.random.default_rng(1).permutation(y.size)
    names = np.random.default_rng(2).permutation(patient.max() + 1)
    fits = [
        PvUClassifier(LogisticRegression(), plan=FAST).fit(*rows)
        for rows in (
            (X, y, None, patient),
            (X[order], y[order], None, patient[order]),
            (X, y, None, [f"p{name}" for name in names[patient]]),
        )
    ]
    first, shuffled, renamed = (fit.estimate_ for fit in fits)
    assert first == shuffled == renamed
    assert np.array_equal(fits[0].oof_proba_[order], fits[1].oof_proba_)


def test_groups_of_one_row_and_missing_groups_change_no_bit():
    X, y, _ = visits()
    plain = PvUClassifier(LogisticRegression(), plan=FAST).fit(X, y)
    for groups in (np.arange(y.size), [f"r{i}" for i in range(y.size)], np.full(y.size, np.nan)):
        alone = PvUClassifier(LogisticRegression(), plan=FAST).fit(X, y, groups=groups)
        assert alone.estimate_ == plain.estimate_
        assert np.array_equal(alone.oof_proba_, plain.oof_proba_)


def test_copies_of_rows_are_worth_one_row_each():
    rng = np.random.default_rng(0)
    p, u = rng.normal(3, 1, 80), np.append(rng.normal(3, 1, 60), rng.normal(0, 1, 140))
    copies = Evidence(
        np.repeat(p, 7), np.repeat(u, 7),
        groups_p=np.repeat(np.arange(80), 7), groups_u=80 + np.repeat(np.arange(200), 7),
    )  # fmt: skip
    once = Evidence(p, u)
    assert (copies.independent.n_p, copies.independent.n_u) == (80, 200)
    plain = alpha_posterior(once.tails).quantiles
    assert alpha_posterior(copies.independent).quantiles == pytest.approx(plain, abs=1e-9)
    # Read from all rows, it is told of more rows per independent one, which makes it wider.
    read = alpha_posterior(copies.tails, effective=copies.effective).quantiles
    assert read == pytest.approx(plain, abs=0.03)
    assert upper_bound(copies.independent) == pytest.approx(upper_bound(once.tails), abs=1e-9)
    assert once.independent is once.tails


def test_rows_in_random_groups_are_worth_nearly_as_much_as_rows():
    rng = np.random.default_rng(0)
    p, u = rng.normal(2, 1, 1000), rng.normal(0, 1, 2000)
    groups = rng.integers(0, 200, 1000), rng.integers(0, 400, 2000)
    found = Evidence(p, u, groups_p=groups[0], groups_u=groups[1]).independent
    assert found.n_p > 600
    assert found.n_u > 1300


def test_near_copies_ruin_the_estimate_and_groups_mend_it():
    inside = []
    for seed in range(6):
        X, y, patient = visits(patients=160, per_patient=6, known=50, noise=0.02, seed=seed)
        without, grouped = (
            TEDnClassifier(plan=FAST).fit(X, y, groups=groups).estimate_
            for groups in (None, patient)
        )
        assert without.alpha < 0.1
        assert without.interval[1] < 0.3
        inside.append(grouped.interval[0] < 0.3 < grouped.interval[1])
        assert abs(grouped.alpha - 0.3) < 0.1
        assert grouped.worth[0] <= 60
        assert grouped.worth[1] <= 125
    assert sum(inside) >= 5  # 95 % of them
    assert "160 groups, 960 rows; folds keep groups together" in grouped.summary()
    assert "if groups are independent" in grouped.summary()


@pytest.mark.parametrize(
    "face",
    [
        AlphaEstimator(estimator=LogisticRegression(), repeats=1),
        DEDPULClassifier(LogisticRegression(), plan=FAST),
        ElkanNotoClassifier(LogisticRegression(), plan=FAST),
    ],
    ids=lambda face: type(face).__name__,
)
def test_every_table_face_takes_groups(face):
    X, y, patient = visits()
    found = face.fit(X, y, groups=patient)
    assert found.estimate_.worth is not None
    assert found.evidence_.groups_p.size == y.sum()


def test_two_samples_and_known_negatives_keep_their_groups():
    X, y, patient = visits()
    found = PvUClassifier(LogisticRegression(), plan=FAST)
    found.fit_pu(X[y == 1], X[y == 0], groups=patient)
    assert found.estimate_.worth is not None
    y[-10:] = -1
    found = PvUClassifier(LogisticRegression(), plan=FAST, positive=1, negative=-1)
    found.fit(X, y, groups=patient)
    assert found.evidence_.groups_u.size == (y == 0).sum()


def test_a_net_holds_out_whole_groups():
    pytest.importorskip("torch")
    from topbin.learn.net_fitting import _splits
    from topbin.learn.rows import NetSamples

    X, y, _ = visits()
    groups = np.arange(y.size) % 30  # with rows of both kinds
    two = NetSamples(X[y == 1], X[y == 0], together=Together(groups))
    inside, held = (groups[rows] for rows in next(_splits(two, 0.2, 1, 0)))
    assert not np.isin(inside, held).any()
    assert inside.size + held.size == y.size
    assert held.size == pytest.approx(y.size / 5, abs=8)


def test_folds_by_time_are_blocks_in_which_groups_are_whole():
    X, y, patient = visits()
    times = np.random.default_rng(0).permutation(patient.max() + 1)[patient].astype(float)
    fit = crossfit(
        LogisticRegression(), X, y == 1, find_learner("pvu"), groups=patient, times=times,
        plan=Plan(outer=4, inner=1, warm=0, rounds=1), keep_chains=True, new_rows=False,
    )  # fmt: skip
    assert len(fit.folds) == 1
    ends = [(times[c.held_out].min(), times[c.held_out].max()) for c in fit.folds[0]]
    assert all(end < start for (_, end), (start, _) in itertools.pairwise(ends))


@pytest.mark.parametrize(
    ("groups", "times", "code"),
    [
        (np.zeros(9), None, "TB120"),
        (np.zeros(8), None, "TB005"),
        (np.zeros((9, 2)), None, "TB005"),
        (None, ["soon"] * 9, "TB121"),
        (None, [np.nan] + [1.0] * 8, "TB121"),
        (None, np.array(["NaT"] * 9, "datetime64[s]"), "TB121"),
        (None, [True] * 9, "TB121"),
    ],
)
def test_what_cannot_be_groups_or_times_is_refused(groups, times, code):
    with pytest.raises(InputError) as error:
        read_together(groups, times, 9)
    assert error.value.code == code


def test_too_few_groups_and_a_calibrated_model_are_refused():
    X, y, patient = visits()
    with pytest.raises(InputError, match="known positives are in 1 group, and") as error:
        PvUClassifier(LogisticRegression()).fit(X, y, groups=np.where(y == 1, -1, patient))
    assert error.value.code == "TB120"
    with pytest.raises(InputError) as error:
        ElkanNotoClassifier().fit(X, y, groups=patient)
    assert error.value.code == "TB122"
    two = Plan(outer=2, repeats=1)
    with pytest.raises(InputError) as error:
        PvUClassifier(LogisticRegression(), plan=two).fit(X, y, times=1.0 - y)
    assert error.value.code == "TB121"
