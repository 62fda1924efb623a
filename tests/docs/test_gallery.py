"""Every notebook of the gallery starts from a question, ends with a sentence, and is in the README.

`make docs` runs them; here they are only read.
"""

import ast
import re
import sys
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import run_gallery  # noqa: E402

NAMES = run_gallery.ORDER
# Confidence of all intervals; how a page and its code speak of a fixed thing.
TYPED = {"95"}
NUMBER = re.compile(r"\d[\d.,]*\d")


def cells(name):
    return list(run_gallery.cells_of((ROOT / f"docs/gallery/{name}.py").read_text("utf-8")))


def test_every_source_is_in_the_list():
    assert sorted(NAMES) == sorted(path.stem for path in (ROOT / "docs/gallery").glob("*.py"))
    assert len(NAMES) >= 8


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_parses_and_loses_no_line(name):
    text = (ROOT / f"docs/gallery/{name}.py").read_text("utf-8")
    assert text.startswith("# %% [markdown]\n# # ")
    assert len(re.findall(r"^# %%", text, re.M)) == len(cells(name))
    for cell in cells(name):
        assert cell["source"]
        if cell["cell_type"] == "code":
            ast.parse(cell["source"])


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_opens_with_a_question_and_closes_with_a_sentence(name):
    assert run_gallery.title_of(ROOT / f"docs/gallery/{name}.py").endswith("?")
    (place,) = (i for i, one in enumerate(cells(name)) if "sentence" in one["metadata"]["tags"])
    before, closing, *rest = cells(name)[place - 1 :]
    assert before["source"].endswith("## A sentence for the report")
    assert closing["source"].endswith('."\n)')
    assert len(rest) in (0, 2), "only the truth may follow"


@pytest.mark.parametrize("name", NAMES)
def test_numbers_in_prose_come_from_variables(name):
    prose = (re.sub(r"`[^`]*`|\([^)\s]*\)", "", one["source"])  # not commands, not links
             for one in cells(name) if one["cell_type"] == "markdown")  # fmt: skip
    assert {number for text in prose for number in NUMBER.findall(text)} <= TYPED


def test_no_notebook_reads_a_network_or_data_beside_the_repository():
    for name in NAMES:
        code = "\n".join(one["source"] for one in cells(name) if one["cell_type"] == "code")
        assert not re.search(r"fetch_|https?:|shared|open_url|read_csv\(", code)


def test_the_readme_and_the_menu_list_the_gallery():
    readme = (ROOT / "README.md").read_text("utf-8")
    linked = re.findall(r"\(docs/images/gallery/(\w+)\.png\)\]\(docs/gallery/(\w+)\.py\)", readme)
    assert linked == [(name, name) for name in NAMES]
    menu = re.findall(r"gallery/(\w+)\.md", (ROOT / "mkdocs.yml").read_text("utf-8"))
    assert menu == ["index", *NAMES]
    for name in NAMES:
        assert run_gallery.title_of(ROOT / f"docs/gallery/{name}.py") in readme


@pytest.mark.parametrize("name", NAMES)
def test_a_small_picture_is_small(name):
    path = run_gallery.THUMBNAILS / f"{name}.png"
    assert path.stat().st_size <= 25_000
    with Image.open(path) as picture:
        assert picture.size == run_gallery.SIZE
