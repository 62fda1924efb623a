"""Run every benchmark script that needs no data folder, one after the other."""

import subprocess
import sys
from pathlib import Path

NOT_HERE = {"report.py", "samples.py", "rivals_worker.py", "run_all.py"}


def main() -> None:
    here = Path(__file__).parent
    for script in sorted(here.glob("*.py")):
        if script.name not in NOT_HERE and "TOPBIN_DATA" not in script.read_text():
            print(f"== {script.name}", flush=True)
            subprocess.run([sys.executable, str(script)], check=True)


if __name__ == "__main__":
    main()
