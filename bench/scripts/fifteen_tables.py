"""Fifteen tables as people bring them: truth, α, interval and time, before and after.

Real tables come from scikit-learn and from the folder in TOPBIN_DATA; the others are drawn here as
companies keep them. `OLD_SRC` is the `src` folder of an earlier version. The summary of each fit
is read by the checks of tests/job/test_numbers_agree.py, which look for contradictions.
"""

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pandas as pd
from report import ROOT, head, one_thread, save, table
from sklearn import datasets

from topbin_bench.tasks.files import data_file, missing

Drawn = tuple[pd.DataFrame, np.ndarray]  # rows, and which of them are positive
KNOWN = "known"


@dataclass(frozen=True)
class Made:
    """Files of a table, what to say about them, and the share of positives among the unlabeled."""

    source: str
    truth: float
    rows: int
    options: dict[str, str] = field(default_factory=dict)


def known(y: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Which positives are labeled: a random share of them."""
    return y & (rng.random(y.size) < share)


def made(path: Path, y: np.ndarray, is_known: np.ndarray, **options: str) -> Made:
    truth = float(y[~is_known].mean())
    return Made(str(path), truth, y.size, {"label": KNOWN, **options})


def plain(draw: Callable[[np.random.Generator], Drawn], share: float = 0.4) -> Callable[..., Made]:
    """A csv file with a column of 0 and 1."""

    def make(folder: Path, rng: np.random.Generator) -> Made:
        frame, y = draw(rng)
        is_known = known(y, share, rng)
        path = folder / "table.csv"
        frame.assign(**{KNOWN: is_known.astype(int)}).to_csv(path, index=False)
        return made(path, y, is_known)

    return make


def bundled(load: str, positive: int) -> Callable[[np.random.Generator], Drawn]:
    def draw(_: np.random.Generator) -> Drawn:
        frame = getattr(datasets, load)(as_frame=True).frame
        return frame, frame.pop("target").to_numpy() == positive

    return draw


def uci(name: str, positive: str, rows: int = 2500) -> Callable[[np.random.Generator], Drawn]:
    """Some rows of a table of the bench; `positive` is a value of its class."""

    def draw(rng: np.random.Generator) -> Drawn:
        file = data_file(f"{name}/{name}.csv.gz")
        if file is None:
            raise missing(name)
        frame = pd.read_csv(file).drop(columns="split", errors="ignore")
        frame = frame.iloc[rng.permutation(len(frame))[:rows]].reset_index(drop=True)
        return frame, frame.pop("class").astype(str).to_numpy() == positive

    return draw


def company(rng: np.random.Generator, n: int = 2000, alpha: float = 0.3) -> Drawn:
    """Invoices: amounts, days, towns, channels; one in three or so is positive."""
    y = rng.random(n) < alpha
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D")
    frame = pd.DataFrame({
        "amount": np.round(rng.gamma(2, 400 + 1500 * y), 2),
        "items": rng.poisson(3 + 4 * y),
        "rate": np.round(rng.normal(5 - 1.5 * y, 1), 1),
        "day": day,
        "channel": np.where(rng.random(n) < 0.25 + 0.5 * y, "phone", rng.choice(["web", "x"], n)),
        "town": rng.choice(["Bern", "Köln", "Lyon", "Ulm"], n),
    })  # fmt: skip
    return frame, y


def german(folder: Path, rng: np.random.Generator) -> Made:
    """As a German spreadsheet writes it: semicolons, decimal commas, points between thousands."""
    frame, y = company(rng)
    is_known = known(y, 0.4, rng)
    swap = str.maketrans(",.", ".,")
    frame["amount"] = [f"{v:,.2f}".translate(swap) for v in frame["amount"]]
    frame["rate"] = [f"{v:.1f}".translate(swap) for v in frame["rate"]]
    frame["day"] = frame["day"].dt.strftime("%d.%m.%Y")
    path = folder / "rechnungen.csv"
    frame.assign(**{KNOWN: np.where(is_known, "ja", "")}).to_csv(path, sep=";", index=False)
    return made(path, y, is_known)


def thousands(folder: Path, rng: np.random.Generator) -> Made:
    """Whole amounts such as "26,571", which used to be categories."""
    frame, y = company(rng)
    is_known = known(y, 0.4, rng)
    frame["amount"] = [f"{round(50 * v):,}" for v in frame["amount"]]
    path = folder / "payments.csv"
    frame.assign(**{KNOWN: is_known.astype(int)}).to_csv(path, index=False)
    return made(path, y, is_known)


def crm(folder: Path, rng: np.random.Generator) -> Made:
    """Customers with an id, dates, categories, a constant, and yes or blank as label."""
    frame, y = company(rng)
    is_known = known(y, 0.4, rng)
    frame.insert(0, "customer_id", rng.permutation(len(y)) + 10_000)
    path = folder / "crm.csv"
    label = np.where(is_known, "yes", "")
    frame.assign(country="CH", **{KNOWN: label}).to_csv(path, index=False)
    return made(path, y, is_known, id="customer_id")


def workbook(folder: Path, rng: np.random.Generator) -> Made:
    frame, y = company(rng)
    is_known = known(y, 0.4, rng)
    path = folder / "leads.xlsx"
    frame.assign(**{KNOWN: is_known.astype(int)}).to_excel(path, index=False)
    return made(path, y, is_known)


def customers(folder: Path, rng: np.random.Generator) -> Made:
    """Four rows per customer, who is positive or not."""
    frame, y = company(rng, 600)
    again = np.repeat(np.arange(600), 4)
    frame, y = frame.iloc[again].reset_index(drop=True), y[again]
    frame["items"] = rng.poisson(3 + 4 * y)
    frame["rate"] = np.round(rng.normal(5 - 1.5 * y, 1), 1)
    is_known = known(y, 0.4, rng)
    path = folder / "visits.csv"
    frame.assign(**{KNOWN: is_known.astype(int)}).to_csv(path, index=False)
    return made(path, y, is_known)


def two_files(folder: Path, rng: np.random.Generator) -> Made:
    """Known positives in one file and unlabeled rows in another."""
    frame, y = company(rng)
    is_known = known(y, 0.4, rng)
    frame[is_known].to_csv(folder / "known.csv", index=False)
    frame[~is_known].to_csv(folder / "rest.csv", index=False)
    options = {"positives": str(folder / "known.csv"), "unlabeled": str(folder / "rest.csv")}
    return Made("", float(y[~is_known].mean()), y.size, options)


def rare(rng: np.random.Generator) -> Drawn:
    frame, y = company(rng, 20_000, 0.01)
    return frame, y


def gaps(rng: np.random.Generator) -> Drawn:
    frame, y = company(rng)
    return frame.mask(rng.random(frame.shape) < 0.4), y


def wide(rng: np.random.Generator) -> Drawn:
    frame, y = company(rng, 1500)
    noise = pd.DataFrame(rng.normal(size=(len(y), 250)).round(3)).add_prefix("sensor_")
    return pd.concat([frame, noise], axis=1), y


TABLES: dict[str, Callable[[Path, np.random.Generator], Made]] = {
    "tumors (scikit-learn)": plain(bundled("load_breast_cancer", 0)),
    "wines (scikit-learn)": plain(bundled("load_wine", 0), 0.6),
    "digits, eights (scikit-learn)": plain(bundled("load_digits", 8)),
    "spambase": plain(uci("spambase", "1")),
    "mushroom, all categories": plain(uci("mushroom", "p")),
    "page blocks": plain(uci("pageblock", "2")),
    "invoices, German csv": german,
    'payments, "26,571"': thousands,
    "customers with dates, yes or blank": crm,
    "leads, .xlsx": workbook,
    "visits, four per customer": customers,
    "rare: .5 % hidden": plain(rare, 0.5),
    "40 % of the cells missing": plain(gaps),
    "wide: 256 columns": plain(wide),
    "two files": two_files,
}


def make(name: str, folder: Path) -> Made:
    return TABLES[name](folder, np.random.default_rng(len(name)))


def before(told: Made, folder: Path, old: Path) -> dict[str, Any]:
    """The command of an earlier version; an error is an answer too."""
    given = [f"--{key}={value}" for key, value in told.options.items()]
    command = [sys.executable, "-m", "topbin", "fit", *filter(None, [told.source]), *given]
    found = _child([*command, "--preset", "fast", "-o", str(folder / "old"), "--json"], old)
    told_us = {"error": found["error"].replace(f"{folder}/", "")} if "error" in found else {}
    return {**found, **told_us}


def after(name: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, str(Path(__file__)), "--one", name, "--folder", str(folder)]
    return _child(command, ROOT / "src")


def _child(command: list[str], source: Path) -> dict[str, Any]:
    """What a process says as JSON, and the CPU seconds that it took."""
    rest = os.environ.get("PYTHONPATH", "").split(":")
    path = ":".join([str(source), *(part for part in rest if part != str(ROOT / "src"))])
    used, began = _cpu(), perf_counter()
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path}
    )
    cost = {"cpu": _cpu() - used, "wall": perf_counter() - began}
    try:
        return {**cost, **json.loads(done.stdout)}
    except json.JSONDecodeError:
        return {"error": (done.stderr.strip().splitlines() or ["no answer"])[-1], **cost}


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def one(name: str, folder: Path) -> None:
    """Fit a table that was made, write the run, and check its summary."""
    import topbin

    told = make(name, folder)
    options = dict(told.options)
    source = options.pop("unlabeled", told.source)
    result = topbin.fit(source, budget="fast", **options)
    result.save(folder / "new", force=True)
    cpu = process_time()  # the checks are not part of the job
    found = {
        "cpu": cpu,
        "estimate": result.estimate.to_dict(),
        "contradictions": list(contradictions(result)),
    }
    found["alarms"] = [alarm.code for alarm in result.estimate.alarms]
    print(json.dumps(found))


def contradictions(result: Any) -> Iterator[str]:
    """What the checks of the tests find in one summary."""
    place = ROOT / "tests" / "job" / "test_numbers_agree.py"
    spec = importlib.util.spec_from_file_location("test_numbers_agree", place)
    checks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(checks)
    for name, check in vars(checks).items():
        if name.startswith("test_"):
            try:
                check(result)
            except AssertionError as error:
                yield f"{name}: {str(error).partition(chr(10))[0]}"


def row(name: str, told: Made, old: dict[str, Any], new: dict[str, Any]) -> list[object]:
    cells: list[object] = [name, f"{told.rows:,}", f"{told.truth:.3f}"]
    for found in (old, new):
        if "error" in found:
            cells += [f"error: {found['error'][:60]}", "", f"{found['cpu']:.1f}"]
            continue
        est = found["estimate"]
        low, high = est["interval"]
        holds = "" if low <= told.truth <= high else " (misses)"
        cells += [f"{est['alpha']:.3f}", f"{low:.3f} to {high:.3f}{holds}", f"{found['cpu']:.1f}"]
    wrong = new.get("contradictions", [])
    return [*cells, ", ".join(new.get("alarms", [])) or "–", len(wrong) if wrong else 0]


COLUMNS = ["table", "rows", "truth", "α before", "interval before", "CPU s", "α after",
           "interval after", "CPU s", "alarms after", "contradictions"]  # fmt: skip


def main() -> None:
    one_thread()
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("old", nargs="?", type=Path, metavar="OLD_SRC")
    options.add_argument("--one", choices=TABLES)
    options.add_argument("--folder", type=Path)
    given = options.parse_args()
    if given.one:
        one(given.one, given.folder)
        return
    rows = []
    for name in TABLES:
        with tempfile.TemporaryDirectory() as place:
            told = make(name, Path(place))
            old, new = before(told, Path(place), given.old), after(name, Path(place))
            rows.append(row(name, told, old, new))
            sys.stderr.write(f"{rows[-1]} {new.get('contradictions')} {new.get('error')}\n")
    command = "python bench/scripts/fifteen_tables.py OLD_SRC"
    text = head("Fifteen tables, before and after", command) + INTRODUCTION
    save("fifteen_tables.md", f"{text}{table(COLUMNS, rows)}")


INTRODUCTION = (
    "`topbin fit --preset fast` on 15 tables whose truth is known: the share of positives among "
    "the unlabeled rows. Intervals are at 95 %. *before* is the last commit with the first "
    "arrangement of the package (7c144f3^, version 0.1). CPU seconds are those of the whole "
    "process, start included, in one run on a busy machine; the checks of the summary are not "
    "counted. *contradictions* are failed checks of "
    "tests/job/test_numbers_agree.py on the summary of the fit after.\n\n"
)

if __name__ == "__main__":
    main()
