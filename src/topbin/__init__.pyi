from . import core as core
from . import learn as learn
from . import mpe as mpe
from .core import AlphaEstimate as AlphaEstimate
from .core import Tails as Tails

__version__: str
