"""Which ones: learners as a table, one training loop, and backends that fit any model."""

from topbin.learn.cvir import cvir
from topbin.learn.loop import Backend, Diverged, Epoch, Pass, Settle, train
from topbin.learn.nnpu import nnpu
from topbin.learn.registry import LEARNERS, find_learner
from topbin.learn.risk import Learner, Risk, mean_risk
from topbin.learn.tedn import mean_alpha

__all__ = [
    "LEARNERS",
    "Backend",
    "Diverged",
    "Epoch",
    "Learner",
    "Pass",
    "Risk",
    "Settle",
    "cvir",
    "find_learner",
    "mean_alpha",
    "mean_risk",
    "nnpu",
    "train",
]
