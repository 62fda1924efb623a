"""Rows for nets and trees: images become tables, sparse rows become dense ones, once."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse, random_array

from topbin_bench.profiles import find_profile
from topbin_bench.rows import (
    DIRECTIONS,
    FLAT_COLUMNS,
    Directions,
    flat,
    for_default,
    for_net,
    pooled,
)
from topbin_bench.tasks.split import Split
from topbin_bench.trainers import fit_default, fit_features, fit_net

SMOKE = find_profile("smoke").settings


def words(n, rng, shift=0):
    """Sparse rows over 80 words; a shift of 40 uses others."""
    rows = random_array((n, 40), density=0.2, rng=rng, format="csr", dtype=np.float32)
    wide = np.zeros((n, 80), np.float32)
    wide[:, shift : shift + 40] = rows.toarray()
    return csr_array(wide)


@pytest.fixture
def texts():
    rng = np.random.default_rng(0)
    u = csr_array(np.concatenate([words(60, rng).toarray(), words(60, rng, 40).toarray()]))
    return Split(words(100, rng), u, words(50, rng), u[20:100])


def test_images_become_tables_for_trees():
    X = np.random.default_rng(0).integers(0, 255, (80, 8, 8), dtype=np.uint8)
    table, reduce = flat(X)
    assert table.shape == (80, FLAT_COLUMNS)
    assert np.allclose(reduce(X[:3]), table[:3])
    assert np.allclose(for_default(X)(X[:3]), table[:3])


def test_sparse_rows_become_few_columns_for_feature_estimators(texts):
    table, reduce = flat(texts.X_u)
    assert table.shape == (120, FLAT_COLUMNS)
    assert table is reduce(texts.X_u)


def test_directions_have_unit_spread_and_are_made_once(texts):
    read = for_net(texts, "mlp")
    seen = np.concatenate([read(texts.X_p), read(texts.X_u)])
    assert seen.dtype == np.float32
    assert seen.shape[1] == 79 < DIRECTIONS
    assert np.allclose(seen.std(0), 1, atol=1e-3)
    assert read(texts.X_p) is read(texts.X_p)
    assert read(texts.X_p[:5]) is not read(texts.X_p)
    assert np.allclose(read(texts.X_p[:5]), read(texts.X_p)[:5], atol=1e-5)


def test_the_directions_are_learned_from_the_training_rows(texts):
    other = replace(texts, held_p=texts.held_p[:1], held_u=texts.held_u[:1])
    assert np.array_equal(for_net(texts, "mlp")(texts.X_p), for_net(other, "mlp")(texts.X_p))


def test_dense_rows_are_left_alone():
    X = np.zeros((4, 2))
    assert for_net(Split(X, X, X, X), "mlp")(X) is X
    assert for_default(X)(X) is X


def test_convolutions_read_gray_images_with_one_channel():
    X = np.zeros((4, 8, 8), np.uint8)
    assert for_net(Split(X, X, X, X), "fast")(X).shape == (4, 1, 8, 8)
    assert for_net(Split(X, X, X, X), "mlp")(X) is X


def test_all_rows_together(texts):
    X_p, X_u = pooled(texts)
    assert issparse(X_p)
    assert (X_p.shape[0], X_u.shape[0]) == (150, 200)


def test_every_kind_of_method_reads_sparse_rows(texts):
    last = list(fit_net(texts, "tedn", SMOKE["text"], alpha=None, warm_start=None, seed=0))[-1]
    scores = last.scores(texts.X_u)
    assert scores[:60].mean() > scores[60:].mean()
    assert 0.3 < last.epoch.alpha < 0.8
    assert 0 <= fit_features(texts, "tice", SMOKE["text"]).estimate.alpha <= 1
    posterior, bbe = fit_default(texts, SMOKE["text"], methods=["overlap", "bbe"], seed=0)
    assert (posterior.estimate.method, bbe.estimate.method) == ("overlap", "bbe")
    shown = posterior.posterior(texts.X_u)
    assert shown[:60].min() > shown[60:].max()


def test_a_net_for_images_is_trained_on_altered_images():
    X = np.random.default_rng(0).integers(0, 255, (30, 3, 8, 8), dtype=np.uint8)
    settings = replace(SMOKE["image"], net="allconv", size=4, warm_start=1, epochs=1)
    fitted = list(fit_net(Split(X, X, X, X), "pvu", settings, alpha=None, warm_start=None, seed=0))
    assert fitted[-1].scores(X).shape == (30,)
    assert np.array_equal(fitted[-1].scores(X), fitted[-1].scores(X))


@pytest.mark.parametrize(
    ("learner", "phases"),
    [("pvu", ["pvu"] * 2), ("cvir", ["warm-start"] * 2 + ["cvir"])],
)
def test_a_net_with_its_own_schedule_has_its_own_epochs(learner, phases):
    X = np.random.default_rng(0).integers(0, 255, (30, 28, 28), dtype=np.uint8)
    settings = replace(find_profile("fast").settings["digits"], warm_start=2, epochs=1)
    split = Split(X, X, X, X)
    fitted = list(fit_net(split, learner, settings, alpha=0.5, warm_start=None, seed=0))
    assert [each.epoch.phase for each in fitted] == phases
    assert fitted[-1].scores(X).shape == (30,)


def test_the_default_reads_images_with_the_fast_net():
    X = np.random.default_rng(0).integers(0, 255, (60, 28, 28), dtype=np.uint8)
    settings = replace(find_profile("fast").settings["digits"], warm_start=1, epochs=1)
    (answer,) = fit_default(Split(X, X, X, X), settings, methods=["overlap"], seed=0)
    assert answer.estimate.method == "overlap"
    assert answer.posterior(X[:5]).shape == (5,)


def test_as_many_directions_as_asked_for():
    X = random_array((40, 30), density=0.5, rng=np.random.default_rng(0), format="csr")
    assert Directions(X, 7)(X).shape == (40, 7)
