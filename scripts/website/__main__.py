"""Assemble the pages, run the generator, check the links."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from html import escape
from pathlib import Path

import lab.figures
import lab.playground
from lab.core import web_page
from lab.figures import live_page, twelve
from lab.report import explore
from lab.runs import examples
from scripts.website import claims, config, lessons, links, places, reference, tables
from scripts.website.figures import Figures, gallery

BUILD = places.ROOT / "build" / "site"
HERE = Path(__file__).parent
WORKER = "https://unpkg.com/iframe-worker/shim"
"""What the generator's pages fetch from another host, to search from a disk; the site brings it along."""


def assemble(folder: Path, figures: Figures, repository: str = "") -> None:
    """Write the Markdown of all pages, and what they show, into an empty folder.

    repository: OWNER/NAME on GitHub, for links that open a lesson in Colab; none without.
    """
    pages = places.pages()
    used: dict[str, list[str]] = {}
    cards = []
    for notebook in sorted((places.ROOT / "notebooks").glob("*.ipynb")):
        page, pictures = lessons.page_of(notebook, figures)
        pages[f"lessons/{notebook.stem}.md"] = lessons.with_doors(page, notebook, repository)
        cards.append(lessons.card(page, notebook, figures))
        _write(folder / "lessons" / notebook.name, notebook.read_bytes())
        for name in re.findall(r'data-figure="(\w+)-', page):
            used.setdefault(name, []).append(notebook.stem)
        for name, picture in pictures.items():
            _write(folder / "images" / "lessons" / name, picture)
    pages["lessons/index.md"] = web_page.filled(HERE / "lessons.md", {"CARDS": "\n".join(cards)})
    pages |= gallery(figures, {name: list(dict.fromkeys(stems)) for name, stems in used.items()})
    pages |= reference.pages() | {"results/published.md": tables.page()}
    pages["results/claims.md"] = claims.page(pages["results/claims.md"])
    pages["index.md"] = _home()
    with tempfile.TemporaryDirectory() as runs:
        explore.save(list(examples.copy_into(runs).values()), folder / "demo.html")
    _write(folder / "playground.html", lab.playground.page().encode())
    for page, text in pages.items():
        _write(folder / page, text.encode())
    for name in lab.figures.names():
        if still := figures.thumbnail(name):
            _write(folder / "images" / "figures" / f"{name}.webp", still)
    shutil.copytree(places.ROOT / "docs" / "images", folder / "images", dirs_exist_ok=True)
    _scripts(folder / "live", figures)


def _scripts(folder: Path, figures: Figures) -> None:
    """What the pages run, all of it from this site."""
    figures.write(folder / "figures")
    _write(folder / "live.js", live_page.script().encode())
    for source in (*(HERE / "static").iterdir(), live_page.PLOTLY_JS, live_page.DRAG_CSS):
        shutil.copyfile(source, folder / source.name)


def _home() -> str:
    """The home page, with the pictures that one drags on it."""
    items = [
        {
            "name": twelve.NAMES[item],
            "right": sign == "+",
            "score": float(score),
            "face": twelve.pictures()[item],
        }
        for item, sign, score in zip(
            twelve.ranked(), twelve.pattern(), twelve.scores(), strict=True
        )
    ]
    blanks = {"COUNT": str(len(lab.figures.names())), "QUERY": twelve.pictures()[twelve.QUERY]}
    return web_page.filled(HERE / "home.md", blanks | {"ITEMS": escape(json.dumps(items[:8]))})


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def generate(source: Path, html: Path) -> None:
    """Run the generator, and take out what it would fetch from another host."""
    written = BUILD / "mkdocs.yml"
    written.write_text(config.text(Path(source.name), Path(html.name)), encoding="utf-8")
    beside = Path(sys.executable).with_name("zensical")
    zensical = str(beside) if beside.exists() else "zensical"
    subprocess.run([zensical, "build", "-f", str(written)], check=True, cwd=BUILD)
    waiting = f"<script>{{{(HERE / 'static' / 'search_when_used.js').read_text('utf-8')}}}</script></head>"
    for page in html.rglob("*.html"):
        text = page.read_text("utf-8")
        if "md-search__button" not in text:
            continue  # a page of ours
        text = re.sub("<th[^>]*></th>", "<td></td>", text).replace("</head>", waiting, 1)
        depth = "../" * (len(page.relative_to(html).parts) - 1) or "./"
        page.write_text(text.replace(WORKER, f"{depth}live/iframe-worker.js"), "utf-8")
    # every block of code was a landmark without a name
    for script in html.glob("assets/javascripts/bundle.*.js"):
        text = script.read_text("utf-8").replace(
            '"nav",{class:"md-code__nav"', '"div",{class:"md-code__nav"'
        )
        wide = '{class:"md-typeset__scrollwrap"'
        script.write_text(text.replace(wide, f"{{tabIndex:0,{wide[1:]}"), "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--figures", action="store_true", help="only compute figures that the cache lacks"
    )
    parser.add_argument("--cached", action="store_true", help="compute no figure")
    parser.add_argument("--repository", default="", help="OWNER/NAME on GitHub, for links to Colab")
    arguments = parser.parse_args()
    started = time.perf_counter()
    source, html = BUILD / "source", BUILD / "html"
    shutil.rmtree(source, ignore_errors=True)
    figures = Figures(BUILD / "cache", compute=not arguments.cached)
    assemble(source, figures, arguments.repository)
    if arguments.figures:
        return 0
    shutil.rmtree(html, ignore_errors=True)
    generate(source, html)
    faults = links.in_markdown(source) + links.in_html(html)
    for fault in faults:
        print(fault, file=sys.stderr)
    if figures.missing:
        print(
            f"{figures.missing} of {len(figures.packed)} figures are not drawn: the cache lacks them.",
            file=sys.stderr,
        )
    size = sum(path.stat().st_size for path in html.rglob("*") if path.is_file()) / 1e6
    print(
        f"{len(list(html.rglob('*.html')))} pages, {size:.0f} MB, {time.perf_counter() - started:.0f} s: {html}"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
