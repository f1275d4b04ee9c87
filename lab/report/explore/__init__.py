"""Runs as a page to explore without Python: every query, what was found for it, and what was not.

lab.report.explore.save(runs, "out.html")   # one file, for some thousands of images; it opens from a disk
lab.report.explore.save(runs, "out")        # a folder for a static server: python -m http.server -d out
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import lab.search
from lab.core import web_page
from lab.core.explain import explain
from lab.core.files import making, write_bytes, write_text
from lab.core.formats import MB, counted, size
from lab.core.results import EmbeddingSet
from lab.data import ImageSet
from lab.maps import kept
from lab.maps.of_run import sheet
from lab.report import page
from lab.report._lines import Report, report
from lab.report.explore import _numbers
from lab.report.same_queries import numbering, rows_of
from lab.runs.folder import Run

HERE = Path(__file__).parent
MODULES = ("store", "map", "panels", "explore")
"""In the order in which one stands on the others."""

MOST = 30 * MB
"""Bytes of one file, about; browsers open more, but slowly."""

SIDES, FEW, GRID = (64, 96), 2_000, 16
"""Pixels of a picture's longer side, of many images and of few; and pictures along a side of a sheet."""

PICTURE = 1_500
"""Bytes of a picture, about."""

TOP = 10
"""Nearest images by which eight bits are compared with float32."""

GREY = (128, 128, 128)


def save(
    runs: Sequence[Run],
    path: Path | str,
    table: Report | None = None,
    images: Callable[[Run], ImageSet] = lambda run: run.dataset(),
) -> Path:
    """Write the page: one file where the name ends with .html, else a folder.

    Args:
        table: scores to show, by default those of the test split; its split is the one that is explored.
        images: where the pictures of a run come from.

    Raises:
        ValueError: the place is taken, one file would be too large, the runs are of different data sets, have no
            scores, or are judged by more than labels.
    """
    path = Path(path)
    if path.exists():
        raise ValueError(f"{path} is there already; remove it, or name another one.")
    if path.suffix == ".html":
        write_text(path, of(runs, table, images))
        return path
    about, numbers, pictures = _gathered(runs, table, images, np.inf)
    with making(path) as folder:
        write_bytes(folder / "numbers.bin", numbers)
        for at, drawn in enumerate(pictures):
            write_bytes(folder / f"{at}.webp", drawn)
        write_text(folder / "index.html", _filled(runs, about, ""))
    return path


def of(
    runs: Sequence[Run], table: Report | None = None, images: Callable[[Run], ImageSet] = lambda run: run.dataset()
) -> str:
    """The page as one file; arguments and errors are those of `save`."""
    about, numbers, pictures = _gathered(runs, table, images, MOST)
    held = "".join(
        f'<script type="text/plain" id="{name}">{base64.b64encode(content).decode()}</script>\n'
        for name, content in [("numbers", numbers), *((f"sheet{at}", one) for at, one in enumerate(pictures))]
    )
    return _filled(runs, about, held)


def _filled(runs: Sequence[Run], about: dict[str, Any], held: str) -> str:
    script, style = web_page.joined(HERE, MODULES), page.STYLE + (HERE / "explore.css").read_text(encoding="utf-8")
    policy = {
        "default-src": "'none'", "script-src": web_page.as_source(script), "style-src": web_page.as_source(style),
        "img-src": "blob:" if held else "'self'", "connect-src": "'none'" if held else "'self'", "worker-src": "blob:",
        "base-uri": "'none'", "form-action": "'none'",
    }  # fmt: skip
    facts = "\n".join(
        f"<details><summary><h2>{escape(title)}</h2></summary>{inside}</details>"
        for title, inside in about.pop("facts").items()
    )
    blanks = {
        "POLICY": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "TITLE": escape(about["title"]),
        "STYLE": style,
        "FACTS": facts,
        "DATA": web_page.as_data(about),
        "HELD": held,
        "WORKER": (HERE / "search.js").read_text(encoding="utf-8"),
        "CODE": script,
    }
    return web_page.filled(HERE / "explore.html", blanks)


