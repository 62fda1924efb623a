"""Random tests draw the same examples in every run: a red run can be run again."""

import functools
import gc
import sys

import joblib
import pytest
from hypothesis import find, settings
from hypothesis import strategies as st
from quick_plans import quick_plans
from sklearn.base import BaseEstimator

import topbin.show  # noqa: F401
from topbin.evaluate import curves
from topbin.store.safe import boosters

settings.register_profile("same every time", derandomize=True, deadline=None)
settings.load_profile("same every time")

PAGE = sys.modules["topbin.show.page"]  # topbin.show has a function of that name
PICTURES = {}


def pytest_collection_finish():
    """Modules stay until the end, so that nobody looks for garbage among them again and again.

    Hypothesis makes its generator at the first example and looks for who refers to it, which
    cannot be seen among frozen modules: older versions then warn.
    """
    find(st.none(), lambda _: True)
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def pytest_sessionfinish():
    gc.unfreeze()


@pytest.fixture(scope="session", autouse=True)
def once():
    """What depends on its input alone is made once.

    These are displays, checks of a booster's text, and the names of an estimator's parameters,
    which take a tenth of a small fit. What is refused is checked each time.
    """
    draw, names = PAGE.picture, functools.cache(BaseEstimator._get_param_names.__func__)

    def drawn(display):
        content = joblib.hash(display), PAGE.svg
        if content not in PICTURES:
            PICTURES[content] = draw(display)
        return PICTURES[content]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PAGE, "picture", drawn)
        patch.setattr(boosters, "trees_only", functools.lru_cache(64)(boosters.trees_only))
        patch.setattr(BaseEstimator, "_get_param_names", classmethod(lambda cls: [*names(cls)]))
        yield draw


@pytest.fixture(scope="session", autouse=True)
def outlines():
    """Displays are plotted, with few draws of a curve, but matplotlib does not render them.

    Both are most of a report's time. Modules in which a report is looked at, or made of random
    tables, use `rendered`.
    """
    usual = {name: getattr(PAGE, name) for name in ("svg", "_render")}

    def outline(figure):
        sys.modules["matplotlib.pyplot"].close(figure)
        return "<svg></svg>"

    def with_few_draws(*given):
        with pytest.MonkeyPatch.context() as few:
            few.setattr(curves, "DRAWS", 50)
            return usual["_render"](*given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PAGE, "svg", outline)
        patch.setattr(PAGE, "_render", with_few_draws)
        yield usual


@pytest.fixture(scope="module")
def rendered(outlines):
    """Pictures as users get them."""
    with pytest.MonkeyPatch.context() as patch:
        for name, usual in outlines.items():
            patch.setattr(PAGE, name, usual)
        yield


@pytest.fixture(scope="module")
def quick_fits():
    """In a module that uses it, preset "fast" is a third of its work."""
    with quick_plans():
        yield
