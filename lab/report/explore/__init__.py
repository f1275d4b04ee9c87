"""Runs as a page to explore without Python: every query, what was found for it, and what was not.

lab.report.explore.save(runs, "out.html")   # one file, for some thousands of images; it opens from a disk
lab.report.explore.save(runs, "out")        # a folder for a static server: python -m http.server -d out
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from lab.core import web_page
from lab.core.explain import explain
from lab.core.files import making, write_bytes, write_text
from lab.core.formats import MB, counted, size
from lab.data import ImageSet
from lab.report import page
from lab.report._lines import Report, report
from lab.report.explore._packed import GRID, numbers_of, sheets
from lab.report.same_queries import numbering
from lab.runs.folder import Run

HERE = Path(__file__).parent
MODULES = ("store", "map", "panels", "explore")
"""In the order in which one stands on the others."""

MOST = 30 * MB
"""Bytes of one file, about: browsers open more, but slowly."""

SIDES, FEW = (64, 96), 2_000
"""Pixels of a picture's longer side, of many images and of few."""

PICTURE = 1_500
"""Bytes of a picture, about."""


def save(runs: Sequence[Run], path: Path | str, table: Report | None = None) -> Path:
    """Write the page: one file where the name ends with .html, else a folder.

    Raises:
        ValueError: the place is taken, or what `of` raises; a folder may be large.
    """
    path = Path(path)
    if path.exists():
        raise ValueError(f"{path} is there already; remove it, or name another one.")
    if path.suffix == ".html":
        write_text(path, of(runs, table))
        return path
    about, numbers, pictures = _gathered(runs, table, Run.dataset, np.inf)
    with making(path) as folder:
        write_bytes(folder / "numbers.bin", numbers)
        for at, sheet in enumerate(pictures):
            write_bytes(folder / f"{at}.webp", sheet)
        write_text(folder / "index.html", _filled(about, ""))
    return path


def of(
    runs: Sequence[Run], table: Report | None = None, images: Callable[[Run], ImageSet] = lambda run: run.dataset()
) -> str:
    """The page as one file.

    Args:
        table: scores to show, by default those of the test split; its split is the one that is explored.
        images: where the pictures of a run come from.

    Raises:
        ValueError: the file would be too large; or the runs are of different data sets, have no scores, or are judged
            by more than labels.
    """
    about, numbers, pictures = _gathered(runs, table, images, MOST)
    parts = {"numbers": numbers, **{f"sheet{at}": sheet for at, sheet in enumerate(pictures)}}
    held = [
        f'<script type="text/plain" id="{name}">{base64.b64encode(part).decode()}</script>'
        for name, part in parts.items()
    ]
    return _filled(about, "\n".join(held))


def _filled(about: dict[str, Any], held: str) -> str:
    """The page. held: what else it holds; without, it reads that from the files beside it."""
    script, style = web_page.joined(HERE, MODULES), page.STYLE + (HERE / "explore.css").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; script-src {web_page.as_source(script)}; style-src {web_page.as_source(style)}; "
        f"worker-src blob:; base-uri 'none'; form-action 'none'; "
        + ("img-src blob:; connect-src 'none'" if held else "img-src 'self'; connect-src 'self'")
    )
    facts = "".join(
        f"<details><summary><h2>{escape(title)}</h2></summary>{inside}</details>\n"
        for title, inside in about.pop("facts").items()
    )
    blanks = {name: escape(about.pop(name.lower())) for name in ("TITLE", "WORDS", "PRECISION")}
    blanks |= {"POLICY": policy, "STYLE": style, "FACTS": facts, "HELD": held, "CODE": script}
    blanks |= {"DATA": web_page.as_data(about), "WORKER": (HERE / "search.js").read_text(encoding="utf-8")}
    return web_page.filled(HERE / "explore.html", blanks)


def _gathered(
    runs: Sequence[Run], table: Report | None, images_of: Callable[[Run], ImageSet], most: float
) -> tuple[dict[str, Any], bytes, Iterator[bytes]]:
    """What the page is told as JSON, its numbers, and its sheets of pictures."""
    from safetensors.numpy import save

    table = report(runs) if table is None else table
    if any(numbering(run) != numbering(runs[0]) for run in runs):
        raise ValueError("These runs are of different data sets; write a page for each data set.")
    images, lacking = None, ""
    try:
        images = images_of(runs[-1])
    except (OSError, ValueError) as error:
        lacking = page.without_folders(f"The pictures cannot be shown: {explain(error)}", runs)
    if images is not None and table.split in images.relevance:
        raise ValueError(f"The {table.split} split has judgements of its own, and this page knows labels only.")
    _check_size(runs, table.split, most)
    per_query = runs[0].per_query(table.split)
    column = next(name for name in (*page.PREFERRED, *per_query) if name in per_query)
    wholes, arrays, told, precision = zip(*(numbers_of(run, table.split, column) for run in runs), strict=True)
    labels = {item: label for one in wholes[::-1] for item, label in zip(one.items.tolist(), one.labels, strict=True)}
    items = np.array(sorted(labels, key=lambda item: (labels[item], item)))  # a class stands on few sheets
    kinds = np.unique(np.concatenate([one.labels for one in wholes]))
    image_of = {item: at for at, item in enumerate(items.tolist())}
    for one, mine in zip(wholes, arrays, strict=True):
        mine["images"] = np.array([image_of[item] for item in one.items.tolist()], np.int32)
        mine["labels"] = np.searchsorted(kinds, one.labels).astype(np.int32)
    about = {
        "title": ", ".join(run.name for run in runs),
        "words": f"{counted(len(items), 'image')} of {runs[0].config.data.name}, {table.split} split. {lacking}",
        "precision": " ".join(["This page compares all images exactly, by vectors in 8 bits.", *precision]),
        "column": column,
        "names": [f"image {item}" if images is None else str(images.keys[item]) for item in items],
        "kinds": [f"class {kind}" if images is None else str(images.class_names[kind]) for kind in kinds],
        "grid": 0 if images is None else GRID,
        "runs": told,
        "facts": page.facts(runs, table),
    }
    numbers = save({f"{at}.{name}": values for at, mine in enumerate(arrays) for name, values in mine.items()})
    pictures = () if images is None else sheets(images, items, SIDES[len(items) <= FEW])
    return about, gzip.compress(numbers, 6, mtime=0), iter(pictures)


def _check_size(runs: Sequence[Run], split: str, most: float) -> None:
    queries = [run.embeddings(split) for run in runs]
    count = max(len(one) + len(run.embeddings(split, "gallery") or ()) for run, one in zip(runs, queries, strict=True))
    about = 4 / 3 * count * (PICTURE + sum(one.vectors.shape[1] for one in queries))
    if about > most:
        raise ValueError(
            f"One file with {count:,} images would take about {size(about)}, more than the {size(most)} allowed; write "
            "a folder instead, for a static server: lab runs report RUN --explore FOLDER."
        )
