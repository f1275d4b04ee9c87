"""Runs as a page to explore without Python: every query, what was found for it, and what was not.

lab.report.explore.save(runs, "out.html")   # one file, for some thousands of images; it opens from a disk
lab.report.explore.save(runs, "out")        # a folder for a static server: python -m http.server -d out
"""

import base64
import gzip
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save as as_safetensors

from lab.core import web_page
from lab.core.catalog import OUTSIDE
from lab.core.explain import explain
from lab.core.files import check_allowed, making, write_bytes, write_text
from lab.core.formats import MB, counted, size
from lab.data import ImageSet
from lab.evaluation import identity
from lab.evaluation.identity import Pictures
from lab.maps.of_run import sheet
from lab.report import page
from lab.report._lines import Report, report
from lab.report.explore._packed import GRID, numbers_of, sheets
from lab.runs.folder import Run

HERE = Path(__file__).parent

MOST = 30 * MB
"""Bytes of one file, about: browsers open more, but slowly."""

SMALL = 64
LARGE = 96
"""Pixels of a picture's longer side, of many images and of few."""

FEW = 2_000
"""Images of which the large pictures are shown."""

PICTURE = 1_500
"""Bytes of a picture, about."""


def save(runs: Sequence[Run], path: Path | str, table: Report | None = None) -> Path:
    """Write the page: one file where the name ends with .html, else a folder.

    Raises:
        ValueError: the place is taken, or what `of` raises; a folder may be large.
    """
    check_allowed()
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
    runs: Sequence[Run],
    table: Report | None = None,
    images: Callable[[Run], ImageSet] = lambda run: run.dataset(),
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
    held = []
    for name, content in parts.items():
        text = base64.b64encode(content).decode()
        held.append(f'<script type="text/plain" id="{name}">{text}</script>')
    return _filled(about, "\n".join(held))


def _filled(about: dict[str, Any], held: str) -> str:
    """The page. held: what else it holds; without, it reads that from the files beside it."""
    script = (HERE / "explore.js").read_text(encoding="utf-8")
    style = page.STYLE + (HERE / "explore.css").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; script-src {web_page.as_source(script)}; style-src {web_page.as_source(style)}; "
        "worker-src blob:; base-uri 'none'; form-action 'none'; "
    )
    policy += "img-src blob:; connect-src 'none'" if held else "img-src 'self'; connect-src 'self'"
    facts = ""
    for title, inside in about.pop("facts").items():
        facts += f"<details><summary><h2>{escape(title)}</h2></summary>{inside}</details>\n"
    blanks = {
        "TITLE": escape(about.pop("title")),
        "WORDS": escape(about.pop("words")),
        "PRECISION": escape(about.pop("precision")),
        "POLICY": policy,
        "STYLE": style,
        "FACTS": facts,
        "HELD": held,
        "CODE": script,
        "DATA": web_page.as_data(about),  # what is left
        "WORKER": (HERE / "search.js").read_text(encoding="utf-8"),
    }
    return web_page.filled(HERE / "explore.html", blanks)


def _gathered(
    runs: Sequence[Run], table: Report | None, images_of: Callable[[Run], ImageSet], most: float
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """What the page is told as JSON; its numbers and sheets of pictures, by names of files."""
    table = report(runs) if table is None else table
    wholes = [sheet(run, table.split).on_map for run in runs]
    tables = [
        run.pictures(table.split).of_items(one.items) for run, one in zip(runs, wholes, strict=True)
    ]
    united, places = identity.unite(tables)
    if len(runs) > 1 and len(united) == sum(map(len, tables)):
        raise ValueError(
            f"These runs have no {table.split} image in common, as those of different data sets; write a page for each."
        )
    largest = max(len(whole) for whole in wholes)
    # base64 takes a third more
    estimate = 4 / 3 * largest * (PICTURE + sum(whole.vectors.shape[1] for whole in wholes))
    if estimate > most:
        raise ValueError(
            f"One file with {largest:,} images would take about {size(estimate)}, more than the {size(most)} allowed; "
            "a folder may be larger: lab runs report RUN --explore FOLDER."
        )

    images: list[ImageSet] = []
    lacking = ""
    try:
        images = [images_of(run) for run in runs]
    except (OSError, ValueError) as error:
        lacking = page.without_folders(f"The pictures cannot be shown: {explain(error)}", runs)
    if any(table.split in one.relevance for one in images):
        raise ValueError(
            f"The {table.split} split has judgements of its own, and this page knows labels only."
        )
    column = _common_column([run.per_query(table.split) for run in runs])

    # Which run an image is taken from, and its class. The first run that has it is written last.
    kinds, labels = _classes(tables)
    owner = np.empty(len(united), np.int64)
    kind_of = np.empty(len(united), np.int64)
    for at in reversed(range(len(runs))):
        owner[places[at]] = at
        kind_of[places[at]] = labels[at]
    order = np.lexsort((united.items, owner, kind_of))  # a class stands on few sheets
    new_place = np.argsort(order)

    numbers = {}
    told = []
    precision = ["This page compares all images exactly, by vectors in 8 bits."]
    for at, run in enumerate(runs):
        arrays, of_run, its_precision = numbers_of(run, table.split, column)
        arrays["images"] = new_place[places[at]].astype(np.int32)
        arrays["labels"] = labels[at].astype(np.int32)
        for name, values in arrays.items():
            numbers[f"{at}.{name}"] = values
        told.append(of_run)
        precision.append(its_precision)

    joined = f" {identity.join(tables).sentence}" if len(runs) > 1 else ""
    data = "" if runs[0].config.data.name == OUTSIDE else f" of {runs[0].config.data.name}"
    about = {
        "title": ", ".join(run.name for run in runs),
        "words": f"{counted(len(united), 'image')} of the {table.split} split{data}.{joined} {lacking}",
        "precision": " ".join(precision),
        "column": column,
        "names": united.keys[order].tolist(),
        "kinds": kinds,
        "grid": GRID if images else 0,
        "runs": told,
        "facts": page.facts(runs, table, images_of, most=0),
    }
    parts = {"numbers.bin": gzip.compress(as_safetensors(numbers), 6, mtime=0)}
    if images:
        pictures = [(images[owner[place]], int(united.items[place])) for place in order.tolist()]
        side = LARGE if len(pictures) <= FEW else SMALL
        for at, content in enumerate(sheets(pictures, side)):
            parts[f"{at}.webp"] = content
    return about, parts


def _common_column(columns: Sequence[Mapping[str, np.ndarray]]) -> str:
    """Return the finest score of single queries that all runs have."""
    for name in (*page.PREFERRED, *columns[0]):
        if all(name in of_run for of_run in columns):
            return name
    raise ValueError("These runs have no score of single queries in common.")


def _classes(tables: Sequence[Pictures]) -> tuple[list[str], list[np.ndarray]]:
    """Return the names of all classes of several runs, joined by name, and the label of each image of each run.

    The last name is empty: it is the label, int64 [m], of every image without a class.
    """
    names = sorted({name for table in tables for name in table.classes.tolist() if name})
    number = {name: at for at, name in enumerate(names)}
    labels = []
    for table in tables:
        of_run = [number.get(name, len(names)) for name in table.classes.tolist()]
        labels.append(np.array(of_run, np.int64))
    return [*names, ""], labels
