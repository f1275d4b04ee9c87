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

SIDES, FEW = (64, 96), 2_000
"""Pixels of a picture's longer side, of many images and of few."""

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
    script = (HERE / "explore.js").read_text(encoding="utf-8")
    style = page.STYLE + (HERE / "explore.css").read_text(encoding="utf-8")
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
    wholes = [sheet(run, table.split).on_map for run in runs]
    tables = [run.pictures(table.split).of_items(one.items) for run, one in zip(runs, wholes, strict=True)]
    united, places = identity.unite(tables)
    if len(runs) > 1 and len(united) == sum(map(len, tables)):
        raise ValueError(
            f"These runs have no {table.split} image in common, as those of different data sets; write a page for each."
        )
    estimate = 4 / 3 * max(map(len, wholes)) * (PICTURE + sum(one.vectors.shape[1] for one in wholes))
    if estimate > most:
        raise ValueError(
            f"One file with {max(map(len, wholes)):,} images would take about {size(estimate)}, more than the "
            f"{size(most)} allowed; a folder may be larger: lab runs report RUN --explore FOLDER."
        )
    images, lacking = list[ImageSet](), ""
    try:
        images = [images_of(run) for run in runs]
    except (OSError, ValueError) as error:
        lacking = page.without_folders(f"The pictures cannot be shown: {explain(error)}", runs)
    if any(table.split in one.relevance for one in images):
        raise ValueError(f"The {table.split} split has judgements of its own, and this page knows labels only.")
    columns = [run.per_query(table.split) for run in runs]
    column = next((name for name in (*page.PREFERRED, *columns[0]) if all(name in one for one in columns)), None)
    if column is None:
        raise ValueError("These runs have no score of single queries in common.")
    arrays, told, precision = zip(*(numbers_of(run, table.split, column) for run in runs), strict=True)
    kinds, labels = _classes(tables)
    owner, kind_of = np.empty(len(united), np.int64), np.empty(len(united), np.int64)
    for at in reversed(range(len(runs))):  # the first run that has an image is written last
        owner[places[at]], kind_of[places[at]] = at, labels[at]
    order = np.lexsort((united.items, owner, kind_of))  # a class stands on few sheets
    for place, of_run, mine in zip(places, labels, arrays, strict=True):
        mine["images"] = np.argsort(order)[place].astype(np.int32)
        mine["labels"] = of_run.astype(np.int32)
    joined = f" {identity.join(tables).sentence}" if len(runs) > 1 else ""
    data = "" if runs[0].config.data.name == OUTSIDE else f" of {runs[0].config.data.name}"
    about = {
        "title": ", ".join(run.name for run in runs),
        "words": f"{counted(len(united), 'image')} of the {table.split} split{data}.{joined} {lacking}",
        "precision": " ".join(["This page compares all images exactly, by vectors in 8 bits.", *precision]),
        "column": column,
        "names": united.keys[order].tolist(),
        "kinds": kinds,
        "grid": GRID if images else 0,
        "runs": told,
        "facts": page.facts(runs, table, images_of, most=0),
    }
    numbers = as_safetensors(
        {f"{at}.{name}": values for at, mine in enumerate(arrays) for name, values in mine.items()}
    )
    parts = {"numbers.bin": gzip.compress(numbers, 6, mtime=0)}
    if images:
        pictures = [(images[owner[place]], int(united.items[place])) for place in order.tolist()]
        drawn = sheets(pictures, SIDES[len(pictures) <= FEW])
        parts |= {f"{at}.webp": content for at, content in enumerate(drawn)}
    return about, parts


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
