"""The page about the posterior says what the net and its prior are, and shows what was drawn."""

import re
from pathlib import Path

import numpy as np
import pytest

from topbin.core import LEVELS
from topbin.core.evidence import VARIANCE_FACTOR
from topbin.mpe import SHARES, SIZES_P, SIZES_U, load_net

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/explanation/overlap.md").read_text(encoding="utf-8")
SCRIPT = (ROOT / "bench/scripts/train_overlap.py").read_text(encoding="utf-8")
SHOTS = (ROOT / "docs/make_screenshots.py").read_text(encoding="utf-8")
PICTURES = [
    (path, name)
    for path in sorted((ROOT / "docs").rglob("*.md"))
    for name in re.findall(r"!\[[^]]*\]\(([^)]+)\)", path.read_text(encoding="utf-8"))
]


def number_of(form):
    """The only number in the page, or in the script, that has these words around it."""
    found = re.findall(form, " ".join(PAGE.split()))
    assert len(found) == 1, form
    return found[0]


def test_the_prior_is_what_the_page_says():
    names = np.load(ROOT / "bench/results/overlap_curves.npz")["names"]
    sets, fits = number_of(r"(\d+) data sets with ([\d,]+) fits")
    assert int(sets) == np.unique(names).size, "run: python docs/make_overlap.py"
    assert int(fits.replace(",", "")) == names.size


def test_the_net_is_what_the_page_says():
    net = load_net()
    assert int(number_of(r"ratios q_u/t at (\d+) cuts")) == SHARES.size
    assert int(number_of(r"answers with (\d+) quantiles of α, from .001 to .999")) == len(LEVELS)
    assert (LEVELS[0], LEVELS[-1]) == (0.001, 0.999)
    assert len(net.layers) == 4  # three hidden layers
    assert int(number_of(r"Three hidden layers of (\d+) numbers")) == len(net.layers[0][1])
    assert int(number_of(r"none of (\d+) typical curves")) == len(net.curves)
    assert float(number_of(r"they count as ([\d.]+) times fewer rows")) == VARIANCE_FACTOR
    assert (
        number_of(r"up to ([\d,]+) positives and a million").replace(",", "") == f"{SIZES_P[1]:g}"
    )
    assert SIZES_U[1] == 1e6


def test_it_was_trained_as_the_page_says():
    rounds, size = number_of(r"(\d+) rounds of ([\d,]+) simulations")
    assert f"rounds: int = {rounds}, size: int = {size.replace(',', '_')}" in SCRIPT
    commands = re.findall(r"python bench/scripts/train_overlap.py (\w+)", PAGE)
    assert commands == re.findall(r"^    python bench/scripts/train_overlap.py (\w+)", SCRIPT, re.M)


@pytest.mark.parametrize(("alpha", "h"), re.findall(r"\| (\.\d+) \| (none|\d+ %) \|", PAGE))
def test_every_row_of_the_first_table_gives_the_same_counts(alpha, h):
    share = 0.0 if h == "none" else float(h.split()[0]) / 100
    assert float(alpha) * 0.5 + (1 - float(alpha)) * share == pytest.approx(0.2, abs=0.005)


@pytest.mark.parametrize(("page", "name"), PICTURES, ids=lambda part: getattr(part, "name", part))
def test_a_picture_exists(page, name):
    assert (page.parent / name).is_file()


@pytest.mark.parametrize("name", re.findall(r'"(\w+\.png)"', SHOTS))
def test_a_screenshot_is_small_and_used(name):
    assert name in {Path(used).name for _, used in PICTURES}
    assert (ROOT / "docs/images" / name).stat().st_size < 150_000
