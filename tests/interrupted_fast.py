"""A fit of the fast net on tiny images that keeps checkpoints; as a script it is to be killed."""

import sys
from time import sleep

import numpy as np
import torch

import topbin as tb
from topbin.learn import NetPlan

N = 120
TRUTH = np.arange(N) < N // 2


def samples():
    """Positives have a bright upper half; the others a bright lower half."""
    rng = np.random.default_rng(3)

    def draw(positive):
        image = rng.integers(0, 120, (len(positive), 3, 10, 10))
        upper = np.arange(10)[:, None] < 5
        bright = np.where(positive[:, None, None, None], upper, ~upper)
        return (image + 100 * bright).astype(np.uint8)

    return draw(np.ones(N, bool)), draw(TRUTH)


def fit(checkpoint=None, *, on_event=None):
    torch.set_num_threads(1)
    plan = NetPlan(epochs=3, warm=2, batch=20, device="cpu", checkpoint=checkpoint, nets=1)
    model = tb.TEDnClassifier("fast", plan=plan, random_state=0, on_event=on_event)
    return model.fit_pu(*samples())


def tell(event):
    print(event.done, flush=True)
    sleep(0.3)  # so that the kill lands before the last epoch


if __name__ == "__main__":
    fit(sys.argv[1], on_event=tell)
