"""Which ones: learners as a table, one training loop, and backends that fit any model.

The names for nets need torch, which is imported on first use of one of them.
"""

from typing import TYPE_CHECKING

import lazy_loader

from topbin.learn.classifiers import (
    CVIRClassifier,
    DEDPULClassifier,
    ElkanNotoClassifier,
    NetPlan,
    NNPUClassifier,
    PvUClassifier,
    TEDnClassifier,
    UPUClassifier,
)
from topbin.learn.crossfit import CrossFit, Plan, Progress, crossfit
from topbin.learn.cvir import cvir
from topbin.learn.loop import Backend, Diverged, Epoch, EpochLoss, SettleRule, train
from topbin.learn.nnpu import nnpu
from topbin.learn.posterior import Posterior, fit_posterior
from topbin.learn.registry import LEARNERS, find_learner
from topbin.learn.risk import Learner, Risk, mean_risk
from topbin.learn.select import keep_lowest
from topbin.learn.tedn import mean_alpha

if TYPE_CHECKING:
    from topbin.learn.backends.losses import logit_of, mean_losses
    from topbin.learn.backends.optim import Optim, default_optim
    from topbin.learn.backends.torch import TorchBackend
    from topbin.learn.nets import NETS, build_net, crop_and_flip
else:
    __getattr__, _, _ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "backends.losses": ["logit_of", "mean_losses"],
            "backends.optim": ["Optim", "default_optim"],
            "backends.torch": ["TorchBackend"],
            "nets": ["NETS", "build_net", "crop_and_flip"],
        },
    )

__all__ = [
    "LEARNERS",
    "NETS",
    "Backend",
    "CVIRClassifier",
    "CrossFit",
    "DEDPULClassifier",
    "Diverged",
    "ElkanNotoClassifier",
    "Epoch",
    "Learner",
    "NNPUClassifier",
    "NetPlan",
    "EpochLoss",
    "Optim",
    "Plan",
    "Posterior",
    "Progress",
    "PvUClassifier",
    "Risk",
    "SettleRule",
    "TEDnClassifier",
    "TorchBackend",
    "UPUClassifier",
    "build_net",
    "crop_and_flip",
    "crossfit",
    "cvir",
    "default_optim",
    "find_learner",
    "fit_posterior",
    "keep_lowest",
    "logit_of",
    "mean_alpha",
    "mean_losses",
    "mean_risk",
    "nnpu",
    "train",
]
