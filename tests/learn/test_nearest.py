"""Known positives near a row: against the definition, and where none is near."""

import numpy as np

from topbin.learn.explain import MOST_KNOWN, KnownPositives, nearest_columns


def test_equals_the_definition():
    rng = np.random.default_rng(0)
    known, rows = rng.normal(size=(60, 4)), rng.normal(size=(20, 4)) * 2
    names = [f"k{i}" for i in range(60)]
    found = KnownPositives.of(names, known)
    known, rows = (each.astype(np.float32).astype(float) for each in (known, rows))
    own = [sorted(np.linalg.norm(known - one, axis=1))[1] for one in known]
    reach = np.quantile(own, 0.95)
    assert np.isclose(found.reach, reach, atol=1e-6)
    blank = 0
    for row, near in zip(rows, found.nearest(rows), strict=True):
        apart = np.linalg.norm(known - row, axis=1)
        expected = [names[i] for i in np.argsort(apart)[:3] if apart[i] <= reach]
        assert [one.name for one in near] == expected
        assert np.allclose([one.distance for one in near], np.sort(apart)[: len(near)], atol=1e-5)
        blank += not near
    assert 0 < blank < 20  # some rows are unlike all known positives


def test_a_row_without_a_vector_resembles_nothing_and_is_not_resembled():
    known = KnownPositives.of(["a", "b", "c"], [[0, 0], [1, 0], [1, 0.5]])
    assert known.names == ("b", "c")
    assert known.nearest([[0.0, 0.0]]) == ((),)
    assert KnownPositives.of([], np.zeros((0, 2))).nearest([[1.0, 0.0]]) == ((),)
    assert nearest_columns(()) == {}


def test_of_very_many_some_are_drawn_and_always_the_same(monkeypatch):
    monkeypatch.setattr("topbin.learn.explain.MOST_KNOWN", 50)
    vectors = np.random.default_rng(0).normal(size=(400, 2))
    one, two = (KnownPositives.of([*map(str, range(400))], vectors, seed=3) for _ in range(2))
    assert MOST_KNOWN > 50 == len(one.names)
    assert one.names == two.names
    assert one.names != KnownPositives.of([*map(str, range(400))], vectors, seed=4).names
