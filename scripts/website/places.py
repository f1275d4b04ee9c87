"""Which file of the project becomes which page, and what becomes of links between them."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]

WHOLE = {
    "docs/command.md": "guides/command.md",
    "docs/own-data.md": "guides/own-images.md",
    "docs/playground.md": "guides/playground.md",
    "docs/layers.md": "guides/layers.md",
    "docs/adapt.md": "guides/adapt.md",
    "docs/threshold.md": "guides/threshold.md",
    "docs/verdict.md": "guides/verdict.md",
    "docs/data-doctor.md": "guides/data-doctor.md",
    "docs/gpu.md": "guides/gpu.md",
    "docs/extending.md": "guides/extending.md",
    "docs/installation.md": "guides/installation.md",
    "docs/classroom.md": "lessons/classroom.md",
    "docs/foreign-loops.md": "guides/own-loop.md",
    "docs/several-processes.md": "guides/several-processes.md",
    "docs/clusters.md": "guides/clusters.md",
    "docs/failures.md": "guides/failures.md",
    "docs/large-galleries.md": "guides/large-galleries.md",
    "docs/streamed-data.md": "guides/streamed-data.md",
    "docs/dashboard.md": "guides/dashboard.md",
    "docs/exports.md": "guides/exports.md",
    "docs/serving.md": "guides/serving.md",
    "docs/kernels.md": "guides/kernels.md",
    "docs/reliability.md": "results/reliability.md",
    "docs/intervals.md": "results/intervals.md",
    "docs/claims.md": "results/claims.md",
    "docs/tricks.md": "results/tricks.md",
    "docs/misprints.md": "results/misprints.md",
    "docs/benchmarks.md": "results/benchmarks.md",
    "notebooks/SYLLABUS.md": "lessons/teaching.md",
    "CONTRIBUTING.md": "guides/contributing.md",
    "SECURITY.md": "guides/security.md",
    "CHANGELOG.md": "changelog.md",
}
"""Files that are pages as they stand."""

SECTIONS = {
    "guides/quick-start.md": (
        "Quick start", "README.md",
        ("By pip", "Two commands, from a checkout", "What you see", "Commands", "In Python"),
    ),
    "guides/own-loss.md": ("A loss of your own", "CONTRIBUTING.md", ("A loss",)),
}  # fmt: skip
"""Pages made of sections of a file, by their headings."""

HERE_ONLY = re.compile(r"http://127\.0\.0\.1:8501/\S*")
"""A page of the dashboard, which only runs on the reader's machine: the site has a guide to it."""
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^()\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)


def home_of(source: str) -> str | None:
    """The page that holds a file of the project, or None."""
    if source.startswith("notebooks/") and source.endswith(".ipynb"):
        return f"lessons/{Path(source).stem}.md"
    if source.startswith("docs/images/"):
        return source.removeprefix("docs/")
    return WHOLE.get(source, {"README.md": "guides/quick-start.md"}.get(source))


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """The text with all but its blocks of code changed."""
    parts, at = [], 0
    for fence in FENCE.finditer(text):
        parts += [change(text[at : fence.start()]), fence[0]]
        at = fence.end()
    return "".join([*parts, change(text[at:])])


def rewritten(text: str, source: str, page: str) -> str:
    """A file's text as the text of a page: links lead to pages, and names stand where there is no page to lead to."""

    def link(match: re.Match[str]) -> str:
        label, target = match[1], HERE_ONLY.sub("/docs/dashboard.md", match[2])
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        path, _, anchor = target.partition("#")
        home = home_of(posixpath.normpath(posixpath.join("/", posixpath.dirname(source), path))[1:])
        if home is None:
            return label.strip("![]")
        return f"{label}({os.path.relpath(home, posixpath.dirname(page) or '.')}{'#' + anchor if anchor else ''})"

    return outside_code(text, lambda part: LINK.sub(link, part))


def section(text: str, heading: str) -> str:
    """What stands under a heading of the second level, that heading included.

    Raises:
        ValueError: there is no such heading.
    """
    found = re.search(rf"^## {re.escape(heading)}\n.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if found is None:
        raise ValueError(f"There is no section {heading!r}.")
    return found[0].rstrip() + "\n"


def pages() -> dict[str, str]:
    """Every page that is made of a text of the project: path to Markdown."""
    made = {
        page: rewritten((ROOT / source).read_text("utf-8"), source, page)
        for source, page in WHOLE.items()
    }
    for page, (title, source, headings) in SECTIONS.items():
        text = (ROOT / source).read_text("utf-8")
        body = "\n".join(section(text, heading) for heading in headings)
        body = body.removeprefix(f"## {title}\n") if len(headings) > 1 else body.split("\n", 1)[1]
        made[page] = f"# {title}\n\n{rewritten(body, source, page)}"
    # CONTRIBUTING names the file behind the language
    fences = re.compile(r"^```python [^\n]*$", re.MULTILINE)
    return {page: fences.sub("```python", text) for page, text in made.items()}
