"""Random tests draw the same examples in every run: a red run can be run again."""

from hypothesis import settings

settings.register_profile("same every time", derandomize=True, deadline=None)
settings.load_profile("same every time")
