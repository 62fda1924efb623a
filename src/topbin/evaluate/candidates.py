"""What to expect of the best unlabeled rows: one precision, made of the probabilities shown.

The precision of the k best rows is the mean of their own probabilities. Its low end squares and
adds two distances (Zou & Donner, Statistics in Medicine 2008): to the same mean with α at the low
end of its interval, and to the lower limit of a share of k rows (Clopper & Pearson 1934).
"""

from collections.abc import Mapping
from math import floor
from typing import Any

import numpy as np

from topbin.core.defaults import RANGE_ONLY
from topbin.core.estimate import AlphaEstimate
from topbin.core.figures import figure, percent
from topbin.evaluate.measure import Floats, Share

UNKNOWN = "their precision cannot be estimated from the scores that gave α"


def precision_of_best(
    likely: Floats, likely_at_low: Floats, confidence: float, *, worth: float = 1.0
) -> tuple[Floats, Floats]:
    """For each k the precision of the k best rows, and its low end.

    `likely` are the rows' probabilities, best first, and `likely_at_low` those with α at the low
    end of its interval. Rows in groups count as `worth` independent rows each.

    >>> likely = np.repeat([1.0, 0.5], 100)
    >>> value, low = precision_of_best(likely, likely, 0.95)      # α is known
    >>> value[[99, 199]].tolist(), low[[99, 199]].round(2).tolist()
    ([1.0, 0.75], [0.96, 0.68])
    """
    n = np.arange(1, likely.size + 1)
    value, at_low = (np.cumsum(each) / n for each in (likely, likely_at_low))
    by_chance = value - np.minimum(value, Share(value, n * worth).limits(confidence)[0])
    by_alpha = value - np.minimum(value, at_low)
    return value, np.maximum(0.0, value - np.hypot(by_chance, by_alpha))


def what_to_expect(picked: Mapping[str, Any], estimate: Mapping[str, Any]) -> str:
    """How many of the picked rows are positive, in words.

    If there are too few known positives for a single α, only the low end is told.

    >>> picked = {"rows": 100, "precision": 0.97, "precision_low": 0.63}
    >>> ends = {"alpha": 0.225, "interval": (0.158, 0.332)}
    >>> what_to_expect(picked, AlphaEstimate(n_p=200, n_u=900, method="bbe", **ends).to_dict())
    'about 97 % positive; at least 63 % if α ≥ 0.158'
    """
    value, low = picked["precision"], picked["precision_low"]
    if value is None:
        return UNKNOWN
    about = f"about {f'{100 * value:.0f}' if value >= 0.01 else percent(value)} % positive"
    found = AlphaEstimate.from_dict(estimate)
    ends, most = found.interval, found.leading_bound
    if ends is None:
        return about
    if found.worth_p < RANGE_ONLY:
        about = "how many are positive depends on α"
    elif most is not None and found.alpha >= most:
        about = f"at most {about}"  # it was read at α above its bound, and falls with α
    elif 100 * low < 1:
        about += f" if α = {figure(found.alpha)}"
    if 100 * low < 1:
        return f"{about}; how many at least is not known"
    return f"{about}; at least {floor(100 * low)} % if α ≥ {figure(ends[0])}"
