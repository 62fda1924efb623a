"""Tables in: files, queries and frames, read by one stack; features out."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
