"""What `import topbin` and `topbin --help` cost beyond what users import anyway."""

import subprocess
import sys
from statistics import median
from time import perf_counter

from machine import head, save, table

BASE = "import numpy, scipy, scipy.stats, sklearn, sklearn.base"
CASES = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "numpy + scipy + scikit-learn": [sys.executable, "-c", BASE],
    "the same + import topbin": [sys.executable, "-c", f"{BASE}; import topbin"],
    "the same + topbin.estimate_alpha": [
        sys.executable, "-c", f"{BASE}; import topbin; topbin.estimate_alpha",
    ],
    "topbin --help": [sys.executable, "-m", "topbin", "--help"],
}  # fmt: skip
REPEATS = 15


def seconds(command: list[str]) -> float:
    start = perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return perf_counter() - start


def main() -> None:
    runs = {name: [] for name in CASES}
    for _ in range(REPEATS):
        for name, command in CASES.items():
            runs[name].append(seconds(command))
    base = median(runs["numpy + scipy + scikit-learn"])
    rows = [
        [name, f"{median(times):.3f}", f"{min(times):.3f}", f"{median(times) - base:+.3f}"]
        for name, times in runs.items()
    ]
    text = head("Start-up", "python bench/scripts/start_up.py")
    text += f"Whole process, median and best of {REPEATS} alternating runs, in seconds.\n\n"
    columns = ["process", "median s", "best s", "beyond numpy + scipy + scikit-learn"]
    save("start_up.md", text + table(columns, rows))


if __name__ == "__main__":
    main()
