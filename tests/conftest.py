"""Random tests draw the same examples in every run: a red run can be run again."""

import functools
import gc
import sys

import joblib
import pytest
from hypothesis import find, settings
from hypothesis import strategies as st

import topbin.show  # noqa: F401
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
    """What depends on its input alone is made once: pictures, and checks of a booster's text.

    What is refused is checked each time. In tests/show every picture is drawn.
    """
    draw = PAGE.picture

    def drawn(display):
        content = joblib.hash(display)
        if content not in PICTURES:
            PICTURES[content] = draw(display)
        return PICTURES[content]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PAGE, "picture", drawn)
        patch.setattr(boosters, "trees_only", functools.lru_cache(64)(boosters.trees_only))
        yield draw
