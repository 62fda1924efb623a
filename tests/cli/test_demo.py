"""`topbin demo`: a table beside the truth, two pictures, or JSON alone."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest
from click.testing import CliRunner

import topbin
from topbin.cli import main
from topbin.cli.demo import Timed, as_table
from topbin.mpe import METHODS

pytestmark = pytest.mark.usefixtures("rendered")


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "a folder"
    return folder, CliRunner().invoke(main, ["demo", "-o", str(folder), "--json"])


def test_json_has_every_method_beside_the_truth(ran):
    _, result = ran
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    assert [row["method"] for row in answer["methods"]] == list(METHODS)
    assert answer["truth"] == pytest.approx(112 / 469)
    best = next(row for row in answer["methods"] if row["method"] == "bbe_cp")
    assert best["interval"][0] <= answer["truth"] <= best["interval"][1]


def test_the_screen_goes_to_standard_error(ran):
    _, result = ran
    assert "α by method; truth 0.239" in result.stderr
    assert "of the 469 unlabeled are positive" in result.stderr


def test_a_point_outside_its_interval_is_marked_and_the_mark_explained():
    inside = topbin.AlphaEstimate(alpha=0.2, n_p=9, n_u=9, method="bbe", interval=(0.1, 0.3))
    above, none = replace(inside, alpha=0.488), replace(inside, interval=None)
    marked = as_table([Timed(one, 0.1) for one in (inside, above, none)], 0.2)
    plain = as_table([Timed(inside, 0.1), Timed(none, 0.1)], 0.2)
    assert list(marked.columns[1].cells) == ["0.200", "0.488 *", "0.200"]
    assert marked.caption == "* outside the interval that the counts allow"
    assert plain.caption is None


def test_report_candidates_and_pictures_are_written(ran):
    folder, _ = ran
    left = {path.name for path in folder.iterdir()}
    assert {"top_bin.png", "scores.png", "report.html", "candidates.csv", "result.json"} <= left
    for name in ("top_bin.png", "scores.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")


def test_help_lists_the_verbs_without_importing_them():
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    assert "demo" in result.stdout
    assert "Exit codes: 0 done" in result.stdout


def test_an_unknown_verb_is_wrong_use():
    assert CliRunner().invoke(main, ["nope"]).exit_code == 2


def test_the_module_can_be_run():
    done = subprocess.run(
        [sys.executable, "-m", "topbin", "--version"], capture_output=True, text=True, check=True
    )
    assert topbin.__version__ in done.stdout
