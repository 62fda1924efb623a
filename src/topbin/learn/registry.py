"""The table of learners: a learner is a value, and every room finds it here."""

from difflib import get_close_matches

from topbin.core.errors import InputError
from topbin.learn.cvir import CVIR
from topbin.learn.nnpu import NNPU
from topbin.learn.pvn import PVN
from topbin.learn.pvu import PVU
from topbin.learn.risk import Learner
from topbin.learn.tedn import TEDN
from topbin.learn.upu import UPU

LEARNERS = {learner.name: learner for learner in (PVU, UPU, NNPU, CVIR, TEDN, PVN)}


def find_learner(name: str) -> Learner:
    """Look a learner up, or say which ones there are.

    >>> find_learner("cvir").discard
    True
    """
    try:
        return LEARNERS[name]
    except (KeyError, TypeError):
        near = get_close_matches(str(name), LEARNERS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise InputError(
            "TB007", f"no learner is called {name!r}; there are {', '.join(LEARNERS)}.{hint}"
        ) from None
