"""The best and the worst queries of a run, with the pictures that were found for them."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterator
from html import escape

import numpy as np
from PIL import Image

import lab.search
from lab.core.explain import explain
from lab.data import ImageSet
from lab.runs.folder import Run

EACH, FOUND, SIDE = 4, 7, 96
"""Queries of each kind, pictures found for one, and the longest side of a picture in pixels."""

PREFERRED = ("MAP@R", "mAP", "R-precision", "MRR", "r@1")
"""Scores of a single query, the finest first."""


def of(run: Run, split: str, images_of: Callable[[Run], ImageSet]) -> str:
    """Best and worst by one score, of different classes."""
    query, per_query = run.embeddings(split), run.per_query(split)
    column = next((name for name in (*PREFERRED, *per_query) if name in per_query), None)
    if column is None:
        return "<p>These scores have no value for single queries.</p>"
    values = per_query[column]
    _, place, sizes = np.unique(query.labels, return_inverse=True, return_counts=True)
    known = np.flatnonzero(~np.isnan(values))
    sections = []
    try:
        images = images_of(run)
        for title, sign in (("Best", -1), ("Worst", 1)):
            order = known[
                np.lexsort((-sizes[place[known]], sign * values[known]))
            ]  # of equals, those with more to find
            _, first = np.unique(query.labels[order], return_index=True)  # of different classes
            rows = drawn(run, split, images, order[np.sort(first)[:EACH]], values)
            sections.append(f"<h3>{title} by {escape(column)}</h3>{''.join(rows)}")
    except (OSError, ValueError, IndexError) as error:
        return f"<p>The pictures cannot be shown: {escape(explain(error))}</p>"
    legend = "The query first, then the nearest images: ✓ of its class, ✗ (dashed) of another."
    return f"<p>{legend}</p>{''.join(sections)}"


def nearest(run: Run, split: str, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Gallery items int64 [r k] (-1: none) and their labels, for the queries at `rows`, themselves left out."""
    query, gallery = run.embeddings(split), run.embeddings(split, "gallery")
    searched = query if gallery is None else gallery
    index = lab.search.create("exact", device="cpu", similarity=run.config_of(split).similarity).build(searched)
    _, places = index.neighbours(query.vectors[rows], k=min(k + (gallery is None), len(searched)))
    items, labels = np.full((len(rows), k), -1), np.full((len(rows), k), -1)
    for at, (row, neighbours) in enumerate(zip(rows, places, strict=True)):
        others = [place for place in neighbours if place >= 0 and (gallery is not None or place != row)][:k]
        items[at, : len(others)], labels[at, : len(others)] = searched.items[others], searched.labels[others]
    return items, labels


def drawn(run: Run, split: str, images: ImageSet, rows: np.ndarray, values: np.ndarray) -> Iterator[str]:
    """A row of pictures for each query of a run: itself, and what was found first. values: of every query."""
    query = run.embeddings(split)
    items, labels = nearest(run, split, rows, FOUND)
    for row, neighbours, kinds in zip(rows, items, labels, strict=True):
        label = int(query.labels[row])
        name = str(images.class_names[label])
        cells = [_cell(images, int(query.items[row]), "", f"query {100 * values[row]:.0f} %", f"Query: {name}")]
        for rank, (item, kind) in enumerate(zip(neighbours.tolist(), kinds.tolist(), strict=True), start=1):
            if item >= 0:
                right, called = kind == label, str(images.class_names[kind])
                alt = f"Rank {rank}, {'right' if right else 'wrong'}: {called}"
                cells.append(_cell(images, item, "right" if right else "wrong", called, alt))
        yield f'<ul class="row" aria-label="{escape(name)}">{"".join(cells)}</ul>'


def _cell(images: ImageSet, item: int, verdict: str, words: str, alt: str) -> str:
    mark = {"right": "<b>✓</b> ", "wrong": "<b>✗</b> "}.get(verdict, "")
    picture = f'<img src="{_picture(images.load(item))}" alt="{escape(alt)}">'
    return f'<li class="{verdict or "query"}">{picture}{mark}{escape(words[:60])}</li>'


def _picture(image: Image.Image) -> str:
    small = image.convert("RGB")
    small.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    written = io.BytesIO()
    small.save(written, "WEBP", quality=80)
    return "data:image/webp;base64," + base64.b64encode(written.getvalue()).decode("ascii")
