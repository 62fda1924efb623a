"""What a release is made of: the version is in one place, workflows and recipe can be read."""

import re
import tomllib
from pathlib import Path

import jinja2
import pytest

import topbin

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text()) for path in
             sorted((ROOT / ".github/workflows").glob("*.yml"))}  # fmt: skip
TARGETS = set(re.findall(r"^(\S+):", (ROOT / "Makefile").read_text(), re.M))


def rendered_recipe():
    def load_file_regex(load_file, regex_pattern, from_recipe_dir):
        return re.search(regex_pattern, (ROOT / "conda" / load_file).read_text())

    def load_file_data(load_file, from_recipe_dir):
        return tomllib.loads((ROOT / "conda" / load_file).read_text())

    text = (ROOT / "conda/meta.yaml").read_text()
    template = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(text)
    given = {"load_file_regex": load_file_regex, "load_file_data": load_file_data}
    return yaml.safe_load(template.render(**given))


def test_the_version_is_written_once():
    assert "version" in PROJECT["dynamic"]
    files = [ROOT / name for name in ("pyproject.toml", "CITATION.cff", "conda/meta.yaml")]
    assert not [path.name for path in files if topbin.__version__ in path.read_text()]


def test_the_recipe_has_the_version_and_the_dependencies_of_the_package():
    recipe = rendered_recipe()
    assert recipe["package"] == {"name": "topbin", "version": topbin.__version__}
    other = {"duckdb": "python-duckdb", "matplotlib": "matplotlib-base"}
    named = [re.split("(?=[<>=])", each, maxsplit=1) for each in PROJECT["dependencies"]]
    wanted = [other.get(name, name) + limits for name, limits in named]
    assert recipe["requirements"]["run"] == [f"python {PROJECT['requires-python']}", *wanted]
    (script,) = recipe["build"]["entry_points"]
    assert dict([script.split(" = ")]) == PROJECT["scripts"]


def test_workflows_test_three_systems_and_the_ends_of_the_ranges():
    jobs = WORKFLOWS["tests"]["jobs"]
    matrix = jobs["pinned"]["strategy"]["matrix"]
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
    least = PROJECT["requires-python"].removeprefix(">=")
    assert matrix["python"][0] == least
    assert "make test-lowest" in [step.get("run") for step in jobs["lowest"]["steps"]]
    plain = [step.get("run", "") for step in jobs["newest"]["steps"]]
    assert not any("constraints" in line or "==" in line for line in plain)  # nothing is held back
    told = {c.split(" :: ")[-1] for c in PROJECT["classifiers"] if " :: Python :: 3." in c}
    assert told
    assert told <= set(matrix["python"])  # no Python is named that no workflow tests


def test_a_tag_publishes_only_what_was_tested_and_without_a_password():
    release = WORKFLOWS["release"]
    publish = release["jobs"]["publish"]
    assert set(publish["needs"]) == {"tests", "build"}
    assert publish["permissions"] == {"id-token": "write"}
    assert release[True] == {"push": {"tags": ["v*"]}}  # YAML reads the key `on` as true
    assert "secrets." not in (ROOT / ".github/workflows/release.yml").read_text()


@pytest.mark.parametrize("name", WORKFLOWS)
def test_workflows_call_targets_that_exist(name):
    steps = [step for job in WORKFLOWS[name]["jobs"].values() for step in job.get("steps", ())]
    called = [line for step in steps for line in re.findall(r"^make (\S+)", step.get("run", ""))]
    assert set(called) <= TARGETS
    assert all(("uses" in step) != ("run" in step) for step in steps)


def test_extras_that_install_commands_name_exist():
    commands = [(ROOT / "Makefile").read_text(), (ROOT / ".github/workflows/tests.yml").read_text()]
    named = {extra for text in commands for found in re.findall(r"\.\[([\w,]+)\]", text)
             for extra in found.split(",")}  # fmt: skip
    assert named <= set(PROJECT["optional-dependencies"])
    assert named


def test_a_package_has_one_lowest_version():
    """Of two, `make test-lowest` could install neither."""
    texts = [(ROOT / name).read_text() for name in ("pyproject.toml", "bench/pyproject.toml")]
    found = {pair for text in texts for pair in re.findall(r'"([\w-]+)>=([0-9.]+)', text)}
    names = [name for name, _ in found]
    assert len(names) > 30
    assert len(names) == len(set(names)), sorted(found)
