"""The benchmark and its scripts use only what topbin exports."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted([*ROOT.glob("src/**/*.py"), *ROOT.glob("scripts/*.py")])
# The documented submodules; everything below them is private.
PUBLIC = ("topbin", *(f"topbin.{name}" for name in (
    "core", "data", "engines", "evaluate", "learn", "mpe", "show", "store",
)))  # fmt: skip


def private_names(code):
    """Names of topbin in this code that no public module exports."""
    tree = ast.parse(code)
    modules, used = {}, []  # which module a local name is; (module, name) pairs
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "topbin":
                    used.append((alias.name, None))
                    modules[alias.asname or "topbin"] = alias.name if alias.asname else "topbin"
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "topbin":
            for alias in node.names:
                used.append((node.module, alias.name))
                modules[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = modules.get(node.value.id)
            if module in PUBLIC:
                used.append((module, node.attr))
    return [pair for pair in used if not is_public(*pair)]


def is_public(module, name):
    return module in PUBLIC and (name in (None, "__all__") or name in import_module(module).__all__)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_only_public_names_are_used(path):
    assert private_names(path.read_text()) == []


@pytest.mark.parametrize(
    "code",
    [
        "from topbin.mpe.bbe import bbe",
        "from topbin.mpe import geometric_ranks",
        "import topbin.core.atomic",
        "from topbin import cli",
        "from topbin import mpe\nmpe.dkw_slack",
        "import topbin as tb\ntb.job",
    ],
)
def test_a_private_name_is_found(code):
    assert private_names(code)


def test_public_names_pass():
    assert not private_names("import topbin as tb\nfrom topbin.mpe import bbe\ntb.fit, tb.mpe, bbe")
