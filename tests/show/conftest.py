"""Here pictures are what is tested, and each is drawn, also a second time."""

import sys

import pytest


@pytest.fixture(scope="module", autouse=True)
def drawn_each_time(once, rendered):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["topbin.show.page"], "picture", once)
        yield
