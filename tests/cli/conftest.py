import pytest
from quick_plans import quick_plans


@pytest.fixture(scope="module")
def quick_fits():
    """In a module that uses it, `--preset fast` is a third of its work."""
    with quick_plans():
        yield
