"""What `import topbin` and `topbin --help` cost beyond what users import anyway."""

from statistics import median

from report import head, save, table, whole_process

BASE = "import numpy, scipy, scipy.stats, sklearn, sklearn.base"
CASES = {
    "python -c pass": ["-c", "pass"],
    "numpy + scipy + scikit-learn": ["-c", BASE],
    "the same + import topbin": ["-c", f"{BASE}; import topbin"],
    "the same + topbin.estimate_alpha": ["-c", f"{BASE}; import topbin; topbin.estimate_alpha"],
    "topbin --help": ["-m", "topbin", "--help"],
}
REPEATS = 15


def main() -> None:
    runs = {name: [] for name in CASES}
    for _ in range(REPEATS):
        for name, command in CASES.items():
            runs[name].append(whole_process(*command).wall)
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
