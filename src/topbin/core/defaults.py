"""Default numbers that several rooms share, and the rule for the default method."""

CONFIDENCE = 0.95  # of intervals and bounds
RISK = 0.05  # of a false alarm in a year of a watch, of each kind

# Of BBE's bound, as in the experiments of Garg et al. 2021.
DELTA = 0.1
GAMMA = 0.01

# With fewer known positives than this, only a range is shown: for a true α of .5 the point was
# seen anywhere from .39 to .55 with fewer than FEW_POSITIVES, which therefore raise an alarm.
RANGE_ONLY = 25
FEW_POSITIVES = 100

# The method for all scores, brought or cross-fitted. Measured in bench/results/posterior.md.
DEFAULT_METHOD = "overlap"
