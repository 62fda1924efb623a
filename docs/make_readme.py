"""Write what the README shows: the output of its first example, and the picture of the top bin.

    python docs/make_readme.py

Also the lines that docs/how-to/biased-labels.md shows of its fit.
"""

import contextlib
import io
import re
import shlex
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from click.testing import CliRunner

import topbin as tb
from topbin.cli import main

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PICTURE = ROOT / "docs/images/top_bin.png"
BIASED = ROOT / "docs/how-to/biased-labels.md"
KEPT = re.compile(r"^(?:α =|\d+ % interval|if selective|tipping point).*\n", re.M)  # of its output
FIRST = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.S)


def first_example() -> tuple[str, str]:
    """The first example of the README, and the output that is printed below it."""
    found = FIRST.search(README.read_text(encoding="utf-8"))
    assert found is not None
    return found[1], found[2]


def run(code: str) -> str:
    """What an example prints."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(code, {})
    return said.getvalue()


def draw() -> None:
    """The top bin of simulated scores: 2,000 known positives, 20,000 unlabeled, α = .25."""
    rng = np.random.default_rng(0)
    scores_p = rng.normal(1.5, 1, 2000)
    scores_u = np.r_[rng.normal(1.5, 1, 5000), rng.normal(-1.5, 1, 15000)]
    display = tb.TopBinDisplay.from_scores(scores_p, scores_u).plot()
    display.figure_.savefig(PICTURE, dpi=130, bbox_inches="tight")


def write_output() -> None:
    """Put what the first example prints below it."""
    code, shown = first_example()
    text = README.read_text(encoding="utf-8")
    before, after = (f"{code}```\n\n```text\n{output}```" for output in (shown, run(code)))
    README.write_text(text.replace(before, after), encoding="utf-8")


def write_biased() -> None:
    """Put some of the lines that the fit of the page about biased labels prints into the page."""
    text = BIASED.read_text(encoding="utf-8")
    code, command, shown = (
        re.findall(rf"```{kind}\n(.*?)```", text, re.S)[0] for kind in ("python", "bash", "text")
    )
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        run(code)
        said = CliRunner().invoke(main, shlex.split(command)[1:]).output
    BIASED.write_text(text.replace(shown, "".join(KEPT.findall(said))), encoding="utf-8")


if __name__ == "__main__":
    write_output()
    write_biased()
    draw()
