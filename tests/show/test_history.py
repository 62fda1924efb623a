"""HistoryDisplay: the numbers of `history_`, drawn."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

import topbin as tb
from topbin.core import InputError
from topbin.store.answer import EpochRecord

mpl.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_records_become_a_table_and_a_picture():
    records = [
        EpochRecord(epoch=1, loss=0.7, alpha=None),
        EpochRecord(epoch=2, loss=0.5, alpha=0.3),
        EpochRecord(epoch=2, loss=0.4, alpha=0.2),
    ]
    display = tb.HistoryDisplay.from_history(records).plot()
    assert display.frame()["loss"].tolist() == [0.7, 0.5, 0.4]
    assert display.frame()["alpha"].isna().tolist() == [True, False, False]
    assert display.ax_.get_xlabel() == "epoch or round"


def test_a_classifier_brings_its_own():
    from gaussians import gaussians
    from sklearn.linear_model import LogisticRegression

    sample = gaussians(0.3, 60, 90)
    fitted = tb.TEDnClassifier(LogisticRegression()).fit_pu(sample.X_p, sample.X_u)
    display = tb.HistoryDisplay.from_estimator(fitted)
    assert len(display.frame()) == len(fitted.history_)


def test_an_empty_history_is_refused():
    with pytest.raises(InputError, match="TB001"):
        tb.HistoryDisplay.from_history([])
