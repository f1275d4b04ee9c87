"""The ranking of one query as files: a table, a contact sheet, and a picture for papers."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from PIL import Image

import lab.figures
from lab.core.formats import plain_cell
from lab.core.results import Evidence
from lab.evaluation import filters
from lab.evaluation.collection import Collection

PER_LINE = 12


def table(
    collection: Collection,
    evidence: Evidence,
    places: np.ndarray,
    columns: dict[str, Callable[[int], object]],
) -> bytes:
    """A ranking as CSV (UTF-8): rank, image, right, similarity, what is known of the image, and more columns.

    Args:
        places: which neighbours, 0-based.
        columns: name to a function of the image's number.
    """
    images, ranking = collection.images, evidence.ranking
    known = filters.fields(images)
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(map(plain_cell, ["query", "rank", "image", "right", "similarity", *known, *columns]))
    query = plain_cell(str(images.keys[int(evidence.query.items[0])]))
    items = evidence.gallery.items[ranking.neighbours[0, places]]
    facts = [filters.column(images, name, items) for name in known]
    hits = ranking.hits[0]
    for at, (place, item) in enumerate(zip(places.tolist(), items.tolist(), strict=True)):
        right, score = "yes" if hits[place] else "no", f"{ranking.scores[0, place]:.6f}"
        known_of = [plain_cell(str(fact[at])) for fact in facts]
        more = [value(item) for value in columns.values()]
        writer.writerow([query, place + 1, plain_cell(images.keys[item]), right, score, *known_of, *more])
    return lines.getvalue().encode("utf-8")


def sheet(collection: Collection, answers: Sequence[Evidence], k: int) -> bytes:
    """The query with its first k neighbours by each answer, below one another, as PNG."""
    parts = [
        lab.figures.contact_sheet(
            collection.images.load, evidence, [0], k=k, missed=2, names=collection.images.class_names,
            per_line=PER_LINE,
        )
        for evidence in answers
    ]  # fmt: skip
    whole = Image.new("RGB", (max(p.width for p in parts), sum(p.height for p in parts)), "white")
    top = 0
    for part in parts:
        whole.paste(part, (0, top))
        top += part.height
    buffer = io.BytesIO()
    whole.save(buffer, "PNG")
    return buffer.getvalue()


def figure(collection: Collection, evidence: Evidence, k: int, format: str) -> bytes:
    """The query and its first k neighbours at the width of a page, for a paper."""
    images = collection.images
    judged = bool(images.class_names[images.labels[evidence.query.items[0]]])
    named = replace(evidence, gallery=replace(evidence.gallery, labels=images.labels[evidence.gallery.items]))
    return lab.figures.figure_bytes(
        lab.figures.ranked_figure(images.load, named, 0, k, images.class_names, judged), format
    )
