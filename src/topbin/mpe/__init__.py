"""How many: mixture-proportion estimators, one file per method, with intervals and alarms."""

from topbin.mpe.alphamax import alphamax
from topbin.mpe.bbe import bbe, bbe_cp, bootstrap
from topbin.mpe.bound import upper_bound
from topbin.mpe.dedpul import dedpul, dedpul_posterior
from topbin.mpe.elkan_noto import elkan_noto
from topbin.mpe.estimate import compared_estimates, estimate_alpha
from topbin.mpe.km import hull_curve, km1, km2
from topbin.mpe.overlap import (
    LIKELY,
    SHARES,
    SIZES_P,
    SIZES_U,
    SPREADS,
    OverlapNet,
    alpha_posterior,
    load_net,
    misfit,
    net_inputs,
    overlap,
    ranks_read,
)
from topbin.mpe.registry import DEFAULT_METHOD, METHODS, Method, find_method
from topbin.mpe.scott import scott
from topbin.mpe.thinning import thin_tails
from topbin.mpe.tice import tice

__all__ = [
    "LIKELY", "DEFAULT_METHOD", "METHODS", "Method", "OverlapNet", "SHARES", "SIZES_P", "SIZES_U",
    "SPREADS", "alpha_posterior", "alphamax", "bbe", "bbe_cp", "bootstrap",
    "compared_estimates", "dedpul", "dedpul_posterior", "elkan_noto", "estimate_alpha",
    "find_method", "hull_curve", "km1", "km2", "load_net", "misfit", "net_inputs", "overlap",
    "ranks_read", "scott", "thin_tails", "tice", "upper_bound",
]  # fmt: skip
