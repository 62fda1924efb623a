"""Scores that are hard to count: tied, saturated, signed zeros, denormal, huge, of two widths."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

KINDS = {
    "levels": st.integers(-3, 3).map(float),
    "saturated": st.sampled_from([0.0, -0.0, 1.0]) | st.floats(0, 1, width=32),
    "near one": st.integers(0, 40).map(lambda ulps: 1 - ulps * 2.0**-24),
    "any": st.floats(allow_nan=False, allow_infinity=False, width=32),
    "denormal": st.integers(-9, 9).map(lambda steps: steps * 2.0**-149),
    "far apart": st.sampled_from([-3e38, -1.0, -1e-45, -0.0, 0.0, 1e-45, 1.0, 3e38]),
}
DTYPES = st.sampled_from([np.float32, np.float64])


def samples(max_size=30):
    """Two samples of the same kind, each in its own width."""
    return st.sampled_from(sorted(KINDS)).flatmap(
        lambda kind: st.tuples(*(_array(kind, max_size) for _ in range(2)))
    )


def _array(kind, max_size):
    sizes = st.integers(1, max_size)
    return DTYPES.flatmap(lambda dtype: hnp.arrays(dtype, sizes, elements=KINDS[kind]))


def large(kind, rows, seed=0):
    """Two samples of `rows` each, positives higher; the kinds that decide how they are counted."""
    rng = np.random.default_rng(seed)
    scores_p = rng.normal(3, 1, rows).astype(np.float32)
    scores_u = np.where(rng.random(rows) < 0.3, scores_p[::-1], rng.normal(0, 1, rows))
    scores_u = scores_u.astype(np.float32)
    return LARGE[kind](scores_p), LARGE[kind](scores_u)


LARGE = {
    "logits": lambda x: x,
    "negative": lambda x: -np.exp(-x),
    "with zeros": lambda x: np.where(np.abs(x) < 0.1, np.copysign(np.float32(0), x), x),
    "probabilities": lambda x: 1 / (1 + np.exp(-x)),
    "saturated": lambda x: np.clip((x - 1) / 2, np.float32(0), np.float32(1)),
    "rounded": lambda x: np.round(x, 2),
    "heavy tail": lambda x: np.exp(6 * x),
    "outlier": lambda x: np.append(x[1:], np.float32(-1e20)),
    "too wide": lambda x: np.append(x[2:], np.array([-3e38, 1e-45], np.float32)),
    "double": lambda x: x.astype(np.float64) + 1e-9 * np.arange(x.size) / x.size,
    "mixed": lambda x: x.astype(np.float64) if x.mean() < 2 else x,
    "equal": lambda x: np.zeros_like(x),
}
