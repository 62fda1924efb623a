"""Small plans, for tests of how a result is made, stored and shown, not of how good it is."""

from contextlib import contextmanager

import pytest

from topbin.learn.crossfit import Plan
from topbin.learn.defaults import NET_PRESETS, PRESETS

USUAL = dict(PRESETS), dict(NET_PRESETS)
# As many chains as the usual plan has, so that a run has the same steps.
QUICK = Plan(outer=3, inner=2, repeats=1, warm=1, rounds=1)
QUICK_NET = Plan(outer=2, inner=1, repeats=1, warm=2, rounds=1)


@contextmanager
def quick_plans():
    """Within, the preset "fast" is a third of its work; in this process only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PRESETS, "fast", QUICK)
        patch.setitem(NET_PRESETS, "fast", QUICK_NET)
        yield


@contextmanager
def usual_plans():
    """Within, presets are those of users, whatever the test around has."""
    with pytest.MonkeyPatch.context() as patch:
        for presets, usual in zip((PRESETS, NET_PRESETS), USUAL, strict=True):
            for name, plan in usual.items():
                patch.setitem(presets, name, plan)
        yield
