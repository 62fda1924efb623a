"""topbin: how many of your unlabeled rows are positive, and which ones?

The public names are listed in `__init__.pyi` and loaded on first use, so that `import topbin`
and `topbin --help` cost next to nothing.
"""

import lazy_loader

__version__ = "0.2.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
