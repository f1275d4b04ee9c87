"""Base class of all re-rankers, with the nodes of the neighbour graph, neighbour lists, and ranks from new scores."""

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
"""Number of queries that are compared with the whole gallery at once."""


@dataclass(frozen=True)
class Nodes:
    """The nodes of the neighbour graph, each image once: the queries that are not in the gallery, then the gallery.

    vectors: float64 or float32 [n d].
    query: int64 [q], node of each query.
    first_item: node of gallery position 0; the other positions follow in order.
    """

    vectors: torch.Tensor
    query: torch.Tensor
    first_item: int


def nodes(
    ranking: Ranking, query: EmbeddingSet, gallery: EmbeddingSet, device: torch.device
) -> Nodes:
    """Join queries and gallery to the nodes of one graph, on a device.

    Raises:
        ValueError: the ranking has other queries or another gallery, or the vectors hold NaN or infinity.
    """
    queries = len(ranking)
    items = len(ranking.gallery_labels)
    if (queries, items) != (len(query), len(gallery)):
        raise ValueError(
            f"The ranking has {queries} queries and {items} gallery items, but got {len(query)} queries and "
            f"{len(gallery)} items; re-rank with the embeddings from which the ranking was computed."
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
        raise ValueError(
            "The vectors hold NaN or infinity, so they have no neighbours; check the model's output."
        )
    return Nodes(
        torch.from_numpy(vectors).to(device), torch.from_numpy(node).to(device), len(outside)
    )


def neighbour_lists(unit: torch.Tensor, k: int, ties: Ties = "gallery") -> torch.Tensor:
    """int64 [n k]: each node itself, then the k-1 other nodes of highest cosine; equal ones in the order of `ties`.

    Args:
        unit: rows of unit length [n d].
    """
    return lists_in(Space("cosine", unit), unit, k, ties)


def lists_in(space: Space, queries: torch.Tensor, k: int, ties: Ties = "gallery") -> torch.Tensor:
    """int64 [n k]: each node itself, then the k-1 other nodes of highest score; equal ones in the order of `ties`.

    Args:
        space: the n nodes as items. queries: the same nodes as prepared queries.
    """
    self_row = torch.arange(len(queries), device=queries.device)[:, None]
    nearest = sort_keys.unpack(sort_keys.nearest(space, queries, k, ties), ties)[1]
    # Duplicates of a node may precede it in its own list, or push it out. So put the other nodes first, and the node
    # itself before them.
    others_first = (nearest == self_row).to(torch.uint8).argsort(dim=1, stable=True)
    return torch.cat([self_row, nearest.gather(1, others_first)[:, : k - 1]], dim=1)


def ranked_by(ranking: Ranking, scores: Iterator[torch.Tensor]) -> Ranking:
    """Rank the whole gallery by new scores, for the same queries and positives.

    Args:
        ranking: the ranking to replace.
        scores: float blocks [a g], the rows of all queries in order.
    """
    neighbours = []
    all_scores = []
    ranks = []
    width = ranking.neighbours.shape[1]
    start = 0
    for block in scores:
        rows = slice(start, start + len(block))
        start = rows.stop
        positions = torch.arange(block.shape[1], device=block.device)
        keys = sort_keys.pack(block.float(), positions, ranking.ties)

        # A query that is in the gallery is not in its own list.
        self_index = torch.from_numpy(ranking.self_index[rows]).to(block.device)
        in_gallery = self_index >= 0
        keys[in_gallery.nonzero()[:, 0], self_index[in_gallery]] = sort_keys.NOTHING
        best, positions = sort_keys.unpack(sort_keys.best(keys, width), ranking.ties)
        neighbours.append(positions.cpu().numpy())
        all_scores.append(best.cpu().numpy())
        ranks.append(_ranks(ranking, rows, keys))
    return reranked(
        ranking, np.concatenate(neighbours), np.concatenate(all_scores), np.concatenate(ranks)
    )


def reranked(
    ranking: Ranking, neighbours: np.ndarray, scores: np.ndarray, ranks: np.ndarray
) -> Ranking:
    """Return the ranking with new neighbours and scores, [q k], and new ranks of its positives, [p], in their order."""
    owner = np.repeat(np.arange(len(ranking)), ranking.num_positives)
    order = np.lexsort((ranks, owner))
    size = len(ranking.gallery_labels)
    grades = ranking.positive_grades
    if grades is not None:
        grades = grades[order]
    return replace(
        ranking,
        neighbours=neighbours,
        scores=scores,
        positive_items=ranking.positive_items[order],
        positive_ranks=ranks[order],
        retrieved=size - (ranking.self_index >= 0).astype(np.int64),
        comparisons=ranking.comparisons + size,
        positive_grades=grades,
    )


def _ranks(ranking: Ranking, rows: slice, keys: torch.Tensor) -> np.ndarray:
    """Compute the ranks of the positives of some queries, in the order of the ranking's list of positives."""
    first = ranking.offsets[rows.start]
    last = ranking.offsets[rows.stop]
    counts = ranking.num_positives[rows]
    if last == first:
        return np.zeros(0, np.int64)

    # Arrange the positives as a matrix, one row per query; unused entries hold the key above all others.
    number = np.arange(last - first) - np.repeat(ranking.offsets[rows] - first, counts)
    column = torch.from_numpy(number).to(keys.device)
    row = torch.from_numpy(np.repeat(np.arange(len(counts)), counts)).to(keys.device)
    items = torch.from_numpy(ranking.positive_items[first:last]).to(keys.device)
    positives = torch.full(
        (len(counts), int(counts.max())), sort_keys.ABOVE_ALL, device=keys.device
    )
    positives[row, column] = keys[row, items]

    # A rank is one more than the number of keys above.
    ascending, order = positives.sort(dim=1)
    above = torch.empty_like(positives).scatter_(1, order, sort_keys.count_above(keys, ascending))
    return (above[row, column] + 1).cpu().numpy()


Reranking = Callable[[Any, Ranking, EmbeddingSet, EmbeddingSet], Ranking]


def _among_labelled(rerank: Reranking) -> Reranking:
    """Wrap a re-ranker's method so that it re-ranks only images with a class."""

    @functools.wraps(rerank)
    def rerank_labelled(
        self: Any, ranking: Ranking, query: EmbeddingSet, gallery: EmbeddingSet
    ) -> Ranking:
        rows = np.flatnonzero(labelled(ranking.query_labels))
        if not ranking.left_out or not len(rows) or ranking.left_out == len(ranking.gallery_labels):
            return rerank(self, ranking, query, gallery)
        nodes(ranking, query, gallery, torch.device("cpu"))  # raises ValueError if the sizes differ
        part = Evidence(ranking, query, gallery).of_labelled()
        return _widened(ranking, rerank(self, part.ranking, part.query, part.gallery), rows)

    return rerank_labelled


def _widened(ranking: Ranking, part: Ranking, rows: np.ndarray) -> Ranking:
    """Insert the re-ranked queries `rows`, ranked among the gallery items with a class, into the whole ranking."""
    positions = np.flatnonzero(labelled(ranking.gallery_labels))
    neighbours = ranking.neighbours.copy()
    neighbours[rows] = np.where(part.neighbours >= 0, positions[part.neighbours], -1)
    scores = ranking.scores.copy()
    scores[rows] = part.scores
    retrieved = ranking.retrieved.copy()
    retrieved[rows] = part.retrieved
    comparisons = ranking.comparisons.copy()
    comparisons[rows] = part.comparisons
    return replace(
        ranking,
        neighbours=neighbours,
        scores=scores,
        positive_items=positions[part.positive_items],  # a query without a class has none
        positive_ranks=part.positive_ranks,
        retrieved=retrieved,
        comparisons=comparisons,
    )


class Reranker(HasKnobs):
    """Base class of all re-rankers, which rank the gallery again by the neighbours of the neighbours.

    neighbours_knob: name of the knob for the number of neighbours.
    """

    neighbours_knob: ClassVar[str] = "k"
    device: Any = argument(
        "Device: cpu, cuda, cuda:1, or auto (a GPU if there is one).", default="auto"
    )

    def __post_init__(self) -> None:
        self.device = device_of(self.device)

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "rerank" in vars(cls):
            setattr(cls, "rerank", _among_labelled(cls.rerank))  # noqa: B010  # wrap the entry's own method

    def rerank(self, ranking: Ranking, query: EmbeddingSet, gallery: EmbeddingSet) -> Ranking:
        """Return a new ranking of the whole gallery for the same queries.

        Ignored gallery items without a class are not re-ranked, and a query without a class keeps its ranking.

        Args:
            ranking: names for each query its own gallery item and its positives; its order is not read.
            query, gallery: the embeddings from which the ranking was computed.

        Raises:
            ValueError: the sizes differ from the ranking's, the widths are unequal, or vectors hold NaN.
        """
        raise NotImplementedError
