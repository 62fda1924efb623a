"""A default (TED)ⁿ fit on a large dense table and on wide sparse text: seconds and memory.

    OMP_NUM_THREADS=1 python bench/scripts/tedn_scale.py

Each case runs in its own process, so that its peak memory is its own. One thread, because on a busy
machine a second one only waits; then CPU time is the time to wait on a quiet machine.
"""

import os
import sys

import numpy as np
from report import answer, apart, cost, head, save, table
from scipy.sparse import csr_array

import topbin as tb

COMMAND = "OMP_NUM_THREADS=1 python bench/scripts/tedn_scale.py"


def dense(n_p: int = 10_000, n_u: int = 100_000, columns: int = 50, alpha: float = 0.3):
    rng = np.random.default_rng(0)
    X_p, X_u = rng.normal(size=(n_p, columns)), rng.normal(size=(n_u, columns))
    X_p[:, :5] += 1.5
    X_u[: round(alpha * n_u), :5] += 1.5
    return X_p, X_u, alpha


def sparse(n_p: int = 10_000, n_u: int = 40_000, words: int = 500_000, alpha: float = 0.3):
    """Rows of 100 words by Zipf's law; a positive row draws 20 of them from 2,000 of its own."""
    rng = np.random.default_rng(0)
    n, length = n_p + n_u, 100
    word = np.minimum(rng.zipf(1.3, (n, length)), words - 1)
    hidden = np.arange(n) < n_p + round(alpha * n_u)
    word[hidden, :20] = words - 1 - rng.integers(0, 2_000, (hidden.sum(), 20))
    rows = np.repeat(np.arange(n), length)
    X = csr_array((np.ones(n * length), (rows, word.ravel())), shape=(n, words))
    return X[:n_p], X[n_p:], alpha


CASES = {
    "dense": ("100,000 unlabeled + 10,000 P, 50 columns", dense),
    "plain": ("the same without LightGBM", dense),
    "sparse": ("40,000 unlabeled + 10,000 P, 500,000 columns, 100 words per row", sparse),
}


def run(case: str) -> None:
    if case == "plain":
        sys.modules["lightgbm"] = None  # as in an install without the extra `boost`
    X_p, X_u, alpha = CASES[case][1]()
    clf = tb.TEDnClassifier()
    used = cost(lambda: clf.fit_pu(X_p, X_u))
    answer([alpha, f"{clf.alpha_:.3f}", f"{used.wall:.0f}", f"{used.cpu:.0f}",
            f"{used.peak / 1024:.2f}"])  # fmt: skip


def main() -> None:
    if len(sys.argv) > 1:
        run(sys.argv[1])
        return
    rows = [[title, *apart(__file__, case)] for case, (title, _) in CASES.items()]
    said = (
        "LightGBM (dense), logistic regression (sparse, never made dense); one thread. Other\n"
        f"work ran on the machine (load {os.getloadavg()[2]:.0f} on {os.cpu_count()} cores), as\n"
        "the wall time shows. Target for the dense table: at most 5 minutes and 4 GB on 2 cores."
        "\n\n"
    )
    columns = ["", "α", "α̂", "wall s", "CPU s", "peak memory, GB"]
    text = head("(TED)ⁿ, default, on large tables", COMMAND) + said
    save("tedn_scale.md", text + table(columns, rows))


if __name__ == "__main__":
    main()
