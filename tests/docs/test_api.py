"""The page of public names is what the package says of itself, and its examples run."""

import ast
import doctest
import os
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import make_api  # noqa: E402

PUBLIC, PARTS = (
    (ROOT / "docs/reference" / name).read_text(encoding="utf-8")
    for name in ("api.md", "research.md")
)
PAGE = PUBLIC + PARTS
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
SECTION = re.compile(r"^### `([\w.]+)`\n((?:(?!^##).*\n)*)", re.M)
EXAMPLES = {
    path: text.split("```python\n")[1].split("```")[0]
    for path, text in SECTION.findall(PAGE)
    if "```python" in text
}
NEED_TORCH = {"topbin.NNPUClassifier", "topbin.UPUClassifier"} | {
    f"topbin.learn.{name}"
    for name in (
        "NETS", "Optim", "TorchBackend", "build_net", "crop_and_flip", "default_optim",
        "logit_of", "mean_losses",
    )
}  # fmt: skip
# Names whose shape is still being decided. The list only gets shorter.
WITHOUT_EXAMPLE = {"topbin.store": {"load_encoder"}}


def test_the_page_is_up_to_date():
    assert make_api.page() == PUBLIC, "run: python docs/make_api.py"
    assert make_api.page(make_api.RESEARCH, make_api.RESEARCH_HEAD) == PARTS
    assert len(SECTION.findall(PUBLIC)) <= 90  # what people have to know


def test_every_name_of_the_stub_is_there():
    tree = ast.parse((ROOT / "src/topbin/__init__.pyi").read_text())
    names = [a.asname for node in tree.body if isinstance(node, ast.ImportFrom) for a in node.names]
    rooms = " ".join(make_api.ROOMS)
    assert [n for n in names if f"### `topbin.{n}`" not in PAGE and f".{n}" not in rooms] == []


def test_every_name_has_a_line_and_an_example():
    entries = make_api.entries()
    assert [entry.path for entry in entries if not entry.line] == []
    missing = {entry.path for entry in entries if not entry.example}
    allowed = {f"{room}.{name}" for room, names in WITHOUT_EXAMPLE.items() for name in names}
    assert missing - allowed == set()


def test_an_example_imports_public_names_only():
    rooms = {*make_api.ROOMS, "topbin.evaluate"}
    used = set(re.findall(r"from (topbin[\w.]*) import", PAGE))
    assert used - rooms == set()


@pytest.mark.parametrize("path", EXAMPLES)
def test_the_example_runs(path, tmp_path, monkeypatch):
    if path in NEED_TORCH:
        pytest.importorskip("torch", reason='needs pip install "topbin[torch]"')
    monkeypatch.chdir(tmp_path)
    found = doctest.DocTestParser().get_doctest(EXAMPLES[path], {}, path, None, 0)
    runner, said = doctest.DocTestRunner(optionflags=FLAGS), []
    assert runner.run(found, out=said.append).failed == 0, "".join(said)
    assert os.getcwd() == str(tmp_path)
