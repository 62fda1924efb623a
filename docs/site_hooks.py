"""Bring pages from outside docs/ into the site, with their links, and refuse requests to a network.

In the repository a link such as `../../bench/results/posterior.md` leads to a file. On the site,
docs/ is the root, so the same file is at `bench/results/posterior.md`.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
OUTSIDE = (
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "bench/results/**/*.md",
    "bench/results/*.csv",
)
REMOTE = re.compile(r"<(?!a\b)[^>]*\b(?:src|href|srcset|data)=[\"']?(?:https?:)?//[^>]*>")
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages outside docs/ that others link to."""
    for pattern in OUTSIDE:
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Rewrite the links that cross the border of docs/, in either direction."""
    source = page.file.abs_src_path  # None: a page of the gallery, which is made
    inside = source is None or Path(source).is_relative_to(ROOT / "docs")
    here = posixpath.dirname(("docs/" if inside else "") + page.file.src_uri)

    def on_site(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(here, link[1]))
        if target.startswith("docs/") == inside:
            return link[0]
        start = posixpath.dirname(page.file.src_uri)
        return f"]({posixpath.relpath(target.removeprefix('docs/'), start or '.')}{link[2] or ''})"

    return LINK.sub(on_site, markdown)


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Refuse a page that would fetch something from a network; links for readers are fine."""
    if found := REMOTE.search(output):
        raise PluginError(f"{page.file.src_uri} would fetch from a network: {found[0]}")
    return output
