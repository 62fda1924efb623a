"""Evidence is gathered once per estimate: two for a whole job, and reading a result adds none."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import topbin as tb
from topbin.core.tails import Tails

mpl.use("Agg")


@pytest.fixture
def built(monkeypatch):
    """The sizes of all samples whose tails are counted from scores."""
    sizes = []
    build = Tails.from_scores.__func__

    def counting(cls, scores_p, scores_u):
        sizes.append((len(scores_p), len(scores_u)))
        return build(cls, scores_p, scores_u)

    monkeypatch.setattr(Tails, "from_scores", classmethod(counting))
    return sizes


def test_a_small_job_counts_tails_twice_however_often_it_is_read(built):
    rng = np.random.default_rng(0)
    x = np.r_[rng.normal(5, 1, 150), rng.normal(0, 1, 150)]
    frame = pd.DataFrame({"x": x, "known": np.arange(300) < 100})
    result = tb.fit(frame, "known", preset="fast")
    assert built == [(100, 200), (100, 200)]  # the first estimate and the careful one
    result.summary()
    result.to_dict()
    result.plot()
    result._repr_html_()
    assert len(built) == 2
    assert len(result.methods) == 4
    assert len(result.classifier.history_) == 3
