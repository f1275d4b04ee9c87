"""Build a ranking from blocks of similarities: keep the first k items, and count the items above each positive.

Ranks are counted, so no list is fully sorted and there is no [q g] matrix: memory is one tile, the k best items and one
counter for each positive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from lab.core.results import UNRANKED, EmbeddingSet, Ranking, Relevance, labelled
from lab.core.streams import ReportProgress
from lab.kernels import sort_keys
from lab.kernels.sort_keys import Space, Ties
from lab.search.galleries.shards import Gallery

QUERY_ROWS = 1024
ITEM_ROWS = 4096
"""Size of a tile: 1,024 x 4,096 keys are 32 MB."""


COLUMN = 1_000_000
"""Number of labels or item numbers of the gallery that are read at once."""


@dataclass(frozen=True)
class Task:
    """The queries, the gallery and the relevant items of one search.

    self_index: int64 [q], gallery position of each query itself, or -1.
    offsets, items, grades: the relevant gallery positions of each query (without itself), as in `Relevance`; grades is
        None if relevance is equality of labels.
    left_out: number of gallery items without a class, which are ignored in ranks.
    """

    query_labels: np.ndarray
    gallery_labels: np.ndarray
    self_index: np.ndarray
    offsets: np.ndarray
    items: np.ndarray
    grades: np.ndarray | None
    left_out: int = 0

    def counts(self, columns: np.ndarray) -> np.ndarray:
        """bool [b]: whether the items at gallery positions [b] count in the ranks of other items."""
        if not self.left_out:
            return np.ones(len(columns), bool)
        return labelled(self.gallery_labels[columns])

    def without_items(self) -> Task:
        """Return the task of finding the nearest items alone: no item is relevant."""
        nothing = np.zeros(0, np.int64)
        grades = None if self.grades is None else nothing
        return replace(self, offsets=np.zeros_like(self.offsets), items=nothing, grades=grades)

    def among(self, places: np.ndarray) -> Task:
        """Return the task for a part of the gallery, int64 [h], ascending, which must hold every relevant item."""
        # the last entry serves -1, a query outside the gallery
        place = np.full(len(self.gallery_labels) + 1, -1)
        place[places] = np.arange(len(places))
        labels = self.gallery_labels[places]
        own = place[self.self_index]
        return replace(
            self, gallery_labels=labels, self_index=own, items=place[self.items], left_out=0
        )

    @property
    def queries_of_items(self) -> np.ndarray:
        """int64 [p]: the query of each relevant item."""
        return np.repeat(np.arange(len(self.query_labels)), np.diff(self.offsets))


def task_of(
    query: EmbeddingSet,
    gallery: EmbeddingSet,
    same_source: bool,
    relevant: Relevance | None,
    distractors: bool = False,
) -> Task:
    """Look up each query in the gallery and list its relevant items.

    Args:
        distractors: gallery items without a class count as wrong answers. Otherwise they are ignored, unless relevance
            is judged: then only the judgements decide.

    Raises:
        ValueError: an image is twice in the gallery of a same-source search, or the judgements do not fit.
    """
    query_labels = np.asarray(query.labels, np.int64)
    gallery_labels = gallery.labels
    if not isinstance(gallery, Gallery):
        gallery_labels = np.asarray(gallery_labels, np.int64)  # those of shards stay on the disk
    self_index = find_self(query, gallery) if same_source else np.full(len(query), -1)
    judgements: tuple[Any, ...]
    if relevant is None:
        judgements = (*same_label(query_labels, gallery_labels, self_index), None)
    else:
        judgements = judged(relevant, len(query), len(gallery), self_index)
    left_out = 0 if distractors or relevant is not None else _without_class(gallery_labels)
    return Task(query_labels, gallery_labels, self_index, *judgements, left_out=left_out)


def _without_class(column: np.ndarray) -> int:
    """Count the labels of a column [g] that name no class; the column is read in parts."""
    count = 0
    for start in range(0, len(column), COLUMN):
        count += int((~labelled(column[start : start + COLUMN])).sum())
    return count


def find_self(query: EmbeddingSet, gallery: EmbeddingSet) -> np.ndarray:
    """int64 [q]: gallery position of each query by its `items` number; -1 if the gallery does not hold it.

    Raises:
        ValueError: the item number of a query is twice in the gallery.
    """
    numbers = gallery.items if isinstance(gallery, Gallery) else np.asarray(gallery.items)
    places = among(numbers, np.unique(query.items))
    items = np.asarray(numbers[places])
    order = np.argsort(items, kind="stable")
    ordered = items[order]
    order = places[order]
    twice = np.flatnonzero(ordered[1:] == ordered[:-1])
    if len(twice):
        raise ValueError(
            f"Item {ordered[twice[0]]} stands twice in the gallery, so a query cannot be told from its copy; "
            f"number every image once in `items`, or search with same_source=False."
        )
    if not len(ordered):
        return np.full(len(query), -1)
    place = np.minimum(np.searchsorted(ordered, query.items), len(ordered) - 1)
    return np.where(ordered[place] == query.items, order[place], -1)


def same_label(
    queries: np.ndarray, gallery: np.ndarray, self_index: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return offsets [q+1] and positions [p] of the gallery items that share each query's label, without itself."""
    places = among(gallery, np.unique(queries[labelled(queries)]))
    labels = np.asarray(gallery[places])
    order = np.argsort(labels, kind="stable")
    ordered = labels[order]
    order = places[order]
    first = np.searchsorted(ordered, queries, "left")
    last = np.searchsorted(ordered, queries, "right")
    counts = last - first
    offsets = np.concatenate([[0], np.cumsum(counts)])
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - first, counts)
    return _without_self(order[within], offsets, self_index)


