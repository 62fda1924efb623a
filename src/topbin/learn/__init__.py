"""Which ones: learners as a table, one training loop, and backends that fit any model.

The public names are listed in `__init__.pyi` and loaded on first use; those for nets need torch.
"""

import lazy_loader

# A module that has the name of its function is loaded first: else the module would hide it.
from topbin.learn.crossfit import crossfit as crossfit

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
