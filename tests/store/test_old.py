"""Folders of earlier versions: they load and give the same probabilities, or say why not."""

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from coded import fails

import topbin as tb

OLD = Path(__file__).parent / "old"
EXPECTED = json.loads((OLD / "expected.json").read_text())
TABLE = pd.read_csv(OLD / "table.csv")
ROWS = TABLE[["x"]].assign(z=1.0).to_numpy()[::10]
boosted = pytest.mark.skipif(find_spec("lightgbm") is None, reason="lightgbm is not installed")


@boosted
def test_a_run_of_the_first_format_scores_as_it_did():
    scored = tb.load(OLD / "run").score(TABLE[::10])
    np.testing.assert_allclose(scored["topbin_probability"], EXPECTED["run"], rtol=1e-12)


@boosted
def test_a_model_of_boosted_trees_predicts_as_it_did():
    found = tb.load(OLD / "lightgbm").predict_proba(ROWS)[:, 1]
    np.testing.assert_allclose(found, EXPECTED["lightgbm"], rtol=1e-12)


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_a_net_predicts_as_it_did():
    from torch import nn

    own = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    found = tb.load(OLD / "net", net=own).predict_proba(ROWS)[:, 1]
    np.testing.assert_allclose(found, EXPECTED["net"], rtol=1e-5)


@pytest.mark.parametrize("name", ["forest", "linear"])
def test_scikit_learn_models_of_the_first_format_say_why_they_are_not_read(name):
    with fails("TB112", "parts.skops", "could corrupt memory", "Fit again"):
        tb.load(OLD / name)
