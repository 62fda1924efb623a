"""What α by group, α over time and a class never seen cost, as ratios of runs that take turns.

    python bench/scripts/more_numbers_speed.py by        # each piece takes some minutes
    python bench/scripts/more_numbers_speed.py watch
    python bench/scripts/more_numbers_speed.py classes
    python bench/scripts/more_numbers_speed.py           # the page, from what was measured

Each way runs in its own process, so that its peak memory is its own. CPU seconds are those of the
process with all its threads; on a busy machine they are worth more than the clock.
"""

import json
import runpy
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd
from report import RESULTS, Cost, answer, apart, cost, head, one_thread, save, table

MEASURED = RESULTS / "more_numbers_speed.jsonl"
FIT_ROWS, GROUPS, NEW_ROWS, FILES, REPEATS = 10_000, 20, 1_000_000, 4, 3
CLASSES, CLASS_ROWS, COLUMNS = 50, 100_000, 10
SECONDS = 450  # limit for one process


def rows(n: int, seed: int, share: float = 0.3) -> pd.DataFrame:
    """Rows of two classes that overlap, with twenty groups, a day and what is known."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < share
    frame = pd.DataFrame(rng.normal(size=(n, COLUMNS)) + 1.2 * y[:, None])
    frame.columns = [f"x{j}" for j in range(COLUMNS)]
    day = np.datetime64("2026-01-05") + rng.integers(0, 364, n).astype("m8[D]")
    group = [f"site {k:02}" for k in rng.integers(0, GROUPS, n)]
    return frame.assign(group=group, day=day, known=y & (rng.random(n) < 0.2))


def fit(by: str) -> Cost:
    import topbin as tb

    frame = rows(FIT_ROWS, 0)

    def work() -> object:
        columns = [by] if by else []
        return tb.fit(frame, "known", drop=["day"], read=tb.Read(by=columns), budget="good").answer

    return cost(work)


def score(folder: str) -> Cost:
    place = Path(folder)
    out = tempfile.mkdtemp(dir=folder)
    files = str(place / "*.parquet")
    sys.argv = ["topbin", "score", str(place / "run"), files, "-o", f"{out}/o", "--engine", "local"]

    def run() -> None:
        with suppress(SystemExit):
            runpy.run_module("topbin", run_name="__main__")

    return cost(run)


def watch(folder: str) -> Cost:
    import topbin as tb

    place = Path(folder)
    out = tempfile.mkdtemp(dir=folder)
    files = str(place / "*.parquet")
    return cost(lambda: tb.watch(place / "run", files, time="day", output=f"{out}/w"))


def classes(preset: str) -> Cost:
    """Half of the rows are labeled with one of fifty classes; a tenth of the others is novel."""
    import topbin as tb

    rng = np.random.default_rng(0)
    centers = rng.normal(size=(CLASSES + 1, COLUMNS)) * 2
    half = CLASS_ROWS // 2
    y = rng.integers(0, CLASSES, half)
    new = np.where(rng.random(half) < 0.1, CLASSES, rng.integers(0, CLASSES, half))
    X, X_u = (centers[c] + rng.normal(size=(half, COLUMNS)) for c in (y, new))
    found = []

    def work() -> None:
        found.append(tb.OpenSetClassifier(preset=preset).fit(X, y, X_u).novel_)

    spent = cost(work)
    sys.stderr.write(f"{found[0]}\n")
    return spent


def keep(what: str, way: str, spent: Cost) -> None:
    line = {"what": what, "way": way, "wall": spent.wall, "cpu": spent.cpu, "peak": spent.peak}
    with open(MEASURED, "a") as file:
        file.write(json.dumps(line) + "\n")
    sys.stdout.write(json.dumps(line) + "\n")


def turns(what: str, ways: dict[str, list[str]], repeats: int = REPEATS) -> None:
    """Each way once, then each again, so that what slows the machine slows all of them."""
    for _ in range(repeats):
        for way, given in ways.items():
            keep(what, way, Cost(**apart(__file__, *given, timeout=SECONDS)))


def measure(piece: str) -> None:
    if piece == "by":
        turns("by", {"fit": ["fit", ""], "fit --by": ["fit", "group"]})
    elif piece == "classes":
        turns("classes", {"fit": ["classes", "fast"]}, repeats=1)
    else:
        import topbin as tb

        with tempfile.TemporaryDirectory() as folder:
            frame = rows(FIT_ROWS, 0).drop(columns=["group", "day"])
            tb.fit(frame, "known", budget="fast").save(Path(folder) / "run")
            for k in range(FILES):
                part = rows(NEW_ROWS // FILES, k + 1).drop(columns=["group", "known"])
                part.to_parquet(Path(folder) / f"{k}.parquet", row_group_size=100_000)
            turns("watch", {"score": ["score", folder], "watch": ["watch", folder]})


def page() -> str:
    lines = pd.read_json(MEASURED, lines=True)
    found: list[list[object]] = []
    for what, base, more, aim in (("by", "fit", "fit --by", 1.3), ("watch", "score", "watch", 2.0)):
        own = lines[lines["what"] == what]
        a, b = (own[own["way"] == way].reset_index(drop=True) for way in (base, more))
        for name, one in ((base, a), (more, b)):
            ratios = ["", "", ""]
            if name == more:
                by_clock, by_cpu = (median(b[k] / a[k]) for k in ("wall", "cpu"))
                ratios = [f"{by_clock:.2f}", f"{by_cpu:.2f}", f"≤ {aim:g}"]
            peak = f"{one['peak'].max():,.0f}"
            spent = [f"{one[k].median():.1f}" for k in ("wall", "cpu")]
            found.append([what, name, len(one), *spent, peak, *ratios])
    last = lines[lines["what"] == "classes"].iloc[-1]
    spent = [f"{last[k]:.1f}" for k in ("wall", "cpu")]
    limit = "≤ 300 s, 1,000 MB"
    found.append(["50 classes", "fit", 1, *spent, f"{last['peak']:,.0f}", "", "", limit])
    columns = ["what", "way", "runs", "seconds", "CPU seconds", "peak MB",
               "× (clock)", "× (CPU)", "aim"]  # fmt: skip
    return table(columns, found)


ABOUT = f"""*by*: `topbin.fit` of {FIT_ROWS:,} rows with {COLUMNS} columns, with and without
{GROUPS} groups, budget `good`, up to the answer. *watch*: `topbin.watch` of {NEW_ROWS:,} new rows
in {FILES} files and 52 weeks, and `topbin score` of the same files. *50 classes*: one fit of
`OpenSetClassifier` with preset `fast` on {CLASS_ROWS:,} rows, half of them labeled. Ways take
turns, each in a process of its own with one thread per numerical library; a ratio is the median
of those of each turn. Other work kept the two cores busy (load 11 to 16), so the clock says
little here: compare CPU seconds.

"""


if __name__ == "__main__":
    one_thread()
    if len(sys.argv) == 1:
        title, command = "What more numbers cost", "python bench/scripts/more_numbers_speed.py"
        save("more_numbers_speed.md", head(title, command) + ABOUT + page())
    elif sys.argv[1] in ("by", "watch", "classes") and len(sys.argv) == 2:
        measure(sys.argv[1])
    else:
        ways = {"fit": fit, "score": score, "watch": watch, "classes": classes}
        answer(ways[sys.argv[1]](sys.argv[2]))
