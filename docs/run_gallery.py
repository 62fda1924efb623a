"""Run the notebooks of docs/gallery, and bring them into the site with their output.

    python docs/run_gallery.py                                    # all; renews the small pictures
    python docs/run_gallery.py docs/gallery/fraud.py fraud.ipynb  # one

The sources are Python files in the percent format, which Jupyter opens with jupytext. `make docs`
runs each of them in a process of its own, without a kernel; a cell that fails stops the build. What
a cell prints, its pictures and the value of its last line are shown below it, as Jupyter does. Two
tags mean something here: the picture of the cell `thumbnail` is shown small on the front page of
the gallery and in the README, and what the cell `sentence` prints is shown as a quotation.
"""

import ast
import base64
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
ORDER = [
    "fraud",
    "undiagnosed",
    "documents",
    "photographs",
    "satellite",
    "biased",
    "scores",
    "paper",
]
SOURCES = [DOCS / "gallery" / f"{name}.py" for name in ORDER]
THUMBNAILS = DOCS / "images/gallery"
SIZE = 400, 250  # pixels of a small picture
CELL = re.compile(r"^# %%(?: \[(markdown)\])?(?: tags=(\[.*\]))?\n", re.M)
PATIENCE = 600  # seconds; a notebook that takes longer hangs
Cell = dict[str, Any]  # of a notebook file, as Jupyter defines it
Notebook = dict[str, Any]


def cells_of(text: str) -> Iterator[Cell]:
    """The cells of a source, without output."""
    _, *parts = CELL.split(text)
    for kind, tags, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        about = {"metadata": {"tags": json.loads(tags or "[]")}}
        if kind == "markdown":
            prose = re.sub(r"^# ?", "", body.strip(), flags=re.M)
            yield about | {"cell_type": "markdown", "source": prose}
        else:
            empty = {"execution_count": None, "outputs": []}
            yield about | {"cell_type": "code", "source": body.strip()} | empty


def title_of(source: Path) -> str:
    """The question of a notebook."""
    return next(cells_of(source.read_text(encoding="utf-8")))["source"].splitlines()[0][2:]


def run(source: Path) -> Notebook:
    """The notebook with its outputs, run in the folder where this process is."""
    cells, namespace = list(cells_of(source.read_text(encoding="utf-8"))), {"__name__": "__main__"}
    for number, cell in enumerate(cells, 1):
        if cell["cell_type"] == "code":
            place = f"{source.name}, cell {number}"
            cell["outputs"] = list(outputs_of(cell["source"], namespace, place))
    about = {"cpu_seconds": round(time.process_time(), 1), "language_info": {"name": "python"}}
    return {"nbformat": 4, "nbformat_minor": 4, "metadata": about, "cells": cells}


def outputs_of(code: str, namespace: dict[str, Any], place: str) -> Iterator[Cell]:
    """Run a cell; what it printed, the figures it drew, or else the value of its last line."""
    import matplotlib.pyplot as plt

    tree, value, said = ast.parse(code), None, io.StringIO()
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(said):
        exec(compile(tree, place, "exec"), namespace)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), place, "eval"), namespace)
    if said.getvalue():
        yield {"output_type": "stream", "name": "stdout", "text": said.getvalue()}
    figures = [plt.figure(number) for number in plt.get_fignums()]
    for figure in figures:
        alt = {"image/png": {"alt": alt_of(figure)}}
        shown = {"image/png": png(figure), "text/plain": alt_of(figure)}
        yield {"output_type": "display_data", "data": shown, "metadata": alt}
    plt.close("all")
    if value is not None and not figures:
        shown = {"text/plain": repr(value)}
        if hasattr(value, "_repr_html_"):
            shown["text/html"] = value._repr_html_()
        result = {"output_type": "execute_result", "execution_count": None}
        yield result | {"data": shown, "metadata": {}}


def alt_of(figure: Any) -> str:
    """What a picture shows, for those who cannot see it: the title of the figure or of its axes."""
    titles = [figure.get_suptitle(), *(axis.get_title() for axis in figure.axes)]
    return "; ".join(" ".join(title.split()) for title in titles if title)


