"""The learners as scikit-learn classifiers: thin faces, one shared."""

from topbin.learn.classifiers.alpha import AlphaEstimator
from topbin.learn.classifiers.cvir import CVIRClassifier
from topbin.learn.classifiers.dedpul import DEDPULClassifier
from topbin.learn.classifiers.elkan_noto import ElkanNotoClassifier
from topbin.learn.classifiers.gradient import NNPUClassifier, UPUClassifier
from topbin.learn.classifiers.plans import NetPlan
from topbin.learn.classifiers.pvu import PvUClassifier
from topbin.learn.classifiers.tedn import TEDnClassifier

__all__ = [
    "AlphaEstimator",
    "CVIRClassifier",
    "DEDPULClassifier",
    "ElkanNotoClassifier",
    "NNPUClassifier",
    "NetPlan",
    "PvUClassifier",
    "TEDnClassifier",
    "UPUClassifier",
]