def _gathered(
    runs: Sequence[Run], table: Report | None, images_of: Callable[[Run], ImageSet], most: float
) -> tuple[dict[str, Any], bytes, Iterator[bytes]]:
    """What the page is told as JSON, its numbers, and its sheets of pictures."""
    table = report(runs) if table is None else table
    split = table.split
    if any(numbering(run) != numbering(runs[0]) for run in runs):
        raise ValueError("These runs are of different data sets; write a page for each data set.")
    images, lacking = None, ""
    try:
        images = images_of(runs[-1])
    except (OSError, ValueError) as error:
        lacking = f"The pictures cannot be shown: {explain(error)}"
    if images is not None and split in images.relevance:
        raise ValueError(f"The {split} split has judgements of its own, and this page knows labels only.")
    wholes = [sheet(run, split).on_map for run in runs]
    labels = {item: label for one in wholes[::-1] for item, label in zip(one.items.tolist(), one.labels, strict=True)}
    items = np.array(sorted(labels, key=lambda item: (labels[item], item)))  # a class stands on few sheets
    estimate = 4 / 3 * len(items) * (sum(one.vectors.shape[1] for one in wholes) + PICTURE)
    if estimate > most:
        raise ValueError(
            f"One file with {len(items):,} images would take about {size(estimate)}; name a folder instead, which a "
            "static server shows: lab runs report RUN --explore FOLDER."
        )
    kinds = np.unique(np.concatenate([one.labels for one in wholes]))
    numbers = _numbers.Numbers()
    column = next(name for name in (*page.PREFERRED, *runs[0].per_query(split)) if name in runs[0].per_query(split))
    told = [
        _run(numbers, at, run, split, column, whole, items, kinds)
        for at, (run, whole) in enumerate(zip(runs, wholes, strict=True))
    ]
    side = SIDES[len(items) <= FEW]
    about = {
        "title": ", ".join(run.name for run in runs),
        "words": f"{counted(len(items), 'image')} of {runs[0].config.data.name}, {split} split",
        "column": column,
        "names": [f"image {item}" if images is None else str(images.keys[item]) for item in items],
        "kinds": [f"class {kind}" if images is None else str(images.class_names[kind]) for kind in kinds],
        "pictures": {"side": side, "grid": GRID, "shown": images is not None, "lacking": page.without_folders(lacking, runs)},
        "runs": told,
        "arrays": numbers.places,
        "facts": page.facts(runs, table),
    }
    return about, numbers.packed(), iter(()) if images is None else sheets(images, items, side)


def _run(
    numbers: _numbers.Numbers, at: int, run: Run, split: str, column: str, whole: EmbeddingSet, items: np.ndarray,
    kinds: np.ndarray,
) -> dict[str, Any]:  # fmt: skip
    """Put what is known of a run into the numbers; returns what is told of it in words."""
    query, gallery = run.embeddings(split), run.embeddings(split, "gallery")
    similarity = run.config_of(split).similarity
    asked = np.isin(whole.items, query.items)
    searched = np.ones(len(whole), bool) if gallery is None else np.isin(whole.items, gallery.items)
    rows = rows_of(whole, query.items)
    exact = _nearest(whole, rows, searched, similarity)
    codes, scales = _numbers.quantised(whole.vectors, similarity)
    some = np.sort(np.random.default_rng(0).permutation(len(rows))[: _numbers.SAMPLE])
    found = _numbers.ranked(codes, scales, similarity, rows[some], searched, TOP)
    chart = kept.Chart(run, split, "umap").read()
    method, drawn = ("pca", kept.pca_map(run, split)) if chart is None else ("umap", chart)
    flat = drawn.flat[-1] - drawn.flat[-1].min(0)
    score, nearest = np.full(len(whole), np.nan), np.full(len(whole), -1)
    score[rows], nearest[rows] = run.per_query(split)[column], exact[:, 0]
    arrays = {
        "vectors": (codes, np.int8), "scales": (scales, np.float32), "asked": (asked, np.uint8),
        "searched": (searched, np.uint8), "score": (score, np.float32), "nearest": (nearest, np.int32),
        "images": (np.argsort(np.argsort(items))[np.searchsorted(np.sort(items), whole.items)], np.int32),
        "labels": (np.searchsorted(kinds, whole.labels), np.int32),
        "places": (flat / (flat.max() or 1) * 65_535, np.uint16),
    }  # fmt: skip
    for name, (values, kind) in arrays.items():
        numbers.add(f"{at}.{name}", values, kind)
    return {
        "name": run.name,
        "similarity": similarity,
        "agreement": {"k": TOP, **_numbers.agreement(found, exact[some])},
        "map": {"method": method, **{name: float(drawn.honesty[name][-1]) for name in ("agreement", "chance")}},
    }


def _nearest(whole: EmbeddingSet, rows: np.ndarray, searched: np.ndarray, similarity: str) -> np.ndarray:
    """Rows int64 [q TOP] of the nearest others of the images at `rows`, in float32; -1 where there are fewer."""
    there = np.flatnonzero(searched)
    index = lab.search.create("exact", device="cpu", similarity=similarity).build(whole.take(there))
    k, found = min(TOP + 1, len(there)), np.full((len(rows), TOP + 1), -1)
    for begin in range(0, len(rows), 4_096):
        some = rows[begin : begin + 4_096]
        near = there[index.neighbours(whole.vectors[some], k)[1]]
        near[near == some[:, None]] = -1
        found[begin : begin + len(some), :k] = np.take_along_axis(near, np.argsort(near < 0, axis=1, kind="stable"), 1)
    return found[:, :TOP]


def sheets(images: ImageSet, items: np.ndarray, side: int) -> Iterator[bytes]:
    """Pictures of some images as WebP, `GRID` times `GRID` on each sheet, in the order of items [n].

    A picture keeps its proportions; one that cannot be read stays grey.
    """
    for begin in range(0, len(items), GRID**2):
        drawn = Image.new("RGB", (GRID * side, GRID * side), "white")
        for at, item in enumerate(items[begin : begin + GRID**2].tolist()):
            try:
                picture = images.load(item).convert("RGB")
                picture.thumbnail((side, side), Image.Resampling.LANCZOS)
            except (OSError, ValueError):
                picture = Image.new("RGB", (side, side), GREY)
            x, y = at % GRID * side, at // GRID * side
            drawn.paste(picture, (x + (side - picture.width) // 2, y + (side - picture.height) // 2))
        written = io.BytesIO()
        drawn.save(written, "WEBP", quality=75)
        yield written.getvalue()
