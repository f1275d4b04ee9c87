"""Which classes reach which at one threshold: pairs counted class by class, tile by tile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from lab.core.results import EmbeddingSet
from lab.kernels.pair_counts import CELLS
from lab.kernels.sort_keys import Space


@dataclass(frozen=True)
class ClassReach:
    """Pairs whose similarity is at least a threshold, by the classes of both images.

    Classes are those of queries and gallery together, in ascending order, and are named here by their place.
    queries, items: int64 [c], images of each on either side.
    own: int64 [c], pairs of each class that could reach it.
    query_class: int64 [q], the class of each query.
    first, second, pairs: int64 [p], a class of queries, a class of items, and their pairs at or above the threshold,
        where there are any.
    others: int64 [q 2], the other classes that reach a query, -1 for none; a query that more than two reach has
        (-2, -2).
    """

    queries: np.ndarray
    items: np.ndarray
    own: np.ndarray
    query_class: np.ndarray
    first: np.ndarray
    second: np.ndarray
    pairs: np.ndarray
    others: np.ndarray


def class_reach(
    query: EmbeddingSet,
    gallery: EmbeddingSet,
    similarity: str,
    self_index: np.ndarray,
    threshold: float,
) -> ClassReach:
    """Compare every query with every item but itself. Time O(q g d), memory of one tile and of the pairs of classes.

    Args:
        self_index: int64 [q], each query's own place in the gallery, -1 where it is not there.

    Raises:
        ValueError: a vector has no length, so that its cosine is undefined.
    """
    names = np.unique(np.concatenate([query.labels, gallery.labels]))
    query_class, item_class = (np.searchsorted(names, part.labels) for part in (query, gallery))
    by_class = np.argsort(item_class, kind="stable")
    present, starts = np.unique(item_class[by_class], return_index=True)
    # where an item is once the items are ordered by class
    place = np.empty(len(by_class), np.int64)
    place[by_class] = np.arange(len(by_class))

    space = Space.of(gallery.vectors[by_class], similarity, torch.device("cpu"))
    items = space.items.double()
    others = np.full((len(query_class), 2), -1)
    order = np.argsort(query_class, kind="stable")
    found = []
    rows_at_once = max(1, CELLS // len(by_class))
    for begin in range(0, len(order), rows_at_once):
        rows = order[begin : begin + rows_at_once]
        scores = space.shown(space.block_scores(space.queries(query.vectors[rows]), items).numpy())
        let = scores >= np.float32(threshold)
        with_self = np.flatnonzero(self_index[rows] >= 0)
        let[with_self, place[self_index[rows[with_self]]]] = False
        counts = np.add.reduceat(let, starts, axis=1, dtype=np.int64)  # [rows classes of items]
        others[rows] = _reached_by(counts, present, query_class[rows])
        classes, first_rows = np.unique(query_class[rows], return_index=True)
        sums = np.add.reduceat(counts, first_rows, axis=0)
        at = np.nonzero(sums)
        found.append(np.stack([classes[at[0]], present[at[1]], sums[at]]))
    first, second, pairs = _merged(np.concatenate(found, axis=1), len(names))
    queries, of_items = (
        np.bincount(part, minlength=len(names)) for part in (query_class, item_class)
    )
    own = queries * of_items - np.bincount(query_class[self_index >= 0], minlength=len(names))
    return ClassReach(queries, of_items, own, query_class, first, second, pairs, others)


def _reached_by(counts: np.ndarray, present: np.ndarray, own: np.ndarray) -> np.ndarray:
    """The other classes that reach each query, as `ClassReach.others` has them, from its pairs with each class."""
    reaching = (counts > 0) & (present != own[:, None])
    many = reaching.sum(1)
    last = len(present) - 1 - reaching[:, ::-1].argmax(1)
    both = np.stack([present[reaching.argmax(1)], present[last]], axis=1)
    both[many < 2, 1] = -1
    both[many < 1, 0] = -1
    both[many > 2] = -2
    return both


def _merged(found: np.ndarray, classes: int) -> np.ndarray:
    """Rows first, second and pairs [3 p], with one column for each pair of classes."""
    codes, place = np.unique(found[0] * classes + found[1], return_inverse=True)
    pairs = np.zeros(len(codes), np.int64)
    np.add.at(pairs, place, found[2])
    return np.stack([codes // classes, codes % classes, pairs])
