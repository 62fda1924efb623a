"""A face's torch fit that keeps checkpoints; run as a script it is there to be stopped."""

import sys
from time import sleep

import numpy as np
import torch
from gaussians import gaussians

import topbin as tb
from topbin.learn import NetPlan
from topbin.learn.nets import Optim

N = 150


def net():
    """With dropout, so that random numbers matter beyond the order of the rows."""
    torch.manual_seed(5)
    return torch.nn.Sequential(
        torch.nn.Linear(2, 16), torch.nn.ReLU(), torch.nn.Dropout(0.3), torch.nn.Linear(16, 2)
    )


def table():
    sample = gaussians(0.5, N, N)
    return np.r_[sample.X_p, sample.X_u], np.repeat([1, 0], N)


def face(checkpoint=None, *, on_event=None, kind="tedn", epochs=6):
    plan = NetPlan(
        epochs=epochs, warm=3, batch=40, device="cpu", optim=Optim(lr=0.05), checkpoint=checkpoint
    )
    faces = {
        "tedn": lambda: tb.TEDnClassifier(net(), refit="cvir"),
        "cvir": lambda: tb.CVIRClassifier(net(), alpha=0.5),
        "pvu": lambda: tb.PvUClassifier(net()),
        "nnpu": lambda: tb.NNPUClassifier(net(), alpha=0.5),
        "upu": lambda: tb.UPUClassifier(net(), alpha=0.5),
    }
    return faces[kind]().set_params(plan=plan, confidence=None, on_event=on_event)


def tell(event):
    print(event.done, flush=True)
    sleep(0.05)  # so that the signal lands before the last epoch


if __name__ == "__main__":
    face(sys.argv[1], on_event=tell).fit(*table())
