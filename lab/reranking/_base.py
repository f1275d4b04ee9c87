"""What every re-ranker shares: the graph's nodes, neighbour lists among them, and ranks from new scores."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch

from lab.core.knobs import HasKnobs, argument
from lab.core.knobs import knob as knob
from lab.core.results import EmbeddingSet, Evidence, Ranking, labelled
from lab.kernels import sort_keys
from lab.kernels.devices import device_of
from lab.kernels.sort_keys import Space, Ties

ROWS = 256
"""Queries scored against the whole gallery at once."""


@dataclass(frozen=True)
class Nodes:
    """All images that take part, each once: the queries that are not in the gallery, then the gallery.

    vectors: float64 or float32 [n d].
    query: int64 [q], node of each query.
    first_item: node of gallery position 0; the rest follows in order.
    """

    vectors: torch.Tensor
    query: torch.Tensor
    first_item: int


def nodes(ranking: Ranking, query: EmbeddingSet, gallery: EmbeddingSet, device: torch.device) -> Nodes:
    """Join queries and gallery, on a device.

    Raises:
        ValueError: the ranking is not one of these queries over this gallery.
    """
    sizes = (len(ranking), len(ranking.gallery_labels))
    if sizes != (len(query), len(gallery)):
        raise ValueError(
            f"The ranking is one of {sizes[0]} queries over {sizes[1]} items, but {len(query)} queries and "
            f"{len(gallery)} items were given; re-rank with the sets that it was made from."
        )
    if query.vectors.shape[1] != gallery.vectors.shape[1]:
        raise ValueError(
            f"The query vectors have {query.vectors.shape[1]} dimensions, the gallery {gallery.vectors.shape[1]}."
        )
    outside = np.flatnonzero(ranking.self_index < 0)
    node = ranking.self_index + len(outside)
    node[outside] = np.arange(len(outside))
    vectors = np.concatenate([query.vectors[outside], gallery.vectors])
    if not np.isfinite(vectors).all():
        raise ValueError("The vectors hold NaN or infinity, so no neighbour is nearest; look at the model's output.")
    return Nodes(torch.from_numpy(vectors).to(device), torch.from_numpy(node).to(device), len(outside))


def neighbour_lists(unit: torch.Tensor, k: int, ties: Ties = "gallery") -> torch.Tensor:
    """int64 [n k]: each node itself, then the k-1 others of greatest cosine; `ties` says in which order equal ones are.

    Args:
        unit: rows of unit length [n d].
    """
    return lists_in(Space("cosine", unit), unit, k, ties)


def lists_in(space: Space, queries: torch.Tensor, k: int, ties: Ties = "gallery") -> torch.Tensor:
    """int64 [n k]: each node itself, then the k-1 others of greatest score; `ties` says in which order equal ones are.

    Args:
        space: the n nodes as items. queries: the same nodes as prepared queries.
    """
    self_row = torch.arange(len(queries), device=queries.device)[:, None]
    nearest = sort_keys.unpack(sort_keys.nearest(space, queries, k, ties), ties)[1]
    # Duplicates of a node may precede it, or push it out of its own list.
    others_first = (nearest == self_row).to(torch.uint8).argsort(dim=1, stable=True)
    return torch.cat([self_row, nearest.gather(1, others_first)[:, : k - 1]], dim=1)


def ranked_by(ranking: Ranking, scores: Iterator[torch.Tensor]) -> Ranking:
    """The same queries and positives, ranked by new scores of the whole gallery.

    Args:
        ranking: the ranking to replace.
        scores: float blocks [a g], the rows of all queries in order.
    """
    neighbours, all_scores, ranks = [], [], []
    width = ranking.neighbours.shape[1]
    start = 0
    for block in scores:
        rows = slice(start, start + len(block))
        start = rows.stop
        keys = sort_keys.pack(block.float(), torch.arange(block.shape[1], device=block.device), ranking.ties)
        self_index = torch.from_numpy(ranking.self_index[rows]).to(block.device)
        keys[(self_index >= 0).nonzero()[:, 0], self_index[self_index >= 0]] = sort_keys.NOTHING
        best, positions = sort_keys.unpack(sort_keys.best(keys, width), ranking.ties)
        neighbours.append(positions.cpu().numpy())
        all_scores.append(best.cpu().numpy())
        ranks.append(_ranks(ranking, rows, keys))
    return reranked(ranking, np.concatenate(neighbours), np.concatenate(all_scores), np.concatenate(ranks))


def reranked(ranking: Ranking, neighbours: np.ndarray, scores: np.ndarray, ranks: np.ndarray) -> Ranking:
    """A ranking with other neighbours and scores [q k], and ranks [p] of its positives in the order it lists them."""
    owner = np.repeat(np.arange(len(ranking)), ranking.num_positives)
    order = np.lexsort((ranks, owner))
    size = len(ranking.gallery_labels)
    return replace(
        ranking,
        neighbours=neighbours,
        scores=scores,
        positive_items=ranking.positive_items[order],
        positive_ranks=ranks[order],
        retrieved=size - (ranking.self_index >= 0).astype(np.int64),
        comparisons=ranking.comparisons + size,
        positive_grades=None if ranking.positive_grades is None else ranking.positive_grades[order],
    )


def _ranks(ranking: Ranking, rows: slice, keys: torch.Tensor) -> np.ndarray:
    """Ranks of the block's positives, in the order in which the ranking lists them."""
    first, last = ranking.offsets[rows.start], ranking.offsets[rows.stop]
    counts = ranking.num_positives[rows]
    row = np.repeat(np.arange(len(counts)), counts)
    column = np.arange(last - first) - np.repeat(ranking.offsets[rows] - first, counts)
    items = torch.from_numpy(ranking.positive_items[first:last]).to(keys.device)
    row, column = (torch.from_numpy(a).to(keys.device) for a in (row, column))  # type: ignore[assignment]  # moved
    mine = torch.full((len(counts), int(counts.max(initial=0))), sort_keys.ABOVE_ALL, device=keys.device)
    if not mine.numel():
        return np.zeros(0, np.int64)
    mine[row, column] = keys[row, items]
    ascending, order = mine.sort(dim=1)
    above = torch.empty_like(mine).scatter_(1, order, sort_keys.count_above(keys, ascending))
    return (above[row, column] + 1).cpu().numpy()


