"""What the scripts share: the head of a result, tables, and how time and memory are measured."""

import datetime
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from time import perf_counter, process_time

from threadpoolctl import threadpool_limits

from topbin_bench.forms import Grid

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "bench" / "results"


def one_thread() -> None:
    """Limit numerical libraries, here and in child processes, so that times can be compared."""
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    threadpool_limits(1)


@dataclass(frozen=True)
class Cost:
    """Seconds on the clock, seconds of CPU, and peak memory in MB."""

    wall: float
    cpu: float
    peak: float = 0.0


def head(title: str, command: str) -> str:
    """A title and one line that says how to reproduce the numbers."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn"))
    return (
        f"# {title}\n\n"
        f"Command `{command}` · {_cpu()}, {os.cpu_count()} cores, no GPU · "
        f"{datetime.datetime.now(tz=datetime.UTC).date()} · Python {platform.python_version()}, "
        f"{packages}\n\n"
    )


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if "model name" in line]
    return names[0] if names else platform.processor() or platform.machine()


def table(columns: list[str], rows: list[list[object]]) -> str:
    """A markdown table."""
    return Grid(tuple(columns), tuple(tuple(map(str, row)) for row in rows)).render("markdown")


def save(name: str, text: str) -> None:
    """Write the result and show it."""
    (RESULTS / name).write_text(text)
    sys.stdout.write(text)


def cost(work: Callable[[], object], cpu: Callable[[], float] = process_time) -> Cost:
    """What one call costs in this process; the peak is that of the process so far."""
    wall, used = perf_counter(), cpu()
    work()
    return Cost(perf_counter() - wall, cpu() - used, peak_mb())


def best(call: Callable[[], object], repeats: int = 1) -> tuple[float, object]:
    """The shortest wall time of some calls, and what the last one returned."""
    seconds, found = float("inf"), None
    for _ in range(repeats):
        start = perf_counter()
        found = call()
        seconds = min(seconds, perf_counter() - start)
    return seconds, found


def cpu_seconds(call: Callable[..., object], *given: object) -> float:
    """CPU time of one call."""
    start = process_time()
    call(*given)
    return process_time() - start


def peak_mb() -> float:
    """The highest resident memory of this process so far (Linux), in MB."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def whole_process(*command: object) -> Cost:
    """One process from start to end, its output discarded."""
    start = perf_counter()
    process = subprocess.Popen([sys.executable, *map(str, command)], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    wall = perf_counter() - start
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def apart(script: str, *words: object, timeout: float | None = None) -> dict:
    """The last line of a script, as JSON, run in its own process so that its peak is its own."""
    command = [sys.executable, script, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=timeout)
    return json.loads(done.stdout.splitlines()[-1])


def answer(found: object) -> None:
    """Print what `apart` reads: a Cost, or any value of JSON."""
    print(json.dumps(asdict(found) if isinstance(found, Cost) else found))
