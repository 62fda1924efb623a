"""The table of learners: a learner is a value, and every room finds it here."""

from topbin.core.checks import look_up
from topbin.learn.learners.cvir import CVIR
from topbin.learn.learners.nnpu import NNPU
from topbin.learn.learners.pvn import PVN
from topbin.learn.learners.pvu import PVU
from topbin.learn.learners.tedn import TEDN
from topbin.learn.learners.upu import UPU
from topbin.learn.risk import Learner

LEARNERS = {learner.name: learner for learner in (PVU, UPU, NNPU, CVIR, TEDN, PVN)}


def find_learner(name: str) -> Learner:
    """Look up a learner; an unknown name is an error that lists the names.

    >>> find_learner("cvir").discard
    True
    """
    return look_up(name, LEARNERS, "learner")