Reranking = Callable[[Any, Ranking, EmbeddingSet, EmbeddingSet], Ranking]


def _of_labelled(rerank: Reranking) -> Reranking:
    """Wrap a re-ranker's method, so that it sees only the images that count."""

    @functools.wraps(rerank)
    def of_labelled(self: Any, ranking: Ranking, query: EmbeddingSet, gallery: EmbeddingSet) -> Ranking:
        rows = np.flatnonzero(labelled(ranking.query_labels))
        if not ranking.left_out or not len(rows) or ranking.left_out == len(ranking.gallery_labels):
            return rerank(self, ranking, query, gallery)
        nodes(ranking, query, gallery, torch.device("cpu"))  # which refuses sets of other sizes
        part = Evidence(ranking, query, gallery).of_labelled()
        return _widened(ranking, rerank(self, part.ranking, part.query, part.gallery), rows)

    return of_labelled


def _widened(ranking: Ranking, part: Ranking, rows: np.ndarray) -> Ranking:
    """A ranking in which the queries at `rows` are re-ranked among the gallery items that have a class."""
    places = np.flatnonzero(labelled(ranking.gallery_labels))
    neighbours, scores = ranking.neighbours.copy(), ranking.scores.copy()
    neighbours[rows] = np.where(part.neighbours >= 0, places[part.neighbours], -1)
    scores[rows] = part.scores
    retrieved, comparisons = ranking.retrieved.copy(), ranking.comparisons.copy()
    retrieved[rows], comparisons[rows] = part.retrieved, part.comparisons
    return replace(
        ranking,
        neighbours=neighbours,
        scores=scores,
        positive_items=places[part.positive_items],  # a query without a class has none
        positive_ranks=part.positive_ranks,
        retrieved=retrieved,
        comparisons=comparisons,
    )


class Reranker(HasKnobs):
    """Base of every re-ranker: orders the gallery anew by what the neighbours of the neighbours say.

    neighbours_knob: the knob that says how many neighbours are looked at.
    """

    neighbours_knob: ClassVar[str] = "k"
    device: Any = argument("Where it computes: cpu, cuda, cuda:1, or auto, a GPU when there is one.", default="auto")

    def __post_init__(self) -> None:
        self.device = device_of(self.device)

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "rerank" in vars(cls):
            setattr(cls, "rerank", _of_labelled(cls.rerank))  # noqa: B010  # an entry's own, with a choice before it

    def rerank(self, ranking: Ranking, query: EmbeddingSet, gallery: EmbeddingSet) -> Ranking:
        """A new ranking of the whole gallery for the same queries.

        Gallery items that have no class and count nowhere take no part, and a query without a class keeps its ranking.

        Args:
            ranking: says which image is each query itself and which are its positives; its order is not read.
            query, gallery: the embeddings that it was made from.

        Raises:
            ValueError: sets of other sizes than the ranking's, of unequal dimensions, or with NaN.
        """
        raise NotImplementedError
