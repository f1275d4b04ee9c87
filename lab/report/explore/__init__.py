"""Runs as a page to explore without Python: every query, what was found for it, and what was not.

lab.report.explore.save(runs, "out.html")   # one file, for some thousands of images; it opens from a disk
lab.report.explore.save(runs, "out")        # a folder for a static server: python -m http.server -d out
"""

import base64
import gzip
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save as as_safetensors

from lab.core import web_page
from lab.core.catalog import OUTSIDE
from lab.core.explain import explain
from lab.core.files import making, write_bytes, write_text
from lab.core.formats import MB, counted, size
from lab.data import ImageSet
from lab.maps.of_run import sheet
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
        raise ValueError(f"{path} is there already; name another one, or move it away.")
    if path.suffix == ".html":
        write_text(path, render(runs, table))
        return path
    about, parts = _gathered(runs, table, Run.dataset, np.inf)
    with making(path) as folder:
        for name, content in parts.items():
            write_bytes(folder / name, content)
        write_text(folder / "index.html", _filled(about, ""))
    return path


def render(
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
    about, parts = _gathered(runs, table, images, MOST)
    coded = {name: base64.b64encode(content).decode() for name, content in parts.items()}
    held = [f'<script type="text/plain" id="{name}">{text}</script>' for name, text in coded.items()]
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
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """What the page is told as JSON; its numbers and sheets of pictures, by names of files."""
    table = report(runs) if table is None else table
    if any(numbering(run) != numbering(runs[0]) for run in runs):
        raise ValueError("These runs are of different data sets; write a page for each data set.")
    wholes = [sheet(run, table.split).on_map for run in runs]
    estimate = 4 / 3 * max(map(len, wholes)) * (PICTURE + sum(one.vectors.shape[1] for one in wholes))
    if estimate > most:
        raise ValueError(
            f"One file with {max(map(len, wholes)):,} images would take about {size(estimate)}, more than the "
            f"{size(most)} allowed; a folder may be larger: lab runs report RUN --explore FOLDER."
        )
    images, lacking = None, ""
    try:
        images = images_of(runs[-1])
    except (OSError, ValueError) as error:
        lacking = page.without_folders(f"The pictures cannot be shown: {explain(error)}", runs)
    if images is not None and table.split in images.relevance:
        raise ValueError(f"The {table.split} split has judgements of its own, and this page knows labels only.")
    columns = [run.per_query(table.split) for run in runs]
    column = next((name for name in (*page.PREFERRED, *columns[0]) if all(name in one for one in columns)), None)
    if column is None:
        raise ValueError("These runs have no score of single queries in common.")
    arrays, told, precision = zip(*(numbers_of(run, table.split, column) for run in runs), strict=True)
    items, first = np.unique(np.concatenate([one.items for one in wholes]), return_index=True)
    labels = np.concatenate([one.labels for one in wholes])
    kinds, order = np.unique(labels), np.lexsort((items, labels[first]))  # a class stands on few sheets
    for one, mine in zip(wholes, arrays, strict=True):
        mine["images"] = np.argsort(order)[np.searchsorted(items, one.items)].astype(np.int32)
        mine["labels"] = np.searchsorted(kinds, one.labels).astype(np.int32)
    items = items[order]
    data = "" if runs[0].config.data.name == OUTSIDE else f" of {runs[0].config.data.name}"
    about = {
        "title": ", ".join(run.name for run in runs),
        "words": f"{counted(len(items), 'image')} of the {table.split} split{data}. {lacking}",
        "precision": " ".join(["This page compares all images exactly, by vectors in 8 bits.", *precision]),
        "column": column,
        "names": [f"image {item}" if images is None else str(images.keys[item]) for item in items],
        "kinds": [f"class {kind}" if images is None else str(images.class_names[kind]) for kind in kinds],
        "grid": 0 if images is None else GRID,
        "runs": told,
        "facts": page.facts(runs, table, images_of, most=0),
    }
    numbers = as_safetensors(
        {f"{at}.{name}": values for at, mine in enumerate(arrays) for name, values in mine.items()}
    )
    parts = {"numbers.bin": gzip.compress(numbers, 6, mtime=0)}
    if images is not None:
        drawn = sheets(images, items, SIDES[len(items) <= FEW])
        parts |= {f"{at}.webp": content for at, content in enumerate(drawn)}
    return about, parts
