"""α by group against the truth: coverage, width beside two separate fits, and false differences.

    TOPBIN_DATA=data python bench/scripts/by_group.py --kept by_group.jsonl

Rows of real data sets are dealt to two groups so that the share of positives among the unlabeled
rows of the first is 1, 1.5 or 3 times that of the second. Settings (the prior, the number of rows
that a blind score borrows from, the tests of what is assumed) were chosen on the sets in TUNED. In
half of the fits the models read the group too. Finished fits are kept in a file, so that the script
can be stopped at any time and continues where it was.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from crossfit_sets import Loaded, cifar, digits, mnist, uci
from report import head, one_thread, save, table

import topbin as tb

TUNED = {
    "spambase": lambda: uci("spambase", lambda y: y == 1),
    "mnist 3 8": lambda: mnist((3,), (8,)),
}
SETS: dict[str, Callable[[], Loaded]] = {
    "landsat": lambda: uci("landsat", lambda y: y > 3),
    "pageblock": lambda: uci("pageblock", lambda y: y != 1),
    "mushroom": lambda: uci("mushroom", lambda y: y == "p"),
    "mnist 1 7": lambda: mnist((1,), (7,)),
    "digits": digits,
    "cifar": lambda: cifar((0, 1, 8, 9)),
}
RATIOS, BASES = (1.0, 1.5, 3.0), (0.1, 0.15, 0.25)
N_P, N_U = 200, 1_000
APART = 3  # seeds for which the groups are also fitted apart
FIGURES = ("alpha", "other", "difference", "ratio")


def deal(found: Loaded, ratio: float, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows of both groups, and which of them are positive."""
    X, y = found
    rng, base = np.random.default_rng([seed, int(10 * ratio)]), BASES[seed % len(BASES)]
    first = (0.3, 0.5)[seed // len(BASES) % 2]  # the share of the rows that is in the first group
    shares = np.array([base * ratio, base])
    positive, negative = (rng.permutation(np.flatnonzero(side)) for side in (y, ~y))
    mean = float(shares @ (first, 1 - first))
    less = min(1.0, positive.size / (N_P + N_U * mean + 2), negative.size / (N_U * (1 - mean) + 2))
    n_u = (less * N_U * np.array([first, 1 - first])).astype(int)
    hidden = np.round(n_u * shares).astype(int)
    labeled = np.round(less * N_P * hidden / hidden.sum()).astype(int)
    kinds = [(labeled, positive, 1, 1), (hidden, positive, 0, 1), (n_u - hidden, negative, 0, 0)]
    parts, used = [], {id(positive): 0, id(negative): 0}
    for sizes, source, known, truth in kinds:
        for group, size in zip("ab", sizes, strict=True):
            begin = used[id(source)]
            used[id(source)] += size
            parts += [(row, group, known, truth) for row in source[begin : begin + size]]
    rows, group, known, truth = zip(*(parts[i] for i in rng.permutation(len(parts))), strict=True)
    dense = np.asarray(X[list(rows)], float)
    frame = pd.DataFrame(dense, columns=[f"x{i}" for i in range(dense.shape[1])])
    return frame.assign(group=group, known=known), np.array(truth, bool)


def fit(name: str, load: Callable[[], Loaded], ratio: float, seed: int) -> dict:
    """What one fit says about both groups, and the truth."""
    frame, truth = deal(load(), ratio, seed)
    is_read = seed % 2 == 0
    drop = [] if is_read else ["group"]
    result = tb.fit(frame, "known", read=tb.Read(by="group"), drop=drop, budget="fast", seed=seed)
    first, second = result.answer.by[0].groups
    is_u = (frame["known"] == 0).to_numpy()
    a, b = (float(truth[is_u & (frame["group"] == one)].mean()) for one in "ab")
    ends = {
        "alpha": (a, *first.interval), "other": (b, *second.interval),
        "difference": (a - b, *first.difference_interval), "ratio": (a / b, *first.ratio_interval),
    }  # fmt: skip
    told = {
        "set": name, "true_ratio": ratio, "seed": seed, "read": is_read, "differs": first.differs,
        "found": first.ratio, **ends,
    }  # fmt: skip
    if seed < APART:
        told["apart"] = apart(frame, seed)
    return told


def apart(frame: pd.DataFrame, seed: int) -> list[float]:
    """The interval of the ratio from two separate fits."""
    draws = []
    for group in "ab":
        own = frame[frame["group"] == group].drop(columns="group").reset_index(drop=True)
        draws.append(tb.fit(own, "known", budget="fast", seed=seed).estimate.posterior.draws(200))
    ratio = draws[0][:, None] / np.maximum(draws[1], 0.5 / N_U)
    return [float(end) for end in np.quantile(ratio, [0.025, 0.975])]


def run(sets: dict[str, Callable[[], Loaded]], seeds: int, kept: Path) -> list[dict]:
    """All fits, those of the file first."""
    done = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    known = {(one["set"], one["true_ratio"], one["seed"]) for one in done}
    with kept.open("a") as file:
        for seed in range(seeds):
            for name, load in sets.items():
                for ratio in RATIOS:
                    if (name, ratio, seed) not in known:
                        done.append(fit(name, load, ratio, seed))
                        file.write(json.dumps(done[-1]) + "\n")
                        file.flush()
    return [one for one in done if one["set"] in sets]


def line(label: list, fits: list[dict]) -> list:
    """Coverage of each figure, how often the groups are called different, and widths."""
    covers = [np.mean([one[k][1] <= one[k][0] <= one[k][2] for one in fits]) for k in FIGURES]
    both = [one for one in fits if "apart" in one]
    width = np.median([one["ratio"][2] - one["ratio"][1] for one in both]) if both else np.nan
    alone = np.median([one["apart"][1] - one["apart"][0] for one in both]) if both else np.nan
    logs = [
        np.log(one["ratio"][2] / one["ratio"][1])
        / np.log(one["apart"][1] / max(one["apart"][0], 1e-3))
        for one in both
    ]
    return [
        *label, len(fits), *(f"{share:.3f}" for share in covers),
        f"{np.mean([one['differs'] for one in fits]):.3f}",
        f"{np.median([one['found'] for one in fits]):.2f}",
        f"{width:.2f}", f"{alone:.2f}", f"{1 - np.median(logs):.0%}" if logs else "",
    ]  # fmt: skip


NAMES = [
    "fits", "covers α of a", "of b", "difference", "ratio", "called different", "median ratio",
    "width of ratio", "of separate fits", "narrower (log)",
]  # fmt: skip
ABOUT = (
    "Two groups of real rows, {n_p} known positives and {n_u} unlabeled rows together (fewer where "
    "a set has fewer), budget `fast`. In half of the fits the models read the group as a feature. "
    "The labeled positives of a group are as many as its share of the hidden ones. *covers* is how "
    "often 95 % intervals hold the truth of these rows; *called different* is `differs`. Widths "
    "are medians over the fits for which the groups were also fitted apart; *narrower (log)* is by "
    "how much the interval of the ratio is narrower on a logarithmic scale, the median of these. "
    "Settings were "
    "chosen on {tuned}, which are not in the tables."
)


def main() -> None:
    """Run what is missing, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--kept", type=Path, default=Path("by_group.jsonl"))
    parser.add_argument("--tune", action="store_true", help="Only show the sets in TUNED.")
    asked = parser.parse_args()
    done = run(TUNED if asked.tune else SETS, asked.seeds, asked.kept)
    by_ratio = [line([r], [d for d in done if d["true_ratio"] == r]) for r in RATIOS]
    by_set = [
        line([s], [d for d in done if d["set"] == s]) for s in dict.fromkeys(d["set"] for d in done)
    ]
    by_read = [line([w], [d for d in done if d["read"] == (w == "yes")]) for w in ("yes", "no")]
    text = "\n\n".join(
        f"## {title}\n\n" + table([first, *NAMES], rows)
        for title, first, rows in (
            ("By true ratio", "true ratio", [*by_ratio, line(["all"], done)]),
            ("By data set", "set", by_set),
            ("Whether the models read the group", "read", by_read),
        )
    )
    if asked.tune:
        print(text)
        return
    command = f"python bench/scripts/by_group.py --seeds {asked.seeds}"
    about = ABOUT.format(n_p=N_P, n_u=f"{N_U:,}", tuned=" and ".join(TUNED))
    save("by_group.md", f"{head('α by group', command)}{about}\n\n{text}\n")


if __name__ == "__main__":
    one_thread()
    main()
