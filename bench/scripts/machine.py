"""The head that every committed result carries: command, machine, date, versions."""

import datetime
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path

RESULTS = Path(__file__).parents[1] / "results"


def head(title: str, command: str) -> str:
    """A title and one line that says how to get the numbers again."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn"))
    return (
        f"# {title}\n\n"
        f"Command `{command}` · {_cpu()}, {os.cpu_count()} cores, no GPU · "
        f"{datetime.datetime.now(tz=datetime.UTC).date()} · Python {platform.python_version()}, "
        f"{packages}\n\n"
    )


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return platform.processor() or platform.machine()
    return next(
        (
            line.split(":", 1)[1].strip()
            for line in info.read_text().splitlines()
            if "model name" in line
        ),
        platform.machine(),
    )


def table(columns: list[str], rows: list[list[object]]) -> str:
    """A markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


def save(name: str, text: str) -> None:
    """Write the result and show it."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / name).write_text(text)
    sys.stdout.write(text)
