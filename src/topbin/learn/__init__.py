"""Which ones: learners as a table, one training loop, and backends that fit any model."""

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
from topbin.learn.tedn import mean_alpha

__all__ = [
    "LEARNERS",
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
    "Plan",
    "Posterior",
    "Progress",
    "PvUClassifier",
    "Risk",
    "SettleRule",
    "TEDnClassifier",
    "UPUClassifier",
    "crossfit",
    "cvir",
    "find_learner",
    "fit_posterior",
    "mean_alpha",
    "mean_risk",
    "nnpu",
    "train",
]