def among(column: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Find where a column [g] holds one of some ascending numbers: int64 [n], ascending. It is read in parts."""
    places = [np.empty(0, np.int64)]
    for start in range(0, len(column) if len(numbers) else 0, COLUMN):
        part = np.asarray(column[start : start + COLUMN])
        at = np.minimum(np.searchsorted(numbers, part), len(numbers) - 1)
        places.append(start + np.flatnonzero(numbers[at] == part))
    return np.concatenate(places)


def _without_self(
    items: np.ndarray, offsets: np.ndarray, self_index: np.ndarray, *more: np.ndarray
) -> Any:
    """Remove each query from its own relevant items; return offsets, items and the other columns."""
    other = items != np.repeat(self_index, np.diff(offsets))
    kept = np.concatenate([[0], np.cumsum(other)])
    return (kept[offsets], items[other], *(array[other] for array in more))


def judged(
    relevant: Relevance, queries: int, gallery: int, self_index: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Validate judgements, and remove each query from its own relevant items.

    Raises:
        ValueError: offsets or positions do not fit q queries and g items, or an item is judged twice.
    """
    offsets = np.asarray(relevant.offsets)
    items = np.asarray(relevant.items)
    grades = np.asarray(relevant.grades)
    if (
        len(offsets) != queries + 1
        or offsets[0] != 0
        or offsets[-1] != len(items)
        or (np.diff(offsets) < 0).any()
    ):
        raise ValueError(
            f"The judgements' offsets must be {queries + 1} numbers rising from 0 to {len(items)}, one query after the "
            f"other; got {len(offsets)} ending at {offsets[-1] if len(offsets) else 'nothing'}."
        )
    if len(items) and (items.min() < 0 or items.max() >= gallery):
        raise ValueError(
            f"Judged items must be gallery positions 0..{gallery - 1}, got {items.min()}..{items.max()}."
        )
    if len(grades) != len(items) or not np.isin(grades, (0, 1, 2)).all():
        raise ValueError(
            f"Each of the {len(items)} judged items needs a grade: 0 easy, 1 hard or 2 junk."
        )
    pairs = np.sort(np.repeat(np.arange(queries), np.diff(offsets)) * gallery + items)
    twice = pairs[1:][pairs[1:] == pairs[:-1]]
    if len(twice):
        query, item = divmod(int(twice[0]), gallery)
        raise ValueError(
            f"Query {query} has two judgements of gallery item {item}; give one of each."
        )
    return _without_self(items, offsets, self_index, grades)


class Ranker:
    """Collects from blocks of keys the k best items of every query, and the number of items above each relevant one.

    Call `add` with blocks that together hold every compared pair exactly once, then call `finish`.
    """

    def __init__(
        self,
        task: Task,
        space: Space,
        queries: torch.Tensor,
        fetch: Callable[[torch.Tensor], torch.Tensor],
        k: int,
        reached: np.ndarray | None = None,
        ties: Ties = "gallery",
    ):
        """Prepare the keys of all relevant items.

        Args:
            queries: rows prepared by `space`.
            fetch: a function that returns the rows of `space` at gallery positions.
            reached: bool [p], the relevant items that the search compares; None means all.
        """
        self.task = task
        self.space = space
        self.queries = queries
        self.fetch = fetch
        self.k = k
        self.ties = ties
        self.reached = np.ones(len(task.items), bool) if reached is None else reached
        owners = task.queries_of_items
        items = task.items
        keys = np.empty(len(task.items), np.int64)
        for start in range(0, len(items), ITEM_ROWS):
            part = slice(start, start + ITEM_ROWS)
            scores = space.pair_scores(
                queries[self._to(owners[part])], fetch(self._to(items[part]))
            )
            keys[part] = sort_keys.pack(scores, self._to(items[part]), ties).cpu().numpy()
        # Counting needs the keys of each query in ascending order; relevant items that are not reached go last.
        keys[~self.reached] = sort_keys.ABOVE_ALL
        self.order = np.lexsort((keys, owners))
        self.keys = keys[self.order]
        self.above = np.zeros(len(keys), np.int64)
        self.best = torch.full((len(queries), k), sort_keys.NOTHING, device=queries.device)

    def _to(self, array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.queries.device)

    def add(self, rows: np.ndarray, columns: np.ndarray, items: torch.Tensor | None = None) -> None:
        """Compare queries `rows` [a] with gallery positions `columns` [b], ascending; `items`: rows fetched before."""
        positions = self._to(columns)
        if items is None:
            items = self.fetch(positions)
        scores = self.space.block_scores(self.queries[self._to(rows)], items)
        keys = sort_keys.pack(scores, positions, self.ties)

        # A query that is in the gallery is not in its own list.
        row, column, _ = _find(columns, self.task.self_index[rows][:, None])
        keys[self._to(row), self._to(column)] = sort_keys.NOTHING

        # A product of another shape may round a pair differently, so give each relevant item the key of its threshold.
        owned, thresholds = self._thresholds(rows)
        places = sort_keys.unpack(thresholds, self.ties)[1].cpu().numpy()
        places[(thresholds == sort_keys.ABOVE_ALL).cpu().numpy()] = -1
        row, column, number = _find(columns, places)
        keys[self._to(row), self._to(column)] = thresholds[self._to(row), self._to(number)]

        # Count the items above each relevant one, without the items that are ignored.
        if thresholds.shape[1]:
            counted_keys = keys
            if self.task.left_out:
                counted_keys = keys.masked_fill(
                    ~self._to(self.task.counts(columns)), sort_keys.NOTHING
                )
            above = sort_keys.count_above(counted_keys, thresholds).cpu().numpy()
            self.above[owned[owned >= 0]] += above[owned >= 0]

        # Merge the best of this block with the best so far.
        query_rows = self._to(rows)
        candidates = torch.cat([self.best[query_rows], sort_keys.best(keys, self.k)], dim=1)
        self.best[query_rows] = sort_keys.best(candidates, self.k)

    def _thresholds(self, rows: np.ndarray) -> tuple[np.ndarray, torch.Tensor]:
        """Return the numbers of each row's relevant items, [a t] (-1 is padding), and their keys [a t], ascending."""
        first = self.task.offsets[rows]
        last = self.task.offsets[rows + 1]
        width = int((last - first).max(initial=0))
        owned = first[:, None] + np.arange(width)
        owned = np.where(owned < last[:, None], owned, -1)
        if not width:
            return owned, torch.zeros(len(rows), 0, dtype=torch.int64, device=self.queries.device)
        return owned, self._to(np.where(owned >= 0, self.keys[owned], sort_keys.ABOVE_ALL))

    def finish(self, retrieved: np.ndarray, comparisons: np.ndarray) -> Ranking:
        """Return the ranking."""
        return assemble(
            self.task,
            self.space,
            self.order,
            self.keys,
            self.above,
            self.best,
            retrieved,
            comparisons,
            self.ties,
        )


def assemble(
    task: Task,
    space: Space,
    order: np.ndarray,
    keys: np.ndarray,
    above: np.ndarray,
    best: torch.Tensor,
    retrieved: np.ndarray,
    comparisons: np.ndarray,
    ties: Ties,
) -> Ranking:
    """Build a ranking from counts.

    Args:
        order: int64 [p], the relevant items of each query by ascending key, as indices into `task.items`.
        keys: int64 [p], their keys in that order (`ABOVE_ALL` if not reached).
        above: int64 [p], number of items above each.
        best: int64 [q k], keys of the first neighbours, descending.
    """
    lost = keys == sort_keys.ABOVE_ALL
    ranks = np.where(lost, UNRANKED, above + 1)
    owner = task.queries_of_items
    if lost.any():
        by_rank = np.lexsort((ranks, owner))
    else:  # ascending keys are descending ranks: reverse the items of each query
        by_rank = (task.offsets[:-1] + task.offsets[1:] - 1)[owner] - np.arange(len(owner))
    scores, positions = (column.cpu().numpy() for column in sort_keys.unpack(best, ties))
    shown = space.shown(scores)
    ranking = _ranking(
        task, order[by_rank], ranks[by_rank], positions, shown, retrieved, comparisons
    )
    return replace(ranking, ties=ties)


def _ranking(
    task: Task,
    order: np.ndarray,
    ranks: np.ndarray,
    positions: np.ndarray,
    scores: np.ndarray,
    retrieved: np.ndarray,
    comparisons: np.ndarray,
) -> Ranking:
    """Build a ranking from relevant items in an `order` [p] with their `ranks`, and neighbours [q k] with scores."""
    return Ranking(
        neighbours=positions,
        scores=scores,
        query_labels=task.query_labels,
        gallery_labels=task.gallery_labels,
        self_index=task.self_index,
        offsets=task.offsets,
        positive_items=task.items[order],
        positive_ranks=ranks,
        retrieved=retrieved,
        comparisons=comparisons,
        positive_grades=None if task.grades is None else task.grades[order],
        left_out=task.left_out,
    )


def _find(columns: np.ndarray, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find which gallery positions [a t] are among ascending `columns`: their rows, their index there, and column t."""
    place = np.minimum(np.searchsorted(columns, positions), len(columns) - 1)
    row, number = np.nonzero(columns[place] == positions)
    return row, place[row, number], number


def tiles(rows: np.ndarray, columns: np.ndarray) -> Iterable[tuple[np.ndarray, np.ndarray]]:
    """Yield the row and column numbers of the blocks that cover rows x columns."""
    for top in range(0, len(rows), QUERY_ROWS):
        for left in range(0, len(columns), ITEM_ROWS):
            yield rows[top : top + QUERY_ROWS], columns[left : left + ITEM_ROWS]


def rank_all(
    task: Task,
    space: Space,
    queries: torch.Tensor,
    k: int,
    ties: Ties,
    progress: ReportProgress | None,
) -> Ranking:
    """Compare every prepared query [q d] with every item of a space."""
    items = space.items
    ranker = Ranker(task, space, queries, items.__getitem__, k, ties=ties)
    done = 0
    for rows, columns in tiles(np.arange(len(queries)), np.arange(len(items))):
        # a view: gathered rows would be a copy
        ranker.add(rows, columns, items[columns[0] : columns[-1] + 1])
        done += len(rows) * len(columns)
        if progress:
            progress(done, len(queries) * len(items))
    retrieved = len(items) - (task.self_index >= 0).astype(np.int64)
    return ranker.finish(retrieved, np.full(len(queries), len(items)))


def rank_counted(
    task: Task,
    space: Space,
    rank: Callable[[Task, Space, np.ndarray], Ranking],
    nearest: Callable[[Task], Ranking],
) -> Ranking:
    """Return neighbours from the whole gallery, and ranks from the items that are not ignored.

    Args:
        rank: ranks a space that holds a part of the items; it also gets their gallery positions, which decide the order
            of equal scores.
        nearest: ranks all items.
    """
    places = np.flatnonzero(task.counts(np.arange(len(space.items))))
    items = space.items[torch.from_numpy(places).to(space.items.device)]
    counted = rank(task.among(places), replace(space, items=items), places)
    shown = nearest(task.without_items())
    return replace(
        shown,
        offsets=counted.offsets,
        positive_items=places[counted.positive_items],
        positive_ranks=counted.positive_ranks,
    )


def from_lists(
    task: Task,
    space: Space,
    scores: np.ndarray,
    positions: np.ndarray,
    comparisons: np.ndarray,
    k: int,
) -> Ranking:
    """Build a ranking from the ordered lists [q l] of a truncated search (-1 if a list is shorter)."""
    counted = _drop_self(scores, _only_counted(task, positions), task.self_index)[1]
    ranks = _ranks_in_lists(task, counted)
    scores, positions = _drop_self(scores, positions, task.self_index)
    order = np.lexsort((ranks, task.queries_of_items))
    pad = ((0, 0), (0, max(0, k - positions.shape[1])))
    shown = np.pad(positions[:, :k], pad, constant_values=-1)
    scores = np.pad(scores[:, :k], pad, constant_values=np.nan)
    return _ranking(
        task, order, ranks[order], shown, space.shown(scores), (positions >= 0).sum(1), comparisons
    )


def _drop_self(
    scores: np.ndarray, positions: np.ndarray, self_index: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Remove each query from its own list; the list then ends with -1."""
    scores = scores[:, : positions.shape[1]]
    is_self = (positions == self_index[:, None]) & (positions >= 0)
    order = np.argsort(is_self, axis=1, kind="stable")  # others keep their order, self goes last
    is_self = np.take_along_axis(is_self, order, 1)
    scores = np.take_along_axis(scores, order, 1)
    positions = np.take_along_axis(positions, order, 1)
    return np.where(is_self, np.nan, scores), np.where(is_self, -1, positions)


def _only_counted(task: Task, positions: np.ndarray) -> np.ndarray:
    """Remove ignored items from the lists [q l], and shorten them to the length of a search without these items."""
    if not task.left_out:
        return positions
    counts = (positions >= 0) & task.counts(positions)
    order = np.argsort(~counts, axis=1, kind="stable")
    length = max(0, positions.shape[1] - task.left_out)
    return np.take_along_axis(np.where(counts, positions, -1), order, 1)[:, :length]


def _ranks_in_lists(task: Task, positions: np.ndarray) -> np.ndarray:
    """int64 [p]: 1-based rank of each relevant item in its query's list, or `UNRANKED`."""
    size = len(task.gallery_labels)
    query, place = np.nonzero(positions >= 0)
    listed = query * size + positions[query, place]
    order = np.argsort(listed)
    listed = np.append(listed[order], -1)
    place = np.append(place[order], 0)
    relevant = task.queries_of_items * size + task.items
    at = np.searchsorted(listed[:-1], relevant)
    return np.where(listed[at] == relevant, place[at] + 1, UNRANKED)
