"""Assemble the pages, run the generator, check the links."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import lab.claims
import lab.figures
import lab.playground
from lab.figures import live_page
from scripts.website import config, lessons, links, places, reference, tables
from scripts.website.figures import Figures, gallery

BUILD = places.ROOT / "build" / "site"
HERE = Path(__file__).parent
WORKER = "https://unpkg.com/iframe-worker/shim"
"""What the generator's pages fetch from another host, to search from a disk; the site brings it along."""


def assemble(folder: Path, figures: Figures) -> None:
    """Write the Markdown of all pages, and what they show, into an empty folder."""
    pages = places.pages()
    used: dict[str, list[str]] = {}
    titles = []
    for notebook in sorted((places.ROOT / "notebooks").glob("*.ipynb")):
        page, pictures = lessons.page_of(notebook, figures)
        pages[f"lessons/{notebook.stem}.md"] = page
        titles.append((notebook.stem, page.split("\n", 1)[0].removeprefix("# ")))
        for name in re.findall(r'data-figure="(\w+)-', page):
            used.setdefault(name, []).append(notebook.stem)
        for name, picture in pictures.items():
            _write(folder / "images" / "lessons" / name, picture)
    pages["lessons/index.md"] = _lessons(titles)
    pages |= gallery(figures, {name: list(dict.fromkeys(stems)) for name, stems in used.items()})
    pages |= reference.pages() | {"results/published.md": tables.page()}
    pages["results/claims.md"] += "\n\n".join(["", *lab.claims.sections(lab.claims.BUNDLED)])
    home = (HERE / "home.md").read_text("utf-8")
    pages["index.md"] = home.replace("%COUNT%", str(len(lab.figures.names())))
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
    _write(folder / "live.js", live_page.scripts().encode())
    for source in (*(HERE / "static").iterdir(), live_page.PLOTLY_JS, live_page.DRAG_CSS):
        shutil.copyfile(source, folder / source.name)


def _lessons(titles: list[tuple[str, str]]) -> str:
    rows = "\n".join(f"- [{title}]({stem}.md)" for stem, title in titles)
    return (
        "# Lessons\n\nEach of these pages is a notebook. Here its figures live in your browser, as far as they can "
        f"be computed without Python; `lab learn` opens all of them with Python behind.\n\n{rows}\n\n"
        "[Teaching with them](teaching.md): a syllabus for one afternoon and for four, and sets for a class.\n"
    )


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
    for page in html.rglob("*.html"):
        text = page.read_text("utf-8")
        depth = "../" * (len(page.relative_to(html).parts) - 1) or "./"
        page.write_text(text.replace(WORKER, f"{depth}live/iframe-worker.js"), "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--figures", action="store_true", help="only compute figures that the cache lacks")
    parser.add_argument("--cached", action="store_true", help="compute no figure")
    arguments = parser.parse_args()
    started = time.perf_counter()
    source, html = BUILD / "source", BUILD / "html"
    shutil.rmtree(source, ignore_errors=True)
    figures = Figures(BUILD / "cache", compute=not arguments.cached)
    assemble(source, figures)
    if arguments.figures:
        return 0
    shutil.rmtree(html, ignore_errors=True)
    generate(source, html)
    faults = links.in_markdown(source) + links.in_html(html)
    for fault in faults:
        print(fault, file=sys.stderr)
    if figures.missing:
        print(
            f"{figures.missing} of {len(figures.packed)} figures are not drawn: the cache lacks them.", file=sys.stderr
        )
    size = sum(path.stat().st_size for path in html.rglob("*") if path.is_file()) / 1e6
    print(f"{len(list(html.rglob('*.html')))} pages, {size:.0f} MB, {time.perf_counter() - started:.0f} s: {html}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
