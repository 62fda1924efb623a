"""The plain install: where torch and LightGBM cannot be imported, all that needs none works."""

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
# Files that are quick; those that need torch must skip themselves.
SUITE = ["learn/test_loop.py", "learn/test_risk.py", "learn/test_select.py",
         "learn/test_sklearn_backend.py", "learn/test_face_tables.py", "learn/test_checkpoint.py",
         "learn/test_defaults.py"]  # fmt: skip
JOB = """
import no_extras

no_extras.go_blind()
import numpy as np
import topbin as tb
from topbin.learn import Plan

rng = np.random.default_rng(0)
X = np.r_[rng.normal(4, 1, (200, 2)), rng.normal(0, 1, (100, 2))]
s = np.r_[np.ones(100), np.zeros(200)]
truth = np.arange(300) < 200
small = Plan(outer=2, inner=2, repeats=1)
for face in (tb.TEDnClassifier(), tb.CVIRClassifier(alpha=0.5), tb.PvUClassifier(),
             tb.ElkanNotoClassifier(), tb.DEDPULClassifier()):
    face.set_params(plan=small, confidence=None).fit(X, s)
    assert (face.predict(X[100:]) == truth[100:]).mean() > 0.9, face
    name = type(face).__name__
    tb.save(face, f"{folder}/{name}")
    assert (tb.load(f"{folder}/{name}").predict_proba(X) == face.predict_proba(X)).all()
for face in (tb.NNPUClassifier(), tb.UPUClassifier(), tb.TEDnClassifier("uci-mlp")):
    try:
        face.fit(X, s)
    except ImportError as error:
        assert 'pip install "topbin[torch]"' in str(error), error
    else:
        raise AssertionError(face)
print(no_extras.got_in())
"""


def run(*command):
    env = {**os.environ, "PYTHONPATH": str(TESTS), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env=env, check=False
    )


def test_faces_fit_save_and_load_and_nets_name_their_extra(tmp_path):
    done = run("-c", f"folder = {str(tmp_path)!r}\n{JOB}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_the_tests_that_need_no_torch_pass_and_the_others_skip_themselves():
    files = [str(TESTS / name) for name in SUITE]
    options = ["-q", "-p", "no_extras", "-p", "no:cacheprovider", "-p", "no:randomly"]
    done = run("-m", "pytest", *options, *files)
    assert done.returncode == 0, done.stdout[-2000:]
    assert " passed" in done.stdout
    assert "skipped" in done.stdout.splitlines()[-1]
