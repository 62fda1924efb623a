"""The samples and the plain definitions that the tests of topbin use too."""

import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).parents[2] / "tests"))

from gaussians import ALPHAS, gaussians
from plain_features import plain_km, plain_tice
from roc_models import CURVES, MODELS, draw_tails, tilted

__all__ = [
    "ALPHAS", "CURVES", "MODELS", "draw_tails", "gaussians", "plain_km", "plain_tice", "tilted",
]  # fmt: skip
