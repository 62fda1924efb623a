import pytest
from quick_plans import quick_plans


@pytest.fixture(scope="module", autouse=True)
def quick_fits():
    """What an engine counts and scores does not depend on how carefully a model was fitted."""
    with quick_plans():
        yield
