"""Whether every link of the site leads somewhere, and no page asks another host for anything."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from scripts.website import places

LOADED = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("source", "src")}
"""What a browser fetches by itself; a link to click may lead anywhere."""
SAID = {"canonical", "next", "prev", "alternate"}
"""Relations of a `link` element that fetch nothing."""


def in_markdown(folder: Path) -> list[str]:
    """Links of the assembled pages that lead nowhere: quick, with no generator."""
    faults = []
    for page in sorted(folder.rglob("*.md")):
        text = places.FENCE.sub("", page.read_text("utf-8"))
        targets = [match[2] for match in places.LINK.finditer(re.sub(r"`[^`\n]*`", "", text))]
        for target in re.findall(r'(?:href|src)="([^"]+)"', text):
            targets.append(
                target if (page.parent / target).is_file() else target.replace(".html", ".md")
            )
        for target in targets:
            path, _, anchor = target.partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            there = (page.parent / unquote(path)) if path else page
            if not there.exists() or (
                anchor and there.suffix == ".md" and anchor not in _anchors(there)
            ):
                faults.append(f"{page.relative_to(folder)}: {target} leads nowhere")
    return faults


def _anchors(page: Path) -> set[str]:
    """Of the headings, as Python-Markdown makes them."""
    titles = re.findall(r"^#+ (.+)$", places.FENCE.sub("", page.read_text("utf-8")), re.MULTILINE)
    plain = (
        re.sub(r"[^\w\s-]", "", re.sub(r"<[^>]+>", "", title)).strip().lower() for title in titles
    )
    return {re.sub(r"[-\s]+", "-", title) for title in plain}


class _Page(HTMLParser):
    """Collects anchors, links and what is fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        for name, value in values.items():
            if (tag, name) in LOADED and values.get("rel") not in SAID:
                self.loads.append(value)
            elif (tag, name) == ("a", "href"):
                self.links.append(value)


def in_html(folder: Path) -> list[str]:
    """What is wrong with the finished pages: dead links, and anything fetched from another host."""
    pages = {}
    for path in sorted(folder.rglob("*.html")):
        pages[path.resolve()] = read = _Page()
        read.feed(path.read_text("utf-8"))
    faults = []
    for path, page in pages.items():
        name = path.relative_to(folder.resolve())
        faults += [f"{name}: fetches {one}" for one in page.loads if urlsplit(one).netloc]
        if name.name == "404.html":
            continue  # its links start at the root of wherever the site will be
        for target in (*page.links, *page.loads):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            there = there / "index.html" if there.is_dir() else there
            known = pages[there].anchors if there in pages else None
            if not there.exists() or (
                parts.fragment and known is not None and unquote(parts.fragment) not in known
            ):
                faults.append(f"{name}: {target} leads nowhere")
    return sorted(set(faults))
