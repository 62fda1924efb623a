"""From a csv to the report: the modules that the data crosses, at most twenty.

A module is crossed if one of its functions hands a value of the road to another module: a table, a
part of one, rows, labels, features, a cross-fit, a classifier, evidence, an estimate or a result.
The road begins at the verb and ends at the files and the page. `core` does not count because its
modules are the values themselves, nor do the methods that are only shown beside the main one.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from click.testing import CliRunner

import topbin
from topbin.cli import main
from topbin.core.estimate import AlphaEstimate
from topbin.core.evidence import Evidence
from topbin.core.labels import Labels
from topbin.core.options import DEFAULT_METHOD
from topbin.data.batch import Batch
from topbin.data.features import Features
from topbin.data.formats.delimited import Delimited
from topbin.data.table import Table
from topbin.job.labeled import LabeledTable
from topbin.job.prepare import Prepared
from topbin.job.result import Result
from topbin.learn.crossfit import CrossFit
from topbin.learn.estimator import PUClassifier
from topbin.mpe import METHODS

ROOT = f"{Path(topbin.__file__).parent}/"
VALUES = (
    Table, Delimited, LabeledTable, Batch, Labels, Features, Prepared, CrossFit, PUClassifier,
    Evidence, AlphaEstimate, Result,
)  # fmt: skip
ENDS = {"cli/fit", "job/files", "show/page"}
BESIDE = {f"mpe/{name}" for name in METHODS if name != DEFAULT_METHOD}
CROSSED = {
    "cli/fit",
    "job/prepare", "job/labeled",
    "data/table", "data/formats/delimited", "data/batch", "data/features",
    "job/fit", "job/models",
    "learn/classifiers", "learn/estimator", "learn/fitting", "learn/crossfit",
    "mpe/estimate", "mpe/registry", "mpe/overlap",
    "job/result", "evaluate/measure", "job/files", "show/page",
}  # fmt: skip


def module_of(frame):
    """The module of topbin that a frame, or the nearest one below it, belongs to; None if none."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(ROOT) and "<" not in frame.f_code.co_name:
            return frame.f_code.co_filename.removeprefix(ROOT).removesuffix(".py")
        frame = frame.f_back
    return None


def test_a_csv_crosses_at_most_twenty_modules_on_its_way_to_the_report(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=240), "town": rng.choice(["a", "b"], 240)})
    frame["x"] += 3 * (np.arange(240) < 120)
    frame.assign(known=np.arange(240) < 60).to_csv(tmp_path / "t.csv", index=False)
    made, ran = set(), set()

    def watch(frame, event, value):
        if not frame.f_code.co_filename.startswith(ROOT):
            return
        own = module_of(frame)
        ran.add(own)
        found = value if isinstance(value, tuple) else (value,)
        if event == "return" and any(isinstance(one, VALUES) for one in found):
            to = module_of(frame.f_back)
            if to not in (None, own):
                made.add(own)

    given = ["fit", tmp_path / "t.csv", "--label", "known", "--preset", "fast"]
    sys.setprofile(watch)
    try:
        done = CliRunner().invoke(main, [*map(str, given), "-o", str(tmp_path / "run")])
    finally:
        sys.setprofile(None)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "run/report.html").exists()
    crossed = {name for name in made if not name.startswith("core/")} - BESIDE | (ENDS & ran)
    assert crossed == CROSSED
    assert len(crossed) <= 20
