"""The table of learners: a learner is a value, and every room finds it here."""

from topbin.core.checks import look_up
from topbin.learn.cvir import CVIR
from topbin.learn.nnpu import NNPU
from topbin.learn.pvn import PVN
from topbin.learn.pvu import PVU
from topbin.learn.risk import Learner
from topbin.learn.tedn import TEDN
from topbin.learn.upu import UPU

LEARNERS = {learner.name: learner for learner in (PVU, UPU, NNPU, CVIR, TEDN, PVN)}


def find_learner(name: str) -> Learner:
    """Look up a learner; an unknown name is an error that lists the names.

    >>> find_learner("cvir").discard
    True
    """
    return look_up(name, LEARNERS, "learner")
