"""The two triangles of the appendix: a linear PvU model is tilted, but its top bin is pure."""

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from topbin_bench.figures.panels import MARK, NEGATIVE, POSITIVE, legend, panels
from topbin_bench.tasks.synthetic import triangles as sample

ROWS = 4000


def tilt() -> tuple[Any, Any, Any]:
    """Positives, negatives, and the direction that logistic regression finds for P against U."""
    rng = np.random.default_rng(0)
    P, N = sample(2 * ROWS, True, rng), sample(ROWS, False, rng)
    X = np.concatenate([P, N])  # the second half of P and all of N are U
    model = LogisticRegression(C=1e4).fit(X, np.arange(len(X)) < ROWS)
    return P[ROWS:], N, model.coef_[0]


def triangles() -> Any:
    """Samples of both classes, and the line above which the linear PvU model has no negative."""
    P, N, w = tilt()
    figure, axes = panels(1, 1, size=(5.0, 4.2))
    ax = axes[0, 0]
    ax.plot(*P[:700].T, ".", ms=3, color=POSITIVE, label="positive")
    ax.plot(*N[:700].T, ".", ms=3, color=NEGATIVE, label="negative")
    scores_p, scores_n = P @ w, N @ w
    x = np.array([-1.5, 4.5])
    line = (scores_n.max() - w[0] * x) / w[1]
    ax.plot(x, line, color=MARK, lw=1, ls="--", label="above it: only positives")
    pure = float((scores_p > scores_n.max()).mean())
    angle = np.degrees(np.arctan2(abs(w[0]), w[1]))
    ax.set(
        xlim=(-1.6, 4.4), ylim=(-4.3, 4.3), aspect="equal",
        title=f"Linear PvU is tilted by {angle:.0f}°, yet {100 * pure:.0f} % of the positives\n"
        "score above every negative",
    )  # fmt: skip
    return legend(figure, axes)
