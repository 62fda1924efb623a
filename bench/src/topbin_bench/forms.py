"""A table of text, written as markdown, LaTeX or csv."""

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Form = Literal["markdown", "latex", "csv"]


@dataclass(frozen=True, slots=True)
class Grid:
    """A finished table: a header and rows of text."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def render(self, form: Form) -> str:
        """As markdown, LaTeX or csv."""
        return FORMS[form](self)

    def records(self) -> list[dict[str, str]]:
        """One dictionary per row."""
        return [dict(zip(self.header, row, strict=True)) for row in self.rows]


def _markdown(grid: Grid) -> str:
    lines = [grid.header, ("---",) * len(grid.header), *grid.rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _latex(grid: Grid) -> str:
    columns = "l" + "r" * (len(grid.header) - 1)
    body = [" & ".join(map(_tex, line)) + r" \\" for line in (grid.header, *grid.rows)]
    body.insert(1, r"\midrule")
    top = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
    return "\n".join([*top, *body, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _tex(text: str) -> str:
    if text.startswith("**"):
        return rf"\textbf{{{_tex(text.strip('*'))}}}"
    signs = {"_": r"\_", "%": r"\%", "±": r"$\pm$", "α": r"$\alpha$", "ⁿ": "$^n$", "–": "--"}
    return "".join(signs.get(letter, letter) for letter in text)


def _csv(grid: Grid) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(grid.header)
    writer.writerows([cell.strip("*") for cell in row] for row in grid.rows)
    return text.getvalue()


FORMS: dict[Form, Callable[[Grid], str]] = {"markdown": _markdown, "latex": _latex, "csv": _csv}
