"""Values and contracts that every other room uses; it needs numpy, scipy and msgspec."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
