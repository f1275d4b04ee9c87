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
    collection: Collection,
    evidence: Evidence,
    places: np.ndarray,
    columns: dict[str, Callable[[int], object]],
) -> bytes:
    """A ranking as CSV (UTF-8): rank, image, right, similarity, what is known of the image, and more columns. right is
    yes, no or, where the class of query or image is not known, empty.

    Args:
        places: which neighbours, 0-based.
        columns: name to a function of the image's number.
    """
    images = collection.images
    ranking = evidence.ranking
    known = filters.fields(images)
    ours = ["query", "rank", "image", "right", "similarity"]
    titles = beside(known, ours=[*ours, *columns]).values()
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(plain_cell, [*ours, *titles, *columns]))

    query = plain_cell(str(images.keys[int(evidence.query.items[0])]))
    items = evidence.gallery.items[ranking.neighbours[0, places]]
    facts = [filters.column(images, name, items) for name in known]
    verdicts = ranking.verdicts[0]
    ranks = ranking.neighbour_ranks[0]
    for at, (place, item) in enumerate(zip(places.tolist(), items.tolist(), strict=True)):
        rank = ranks[place] or ""  # an image that is left out of the ranks has none
        right = RIGHT[int(verdicts[place])]
        score = f"{ranking.scores[0, place]:.6f}"
        known_of = [plain_cell(str(fact[at])) for fact in facts]
        more = [value(item) for value in columns.values()]
        writer.writerow(
            [query, rank, plain_cell(images.keys[item]), right, score, *known_of, *more]
        )
    return file.getvalue().encode("utf-8")


def figure(collection: Collection, evidence: Evidence, k: int, format: str) -> bytes:
    """The query and its first k neighbours at the width of a page, for a paper."""
    images = collection.images
    has_class = bool(names_at(images.class_names, images.labels[evidence.query.items])[0])
    gallery = replace(evidence.gallery, labels=images.labels[evidence.gallery.items])
    labelled = replace(evidence, gallery=gallery)
    drawn = lab.figures.ranked_figure(images.load, labelled, 0, k, images.class_names, has_class)
    return lab.figures.figure_bytes(drawn, format)
