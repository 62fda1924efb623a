import subprocess
import sys

import topbin as tb
from topbin.evaluate import metrics
from topbin.evaluate.metrics import METRICS


def test_metrics_are_public_and_complete():
    assert tb.metrics is metrics
    assert set(METRICS) < set(metrics.__all__)  # every scorer's metric can be called by itself
    for name in metrics.__all__:
        assert getattr(tb.metrics, name).__doc__


def test_importing_topbin_does_not_load_them():
    code = "import topbin, sys; print('topbin.evaluate' in sys.modules); topbin.metrics.pu_auc"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
