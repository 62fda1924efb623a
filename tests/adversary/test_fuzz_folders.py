"""Forged files of each format, with sums that fit: no crash, no hang, no traceback, no bomb.

Every day brings others; TOPBIN_DAY=2026-11-18 brings those of that day, TOPBIN_TIMES=2000 more.
"""

import json
import os
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
import warm
from claims import small_run
from fuzz_folders import fuzz
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import topbin as tb
from topbin.job.audits.draw import draw_audit
from topbin.learn.crossfit import Plan

TIMES = int(os.environ.get("TOPBIN_TIMES", 60))
MEGABYTES = 2500
TINY = Plan(outer=2, inner=1, repeats=1, warm=0, rounds=1)
rng = np.random.default_rng(0)
X = np.r_[rng.normal(2, 1, (30, 3)), rng.normal(0, 1, (30, 3))]
S = np.r_[np.ones(15), np.zeros(45)]


def save(model, folder):
    tb.save(tb.PvUClassifier(model, plan=TINY, random_state=0).fit(X, S), folder)


def tables(source):
    save(RandomForestClassifier(2, max_depth=2, random_state=0), source / "forest")
    save(GradientBoostingClassifier(n_estimators=2, max_depth=2), source / "boosting")
    save(HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5), source / "histogram")
    save(KNeighborsClassifier(3, algorithm="brute"), source / "neighbors")
    save(make_pipeline(StandardScaler(), LogisticRegression()), source / "linear")


def boosters(source):
    from lightgbm import LGBMClassifier

    few = {"n_estimators": 2, "num_leaves": 4, "verbose": -1, "n_jobs": 1, "min_child_samples": 3}
    save(LGBMClassifier(**few), source / "numbers")


def xgboosters(source):
    from xgboost import XGBClassifier

    save(XGBClassifier(n_estimators=2, max_depth=2, n_jobs=1), source / "xgboost")


def catboosters(source):
    from catboost import CatBoostClassifier

    few = {"iterations": 2, "depth": 2, "thread_count": 1, "verbose": False}
    save(CatBoostClassifier(**few, allow_writing_files=False), source / "catboost")


def nets(source):
    from topbin.learn import NetPlan

    model = tb.PvUClassifier("uci-mlp", plan=NetPlan(epochs=1), random_state=0)
    tb.save(model.fit(X, S), source / "net")


def runs(source):
    run = small_run(source / "run")
    (run / "events.jsonl").write_text('{"stage": "first", "done": 0}\n' * 5)
    draw_audit(run, 5, run / "answers.csv")
    answered = pd.read_csv(run / "answers.csv").assign(is_positive="no")
    answered.to_csv(run / "answers.csv", index=False)


def checkpoints(source):
    from fuzz_folders import small_net

    from topbin.learn.backends.checkpoint import keep
    from topbin.learn.backends.torch import torch_backend
    from topbin.learn.learners import PVU
    from topbin.learn.loop import train

    (source / "checkpoint").mkdir()
    rows = X.astype("float32")
    model = torch_backend(PVU, rows, net=small_net())
    path = source / "checkpoint" / "c.safetensors"
    for _ in keep(path, model, train(model, PVU, rows[:15], rows[15:], epochs=2)):
        pass


MADE = {
    "boosters": {
        tables: ("numpy", ["model.json", "arrays.npz"]),
        boosters: ("lightgbm", ["boosters.json", "model.json"]),
        xgboosters: ("xgboost", ["boosters.json", "model.json"]),
        runs: ("numpy", ["encoder.json", "result.json", "run.toml", "audit.json", "events.jsonl"]),
    },
    "catboost": {catboosters: ("catboost", ["boosters.json", "model.json"])},
    "torch": {
        nets: ("torch", ["tensors.safetensors"]),
        checkpoints: ("torch", ["checkpoint"]),
    },
}


@pytest.mark.parametrize("kind", MADE)
def test_forged_files_are_refused_or_harmless(tmp_path, kind):
    sources = {}
    for made, (needed, formats) in MADE[kind].items():
        if find_spec(needed) is not None:
            source = tmp_path / made.__name__ / "source"
            source.mkdir(parents=True)
            made(source)
            sources[source] = formats
    if not sources:
        pytest.skip(f"{kind} is not installed")
    assert_harmless(tmp_path, fuzz, sources, [name for names in sources.values() for name in names])


def assert_harmless(folder, forge, given, formats, *, read=range(TIMES)):
    """It lives, in little memory, and each format has refused some of its files, but not all."""
    said, told = folder / "said.txt", folder / "told.jsonl"
    died = warm.end(forge, given, TIMES, told, said=said, seconds=600)
    assert died is None, f"it died: {died}"
    for name, line in zip(formats, told.read_text().splitlines(), strict=True):
        seen = json.loads(line)
        assert "traceback" not in seen, said.read_text()[-5000:]
        assert seen.pop("peak") < MEGABYTES
        assert sum(seen.values()) == TIMES
        assert seen.get("read", 0) in read, name  # something was refused