def png(figure: Any) -> str:
    """A figure as base64."""
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=110, bbox_inches="tight", facecolor="white")
    return base64.b64encode(data.getvalue()).decode()


def run_apart(source: Path) -> Notebook:
    """The same in an empty folder and a process of its own, on one core."""
    with tempfile.TemporaryDirectory() as folder:
        done = Path(folder) / source.with_suffix(".ipynb").name
        one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        kept = {"MPLBACKEND": "agg", "TOPBIN_CACHE": folder}
        subprocess.run(
            [sys.executable, __file__, source, done],
            cwd=folder, env=os.environ | one | kept, timeout=PATIENCE, check=True,
        )  # fmt: skip
        return json.loads(done.read_text(encoding="utf-8"))


def run_all() -> dict[str, Notebook]:
    """Every notebook by name, as many at once as there are cores."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(ORDER, pool.map(run_apart, SOURCES), strict=True))


def page_of(name: str, notebook: Notebook) -> tuple[str, dict[str, bytes]]:
    """A notebook as Markdown, and its pictures by file name."""
    parts, pictures = [], {}
    for cell in notebook["cells"]:
        prose = cell["cell_type"] == "markdown"
        parts.append(cell["source"] if prose else fenced(cell["source"], "python"))
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "sentence" in cell["metadata"]["tags"]:
                parts.append(re.sub("^", "> ", output["text"].strip(), flags=re.M))
            elif output["output_type"] == "stream":
                parts.append(fenced(output["text"].rstrip(), "{.text .output}"))
            elif "image/png" in data:
                file = f"{name}_{len(pictures) + 1}.png"
                pictures[file] = base64.b64decode(data["image/png"])
                parts.append(f"![{data['text/plain']}]({file})")
            elif "text/html" in data:
                parts.append(f'<div class="output">{data["text/html"]}</div>')
            else:
                parts.append(fenced(data["text/plain"], "{.text .output}"))
    seconds = f"{notebook['metadata']['cpu_seconds']:.0f} CPU seconds"
    parts.append(
        f"*This page is a notebook: [open it in Jupyter]({name}.ipynb). It took {seconds}.*"
    )
    return "\n\n".join(parts) + "\n", pictures


def fenced(text: str, kind: str) -> str:
    """A block of code."""
    return f"```{kind}\n{text}\n```"


def front_page() -> str:
    """All questions, with the small pictures."""
    cards = (
        f'<a href="{one.stem}.html"><img src="../images/gallery/{one.stem}.png" alt="">'
        f"{title_of(one)}</a>"
        for one in SOURCES
    )
    about = (
        "Each page is a notebook that answers one question, on data that everybody has or that the "
        "page makes. It was run when this site was built, and ends with a sentence for a report."
    )
    return f'# Gallery\n\n{about}\n\n<div class="gallery">{"".join(cards)}</div>\n'


def on_files(files: Any, config: Any) -> Any:
    """Add every notebook to the site: the page, its pictures and the file for Jupyter."""
    from mkdocs.structure.files import File

    made: dict[str, str | bytes] = {"index.md": front_page()}
    for name, notebook in run_all().items():
        page, pictures = page_of(name, notebook)
        made |= {f"{name}.md": page, f"{name}.ipynb": json.dumps(notebook), **pictures}
    for file, content in made.items():
        files.append(File.generated(config, f"gallery/{file}", content=content))
    return files


def thumbnail(notebook: Notebook, target: Path) -> None:
    """The first picture of the tagged cell, small, on a white ground."""
    from PIL import Image, ImageOps

    (cell,) = (one for one in notebook["cells"] if "thumbnail" in one["metadata"]["tags"])
    data = next(one["data"]["image/png"] for one in cell["outputs"] if "data" in one)
    large = Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")
    small = ImageOps.pad(large, SIZE, Image.Resampling.LANCZOS, color="white")
    small.quantize(64).save(target, optimize=True)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        notebook = run(Path(sys.argv[1]))
        Path(sys.argv[2]).write_text(json.dumps(notebook), encoding="utf-8")
    else:
        THUMBNAILS.mkdir(exist_ok=True)
        for name, notebook in run_all().items():
            thumbnail(notebook, THUMBNAILS / f"{name}.png")
