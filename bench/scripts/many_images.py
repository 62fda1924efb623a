"""100,000 small photographs to a report: what that costs, and how much memory it takes.

    TOPBIN_DATA=folder OMP_NUM_THREADS=1 python bench/scripts/many_images.py

Animals of CIFAR-10 are positive, vehicles negative. CIFAR-10 has 60,000 photographs; 40,000 of
them are written once more, mirrored. `topbin fit` reads the PNG files of 32 × 32 pixels from two
folders, in a process of its own. Its memory, and that of the processes that it starts, is read five
times per second and added up.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, sleep

import numpy as np
import psutil
from image_folders import write
from report import head, save, table

from topbin_bench.tasks import cifar

ANIMALS = 2, 3, 4, 5, 6, 7
FILES, KNOWN = 100_000, 20_000


def draw() -> tuple[np.ndarray, np.ndarray, float]:
    """Known positives, unlabeled photographs, and the share of the latter that is positive."""
    parts = [cifar.load(part) for part in ("train", "test")]
    pixels = np.concatenate([images for images, _ in parts]).transpose(0, 2, 3, 1)
    classes = np.concatenate([classes for _, classes in parts])
    mirrored = slice(FILES - len(pixels))
    pixels = np.concatenate([pixels, pixels[mirrored, :, ::-1]])
    is_animal = np.isin(np.concatenate([classes, classes[mirrored]]), ANIMALS)
    order = np.random.default_rng(0).permutation(FILES)
    known = order[is_animal[order]][:KNOWN]
    rest = np.setdiff1d(order, known)
    return pixels[known], pixels[rest], float(is_animal[rest].mean())


def watched(command: list[str]) -> dict[str, float]:
    """Seconds, CPU seconds and the highest memory of a command, in MB: its own, and of all."""
    started, own, together, used = perf_counter(), 0.0, 0.0, 0.0
    process = subprocess.Popen(command)
    seen = psutil.Process(process.pid)
    while process.poll() is None:
        try:
            family = [seen, *seen.children(recursive=True)]
            sizes = [one.memory_info().rss / 2**20 for one in family]
            times = seen.cpu_times()
        except psutil.Error:  # one of them has just ended
            continue
        own, together = max(own, sizes[0]), max(together, sum(sizes))
        used = max(used, sum(times[:4]))
        sleep(0.2)
    assert process.returncode == 0, command
    return {"seconds": perf_counter() - started, "cpu": used, "own": own, "together": together}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        known, rest, truth = draw()
        write(root / "known", known)
        write(root / "rest", rest)
        command = [sys.executable, "-m", "topbin", "fit", str(root / "rest"), "--quiet"]
        cost = watched([*command, "--positives", str(root / "known"), "-o", str(root / "run")])
        found = json.loads((root / "run" / "result.json").read_text("utf-8"))["estimate"]
    low, high = found["interval"]
    text = head("Many small photographs", "python bench/scripts/many_images.py")
    text += (
        f"`topbin fit` with the default plan and encoder, on {KNOWN:,} known positives and "
        f"{FILES - KNOWN:,} unlabeled PNG files of 32 × 32 pixels, from an empty cache. Memory is "
        "that of the command, and with the processes that it starts; pages that these share "
        "with it are counted again.\n\n"
    )
    columns = ["minutes", "CPU minutes", "memory, MB", "with helpers, MB", "α", "α̂", "interval"]
    row = [
        f"{cost['seconds'] / 60:.0f}", f"{cost['cpu'] / 60:.0f}", f"{cost['own']:,.0f}",
        f"{cost['together']:,.0f}", f"{truth:.3f}", f"{found['alpha']:.3f}",
        f"{low:.3f} to {high:.3f}",
    ]  # fmt: skip
    save("many_images.md", text + table(columns, [row]))


if __name__ == "__main__":
    main()
