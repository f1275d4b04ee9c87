"""The best and the worst queries of a run, with the pictures that were found for them."""

from collections.abc import Callable, Iterator
from html import escape

import numpy as np

import lab.search
from lab.core import web_page
from lab.core.explain import explain
from lab.core.results import OTHER, SAME, UNKNOWN, EmbeddingSet, compared
from lab.data import ImageSet
from lab.runs.folder import Run

EACH = 4
"""Queries of each kind."""

FOUND = 7
"""Pictures that are shown as found for a query."""

SIDE = 96
"""Longest side of a picture, in pixels."""

VERDICTS = {SAME: "right", OTHER: "wrong", UNKNOWN: "unknown"}

PREFERRED = ("MAP@R", "mAP", "R-precision", "MRR", "r@1")
"""Scores of a single query, the finest first."""


def of(run: Run, split: str, images_of: Callable[[Run], ImageSet]) -> str:
    """Best and worst by one score, of different classes."""
    query = run.embeddings(split)
    per_query = run.per_query(split)
    if not per_query:
        return "<p>These scores have no value for single queries.</p>"
    column = next(name for name in (*PREFERRED, *per_query) if name in per_query)
    values = per_query[column]
    known = np.flatnonzero(~np.isnan(values))
    _, class_of, sizes = np.unique(query.labels, return_inverse=True, return_counts=True)
    sections = []
    try:
        images = images_of(run)
        for title, sign in (("Best", -1), ("Worst", 1)):
            # Of equal scores, those come first that had more images to find; of each class one query is shown.
            order = known[np.lexsort((-sizes[class_of[known]], sign * values[known]))]
            _, first = np.unique(query.labels[order], return_index=True)
            chosen = order[np.sort(first)[:EACH]]
            rows = drawn(run, split, images, chosen, values)
            sections.append(f"<h3>{title} by {escape(column)}</h3>{''.join(rows)}")
    except IndexError:
        return "<p>The pictures cannot be shown: this run names images that its data set does not hold any more.</p>"
    except (OSError, ValueError) as error:
        return f"<p>The pictures cannot be shown: {escape(explain(error))}</p>"
    legend = "The query first, then the nearest images: ✓ of its class, ✗ (dashed) of another"
    legend += "." if images.labelled.all() else ", ? (dotted) of unknown class."
    return f"<p>{legend}</p>{''.join(sections)}"


def nearest(query: EmbeddingSet, searched: EmbeddingSet, k: int, similarity: str) -> np.ndarray:
    """Places int64 [q k] of the nearest images in the set that is searched, best first, a query's own image left out;
    -1 where there are fewer."""
    index = lab.search.create("exact", device="cpu", similarity=similarity).build(searched)
    _, found = index.neighbours(query.vectors, min(k + 1, len(searched)))
    lacking = k + 1 - found.shape[1]
    found = np.pad(found, ((0, 0), (0, lacking)), constant_values=-1)
    found[searched.items[found] == query.items[:, None]] = -1
    last = np.argsort(found < 0, axis=1, kind="stable")  # what is left out comes last
    return np.take_along_axis(found, last, 1)[:, :k]


def drawn(
    run: Run, split: str, images: ImageSet, rows: np.ndarray, values: np.ndarray
) -> Iterator[str]:
    """A row of pictures for each query of a run: itself, and what was found first. values: of every query."""
    query = run.embeddings(split)
    searched = run.embeddings(split, "gallery") or query
    found = nearest(query.take(rows), searched, FOUND, run.config_of(split).similarity)
    for row, places in zip(rows, found, strict=True):
        name = images.class_name(query.labels[row])
        score = f"query {100 * values[row]:.0f} %"
        cells = [_cell(images, int(query.items[row]), "", score, f"Query: {name}")]
        for rank, place in enumerate(places[places >= 0], start=1):
            called = images.class_name(searched.labels[place])
            verdict = VERDICTS[int(compared(searched.labels[place], query.labels[row]))]
            alt = f"Rank {rank}, {verdict}: {called}"
            cells.append(_cell(images, int(searched.items[place]), verdict, called, alt))
        yield f'<ul class="row" aria-label="{escape(name)}">{"".join(cells)}</ul>'


MARKS = {"right": "<b>✓</b> ", "wrong": "<b>✗</b> ", "unknown": "<b>?</b> "}


def _cell(images: ImageSet, item: int, verdict: str, words: str, alt: str) -> str:
    """One picture with the words below it. verdict: nothing for the query itself."""
    mark = MARKS.get(verdict, "")
    picture = f'<img src="{web_page.thumbnail(images.load(item), SIDE)}" alt="{escape(alt)}">'
    return f'<li class="{verdict or "query"}">{picture}{mark}{escape(words[:60])}</li>'
