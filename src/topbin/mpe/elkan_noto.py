"""Elkan and Noto's estimator: α from the average probability that a positive is labeled.

Elkan & Noto, "Learning classifiers from only positive and unlabeled data", KDD 2008, section 2.
"""

from typing import Any, Literal

import numpy as np

from topbin.core import AlphaEstimate, InputError
from topbin.core.checks import Scores, check_fraction, check_scores

Variant = Literal["e1", "e2", "e3"]


def elkan_noto(
    scores_p: Any, scores_u: Any, *, share_p: float | None = None, variant: Variant = "e1"
) -> AlphaEstimate:
    """Estimate α from c, the share of the positives that carry a label.

    The scores must be g(x), the probability that a row like x is labeled, held out from training
    and calibrated for data in which a share ρ = `share_p` is labeled: n_p / (n_p + n_u) unless
    the scorer was balanced (0.5) or trained on another mix. There the positives are the ρ labeled
    and α of the 1 − ρ unlabeled, so c = ρ / (ρ + (1 − ρ) α) and α = (1 − c)/c · ρ/(1 − ρ), capped
    at 1. Where only positives occur, g(x) = c; the paper reads c from there in three ways:

    "e1"  the mean of g over the labeled, the authors' choice;
    "e2"  the labeled rows' part of the sum of g over all rows, ρ ḡ_p / (ρ ḡ_p + (1 − ρ) ḡ_u),
          which is e1 again if the scores are calibrated on these rows;
    "e3"  the largest g of all, which one wrong row can spoil.

    Where the classes overlap g(x) < c, so e1 and e2 give too much: by .04 at α = .02 falling to
    .01 at α = .95 for Gaussians 4σ apart with exact probabilities, however many rows.

    Parameters
    ----------
    scores_p, scores_u
        Probabilities of being labeled, of both samples.
    share_p
        ρ; None: the share of positives in these two samples.
    variant
        "e1", "e2" or "e3".

    Returns
    -------
    AlphaEstimate
        α, without an interval.

    Examples
    --------
    >>> found = elkan_noto(np.full(100, 0.5), np.repeat([0.5, 0.0], 200), share_p=0.2)
    >>> found.alpha  # half of the positives are labeled, .2 of all rows; .2 of the other .8 are not
    0.25
    """
    g_p, g_u = _probabilities(scores_p, "scores_p"), _probabilities(scores_u, "scores_u")
    share = g_p.size / (g_p.size + g_u.size) if share_p is None else share_p
    rho = check_fraction(share, "share_p")
    c = _labeled_share(g_p, g_u, rho, variant)
    alpha = (1 - c) / c * rho / (1 - rho)
    notes = [f"c = {c:.4g} by {variant}, for a scorer trained on {100 * rho:.3g} % positives"]
    if alpha > 1:
        notes += [f"α came out as {alpha:.3g} and was cut to 1: the scores are not calibrated"]
    n_p, n_u, alpha = g_p.size, g_u.size, min(1.0, alpha)
    return AlphaEstimate(alpha=alpha, n_p=n_p, n_u=n_u, method="elkan_noto", notes=tuple(notes))


def _labeled_share(g_p: Scores, g_u: Scores, rho: float, variant: Variant) -> float:
    mean_p, labeled = float(g_p.mean()), rho * float(g_p.mean())
    total = labeled + (1 - rho) * float(g_u.mean())
    ways = {"e1": mean_p, "e2": labeled / (total or 1.0), "e3": float(max(g_p[-1], g_u[-1]))}
    if variant not in [*ways]:
        raise InputError("TB008", f"variant must be 'e1', 'e2' or 'e3'; got {variant!r}.")
    c = ways[variant]
    if c == 0:
        raise InputError(
            "TB009",
            "every positive has probability 0 of being labeled, though all of them are. "
            "The scorer is broken or inverted; higher must mean more like the positives.",
        )
    return c


def _probabilities(scores: Any, name: str) -> Scores:
    """Sorted, so that sums do not depend on row order."""
    g = np.sort(check_scores(scores, name).astype(np.float64))
    if g[0] < 0 or g[-1] > 1:
        raise InputError(
            "TB009",
            f"elkan_noto needs probabilities of being labeled; {name} run from {g[0]:g} to "
            f"{g[-1]:g}. Use predict_proba of a classifier of positives against unlabeled, "
            "calibrated (CalibratedClassifierCV) and held out; or a method that needs no "
            "probabilities, such as bbe.",
        )
    return g
