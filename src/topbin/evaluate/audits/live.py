"""Limits for α that hold at every moment of an audit, however often people look at them.

A page that shows α after every answer invites its reader to stop when it looks good, and limits for
a fixed number of answers are wrong then. Here each answer is a fair bet against "the mean is at
most m". The probability that a gambler who starts with 1 ever reaches 1/doubt is at most `doubt`
(Ville 1939), so an m against which somebody became that rich is ruled out for good (Waudby-Smith &
Ramdas, JRSS B 2024). The money is spread over many sizes of the bet (Orabona & Jun, 2024).
"""

from collections.abc import Sequence
from math import log

import numpy as np
from scipy.special import logsumexp

from topbin.core.defaults import CONFIDENCE
from topbin.evaluate.audit import BLANK, POSITIVE, UNSURE
from topbin.evaluate.audits.limits import TRUST, corrected_ends, share_of_upper
from topbin.evaluate.audits.top import TopBin
from topbin.evaluate.measure import Floats, Interval

# As shares of all that can be bet; most are close to 0 or to 1, where they differ most.
BETS = np.sin(np.pi * (np.arange(24) + 0.5) / 48) ** 2
HALVINGS = 24


def live_estimate(
    answers: Sequence[str],
    *,
    confidence: float = CONFIDENCE,
    top: TopBin | None = None,
    f: Floats | None = None,
    f_u: Floats | None = None,
    w: Floats | None = None,
    w_u: Floats | None = None,
) -> tuple[float, Interval]:
    """α and its interval from the answers so far, in the order of the draw.

    For random rows of all unlabeled ones, whose probabilities are f among f_u of all if there are
    any and whose answers count w (at most w_u), or for random rows of the top bin.

    >>> alpha, (low, high) = live_estimate(["positive", "negative"] * 50)
    >>> alpha, round(low, 2), round(high, 2)
    (0.5, 0.34, 0.66)
    """
    said, doubt = np.asarray(answers), (1 - confidence) / 2
    is_positive, is_open = said == POSITIVE, np.isin(said, [UNSURE, BLANK])
    least, most, ends = is_positive * 1.0, (is_positive | is_open) * 1.0, (0.0, 1.0)
    if top is not None:
        share = live_limits(least, most, ends, doubt)
        low, high = top.limits_from(float(least.mean()), float(most.mean()), share, doubt)
        return _inside(top.alpha(least.sum(), (~is_open).sum()), low, high)
    if f is not None and f_u is not None:
        least, most = (corrected_in_order(y, f, f_u, w) for y in (least, most))
        ends = corrected_ends(f_u, w_u)
    upper = share_of_upper(None if w is None else f_u)
    limits = live_limits(least, most, ends, doubt, upper)
    return _inside(float(least[~is_open].mean()), *limits)


def _inside(alpha: float, low: float, high: float) -> tuple[float, Interval]:
    low, high = max(0.0, low), min(1.0, high)
    return min(high, max(low, float(alpha))), (low, high)


def live_limits(
    least: Floats, most: Floats, ends: Interval, doubt: float, upper: float = 0.5
) -> Interval:
    """Limits for the mean of values inside `ends`, with `doubt` at each side, after each value.

    `least` and `most` are the values in the order of the draw, with open answers counted against
    each side; `upper` is the share of both doubts that the upper side gets.

    >>> low, high = live_limits(np.zeros(59), np.zeros(59), (0.0, 1.0), 0.05)
    >>> low, round(high, 2)                              # "none in 59", looked at 59 times
    (0.0, 0.07)
    """
    span = ends[1] - ends[0]
    sides = (least - ends[0], 1 - upper), (ends[1] - most, upper)
    low, high = (_lower(z / span, 2 * doubt * share) for z, share in sides)
    return ends[0] + span * low, ends[1] - span * high


def _lower(values: Floats, doubt: float) -> float:
    """The smallest mean that no moment so far has ruled out, for values in [0, 1]."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):  # what a bet wins falls as m rises
        m = (low + high) / 2
        won = np.cumsum(np.log1p(np.outer(BETS, values / m - 1)), axis=1)
        is_out = logsumexp(won, axis=0).max() >= log(BETS.size / doubt)
        low, high = (m, high) if is_out else (low, m)
    return low


def corrected_in_order(
    is_positive: Floats, f: Floats, f_u: Floats, w: Floats | None = None
) -> Floats:
    """w(y − λf) + λ·(mean of f over all rows) for each answer, with λ from the answers before it.

    As `corrected_mean` does, but nothing in it depends on answers that come later.
    """
    at, trusted = f_u.mean(), TRUST * f_u.var()
    w = np.ones(f.size) if w is None else w
    n, y_, f_, yf, ff = (
        np.cumsum(w * x) - w * x for x in (1.0, is_positive, f, is_positive * f, f * f)
    )
    n = np.where(n > 0, n, 1)
    rows = np.arange(f.size) / n  # as many answers as there are, whatever they count
    spread = rows * (ff - f_ * f_ / n) + trusted
    factor = (rows * (yf - y_ * f_ / n) + trusted) / np.where(spread > 0, spread, 1)
    factor = factor.clip(0, 1)
    return np.asarray(w * (is_positive - factor * f) + factor * at)
