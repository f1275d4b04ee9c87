"""The ranking of one query as files: a table, and a picture for papers."""

import csv
import io
from collections.abc import Callable
from dataclasses import replace

import numpy as np

import lab.figures
from lab.core.formats import beside, plain_cell
from lab.core.results import OTHER, SAME, UNKNOWN, Evidence, names_at
from lab.evaluation import filters
from lab.evaluation.collection import Collection

RIGHT = {SAME: "yes", OTHER: "no", UNKNOWN: ""}


def table(
    collection: Collection, evidence: Evidence, places: np.ndarray, columns: dict[str, Callable[[int], object]]
) -> bytes:
    """A ranking as CSV (UTF-8): rank, image, right, similarity, what is known of the image, and more columns. right is
    yes, no or, where the class of query or image is not known, empty.

    Args:
        places: which neighbours, 0-based.
        columns: name to a function of the image's number.
    """
    images, ranking = collection.images, evidence.ranking
    known = filters.fields(images)
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    ours = ["query", "rank", "image", "right", "similarity"]
    titles = beside(known, ours=[*ours, *columns]).values()
    writer.writerow(map(plain_cell, [*ours, *titles, *columns]))
    query = plain_cell(str(images.keys[int(evidence.query.items[0])]))
    items = evidence.gallery.items[ranking.neighbours[0, places]]
    facts = [filters.column(images, name, items) for name in known]
    verdicts, ranks = ranking.verdicts[0], ranking.neighbour_ranks[0]
    for at, (place, item) in enumerate(zip(places.tolist(), items.tolist(), strict=True)):
        right, score = RIGHT[int(verdicts[place])], f"{ranking.scores[0, place]:.6f}"
        known_of = [plain_cell(str(fact[at])) for fact in facts]
        more = [value(item) for value in columns.values()]
        rank = ranks[place] or ""  # an image that is left out of the ranks has none
        writer.writerow([query, rank, plain_cell(images.keys[item]), right, score, *known_of, *more])
    return lines.getvalue().encode("utf-8")


def figure(collection: Collection, evidence: Evidence, k: int, format: str) -> bytes:
    """The query and its first k neighbours at the width of a page, for a paper."""
    images = collection.images
    judged = bool(names_at(images.class_names, images.labels[evidence.query.items])[0])
    named = replace(evidence, gallery=replace(evidence.gallery, labels=images.labels[evidence.gallery.items]))
    return lab.figures.figure_bytes(
        lab.figures.ranked_figure(images.load, named, 0, k, images.class_names, judged), format
    )
