"""Coverage of the interval where rows belong together, with and without their groups.

A patient is positive or not, has some visits, and either all of them are labeled or none. Visits of
a patient share a part of the variance of each feature, the *correlation*. Finished fits are kept in
a file, so that the script can be stopped at any time and continues where it was.
"""

import argparse
import json
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from report import head, one_thread, save, table

from topbin import TEDnClassifier
from topbin.learn import Plan

PLAN = Plan(outer=3, inner=2, repeats=1, warm=1, rounds=1)
COLUMNS, SHIFTED, SHIFT = 6, 3, 1.5


@dataclass(frozen=True)
class Setting:
    """How many patients there are, how many visits they have, and how alike these are."""

    labeled: int
    unlabeled: int
    visits: int
    correlation: float
    alpha: float

    def draw(self, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Features, labels, patients, and the share of positives among these unlabeled rows."""
        rng = np.random.default_rng([seed, self.visits, int(1e4 * self.correlation)])
        hidden = rng.random(self.unlabeled) < self.alpha
        is_positive = np.append(np.ones(self.labeled, bool), hidden)
        patient = np.repeat(np.arange(is_positive.size), self.visits)
        own = np.sqrt(self.correlation) * rng.normal(size=(is_positive.size, COLUMNS))
        own[is_positive, :SHIFTED] += SHIFT
        noise = np.sqrt(1 - self.correlation) * rng.normal(size=(patient.size, COLUMNS))
        return own[patient] + noise, patient < self.labeled, patient, float(hidden.mean())


SETTINGS = [
    *(Setting(50, 150, 10, rho, 0.3) for rho in (0.2, 0.6, 0.95)),
    *(Setting(50, 150, 10, 0.6, alpha) for alpha in (0.1, 0.6)),
    Setting(60, 200, 6, 0.9996, 0.3),  # visits that are copies but for noise of 2 %
]
WITHOUT = 0.4  # of the repeats are also fitted without groups, which is enough to show a failure


def fit(setting: Setting, seed: int, grouped: bool) -> dict:
    """What one fit says, and the truth."""
    X, y, patient, realized = setting.draw(seed)
    made = TEDnClassifier(plan=PLAN).fit(X, y, groups=patient if grouped else None)
    found = made.estimate_
    return {
        **asdict(setting), "seed": seed, "grouped": grouped, "realized": realized,
        "point": found.alpha, "low": found.interval[0], "high": found.interval[1],
        "bound": found.upper_bound, "worth": found.worth,
    }  # fmt: skip


def run(repeats: int, kept: Path) -> list[dict]:
    """All fits, those of the file first; every setting gets its first repeats before its last."""
    done = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    known = {(one["seed"], one["grouped"], *(one[k] for k in KEYS)) for one in done}
    with kept.open("a") as file:
        for seed in range(repeats):
            for setting in SETTINGS:
                for grouped in (True, False):
                    if not grouped and seed >= WITHOUT * repeats:
                        continue
                    if (seed, grouped, *asdict(setting).values()) in known:
                        continue
                    done.append(fit(setting, seed, grouped))
                    file.write(json.dumps(done[-1]) + "\n")
                    file.flush()
    return done


KEYS = tuple(asdict(SETTINGS[0]))


def rows_of(done: list[dict], grouped: bool) -> list[list]:
    """One line per setting."""
    cells = defaultdict(list)
    for one in done:
        if one["grouped"] == grouped:
            cells[tuple(one[k] for k in KEYS)].append(one)
    rows = []
    for setting in SETTINGS:
        found, alpha = cells[tuple(asdict(setting).values())], setting.alpha
        low, high, real, bound, point = (
            np.array([one[k] for one in found])
            for k in ("low", "high", "realized", "bound", "point")
        )
        patients = f"{setting.labeled} + {setting.unlabeled}, {setting.visits} visits"
        shares = (
            (low <= alpha) & (alpha <= high), (low <= real) & (real <= high),
            high < alpha, low > alpha, bound < alpha,
        )  # fmt: skip
        line = [patients, f"{setting.correlation:g}", f"{alpha:g}", len(found)]
        line += [f"{share.mean():.3f}" for share in shares]
        line += [f"{point.mean():.3f}", f"{(high - low).mean():.3f}"]
        if grouped:
            line.append(
                "{:.0f} and {:.0f}".format(*np.mean([one["worth"] for one in found], axis=0))
            )
        rows.append(line)
    return rows


NAMES = [
    "patients", "correlation", "α", "fits", "covers α", "covers α of these rows", "high < α",
    "low > α", "bound < α", "mean α̂", "mean width",
]  # fmt: skip
ABOUT = (
    "Patients are positive or not; the known ones have all visits labeled, the others none. "
    "*patients* are those labeled and those not, and *correlation* is the share of the variance of "
    "each of six features that visits of a patient have in common. In the last setting visits are "
    "copies but for noise of 2 %. 95 % intervals and one-sided 95 % bounds of `TEDnClassifier` "
    "with a short plan (3 outer and 2 inner folds, one repeat, one round after the warm start). α "
    "is the chance that an unlabeled patient is positive; *α of these rows* is the share that "
    "these unlabeled rows happen to have. *worth* is how many independent positives and unlabeled "
    "rows the rows are worth, on average."
)


def main() -> None:
    """Run what is missing, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--kept", type=Path, default=Path("group_coverage.jsonl"))
    asked = parser.parse_args()
    done = run(asked.repeats, asked.kept)
    command = f"python bench/scripts/group_coverage.py --repeats {asked.repeats}"
    save(
        "group_coverage.md",
        head("Coverage where rows belong together", command) + f"{ABOUT}\n\n## With groups\n\n"
        + table([*NAMES, "worth"], rows_of(done, True))
        + "\n\n## The same rows without groups\n\n" + table(NAMES, rows_of(done, False)) + "\n",
    )  # fmt: skip


if __name__ == "__main__":
    one_thread()
    main()
