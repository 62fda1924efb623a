"""Default numbers that several rooms share, and the rule for the default method."""

CONFIDENCE = 0.95  # of intervals and bounds

# Of BBE's bound, as in the experiments of Garg et al. 2021.
DELTA = 0.1
GAMMA = 0.01

# With fewer known positives than this, only a range is shown: for a true α of .5 the point was
# seen anywhere from .39 to .55 with fewer than FEW_POSITIVES, which therefore raise an alarm.
RANGE_ONLY = 25
FEW_POSITIVES = 100

# The method for scores that users bring. Measured in bench/results/default_method.md: over 280
# settings the error of bbe_cp is 0.78 times that of bbe, and 0.57 times for rare positives.
DEFAULT_METHOD = "bbe_cp"
# The method for scores that topbin cross-fits, as the classifiers and `topbin fit` do. Measured in
# bench/results/tedn_uci_sklearn.md: on five tables bbe_cp errs as little as bbe at α = .1 and .5,
# but more at α = .9 (.045, all of it upward, against .037).
CROSSFIT_METHOD = "bbe"
