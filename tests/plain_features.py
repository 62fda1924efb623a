"""km1, km2 and tice written straight from the papers, slowly: what the fast ones must equal."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import nnls


def plain_tice(table, labeled, fold, max_splits=500):
    """The label frequency by sets of rows, a loop over columns and a loop over quarters."""
    c = 0.5
    for _ in range(2):
        bounds = []
        for k in range(5):
            read = fold != k
            rows = int(read.sum())
            delta = max(0.025, 1 / (1 + 0.004 * rows))
            bounds.append(_PlainTree(table, labeled, read, c, delta).best_bound(max_splits))
        c = sum(bounds) / 5
    return max(c, labeled.mean())


@dataclass
class _PlainTree:
    table: np.ndarray
    labeled: np.ndarray
    read: np.ndarray
    c: float
    delta: float

    def bound(self, rows):
        total = np.count_nonzero(rows)
        share = np.count_nonzero(rows & self.labeled) / total
        return share - np.sqrt(self.c * (1 - self.c) * (1 - self.delta) / (self.delta * total))

    def quarters_of(self, column, rows):
        x = self.table[:, column]
        edges = [-np.inf, 0.25, 0.5, 0.75, np.inf]
        return [rows & (x >= a) & (x < b) for a, b in pairwise(edges)]

    def score(self, parts):
        scores = [0.0]
        for part in parts:
            grown = part & ~self.read
            hits = np.count_nonzero(grown & self.labeled)
            scores.append(hits / (np.count_nonzero(grown) + 5))
        return max(scores)

    def best_bound(self, max_splits):
        best = np.count_nonzero(self.read & self.labeled) / max(1, np.count_nonzero(self.read))
        fewest = 1.0
        waiting = [(np.inf, 0, np.ones(len(self.table), bool), range(self.table.shape[1]))]
        for _ in range(max_splits):
            if not waiting:
                break
            # The highest bound on the growing rows, then the most labeled; the oldest of ties.
            chosen = max(range(len(waiting)), key=lambda i: waiting[i][:2])
            _, _, rows, columns = waiting.pop(chosen)
            columns = [a for a in columns if self.most_read(a, rows) >= fewest]
            scores = [self.score(self.quarters_of(a, rows)) for a in columns]
            if not scores or max(scores) <= 0:
                continue
            column = columns[int(np.argmax(scores))]
            parts = self.quarters_of(column, rows)
            if sum((part & self.read).any() for part in parts) == 1:
                continue
            for part in parts:
                if np.count_nonzero(part & self.read) >= 10:
                    best = max(best, self.bound(part & self.read))
            variance = self.c * (1 - self.c) * (1 - self.delta) / self.delta
            fewest = variance / (1 - best) ** 2 if best < 1 else np.inf
            for part in parts:
                grown = part & ~self.read
                hits = np.count_nonzero(grown & self.labeled)
                wide = np.count_nonzero(part & self.read & self.labeled) > fewest
                if wide and np.count_nonzero(grown) > 10 and 0 < hits < np.count_nonzero(grown):
                    rest = [a for a in columns if a != column]
                    waiting.append((self.bound(grown), hits, part, rest))
        return best

    def most_read(self, column, rows):
        parts = self.quarters_of(column, rows)
        return max(np.count_nonzero(part & self.read & self.labeled) for part in parts)


def plain_km(kernel, n_p, solve, *, step=0.04, last=8.0):
    """km1 and km2 by bisection over λ with difference quotients of d, a program for each d."""
    n_u = len(kernel) - n_p
    apart = np.r_[np.full(n_p, -1 / n_p), np.full(n_u, 1 / n_u)]
    largest = np.sqrt(apart @ kernel @ apart)

    def distance(lam):
        target = np.r_[np.full(n_p, (1 - lam) / n_p), np.full(n_u, lam / n_u)]
        rest = target - solve(kernel, kernel @ target)
        return np.sqrt(max(0.0, rest @ kernel @ rest))

    def crossing(threshold):
        low, high = 1.0, last
        while high - low > step:
            middle = (low + high) / 2
            slope = (distance(middle + step / 2) - distance(middle)) / (step / 2)
            low, high = (low, middle) if slope > threshold else (middle, high)
        return 1 - 2 / (low + high)

    first = (distance(1.05) - distance(1.0)) / 0.05
    return crossing(1 / np.sqrt(min(n_p, n_u))), crossing(0.8 * first + 0.2 * largest)


def simplex_by_nnls(kernel, pull):
    """min ½ v′Kv − pull′v over the simplex, as least squares with a heavy row for Σv = 1."""
    values, vectors = np.linalg.eigh(kernel)
    kept = values > 1e-13 * values[-1]
    root = vectors[:, kept] * np.sqrt(values[kept])
    heavy = 1e3
    rows = np.vstack([root.T, np.full(len(kernel), heavy)])
    goal = np.r_[(vectors[:, kept] / np.sqrt(values[kept])).T @ pull, heavy]
    return nnls(rows, goal, maxiter=100 * len(kernel))[0]
