"""Re-ranking by contextual similarity (004, appendix I.5): the share of neighbours that two images have in common."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from lab.core.knobs import MOST_ITEMS, knob
from lab.core.results import EmbeddingSet, Ranking
from lab.reranking._base import ROWS, Nodes, Reranker, neighbour_lists, nodes, ranked_by


def shared_neighbours(lists: torch.Tensor, nodes: torch.Tensor) -> torch.Tensor:
    """float64 [a k]: eq. 16, the share of node i's neighbours that are neighbours of its j-th neighbour, too.

    Args:
        lists: int64 [n k], the neighbourhood of every node, itself included.
        nodes: int64 [a], the nodes i.
    """
    n = len(lists)
    neighbours = lists[nodes]
    # Number the pairs (row, neighbour), so that one sorted list answers for all rows whether a node is a neighbour.
    row = torch.arange(len(nodes), device=nodes.device)
    pairs = (row[:, None] * n + neighbours).flatten().sort().values
    candidates = row[:, None, None] * n + lists[neighbours]
    position = torch.searchsorted(pairs, candidates).clamp(max=len(pairs) - 1)
    return (pairs[position] == candidates).double().mean(2)


class Contextual(Reranker):
    """Score beta w + (1 - beta) exp(2s - 2): cosine similarity s mixed with the share w of common neighbours.

    w (eq. 15, 16 with eps = 0) is |N(i) & N(j)| / k for items j in N(i), the k nearest images of image i including
    itself, and 0 for all other items; exp(2s - 2) maps s to the same range. Neighbourhoods are taken among queries and
    gallery together. Time O(n^2 d + q k^2) for n images, memory O(n k).

    Example (`ranking` and `images` are those of `lab.reranking`):
        >>> lab.reranking.create("contextual", k=3, beta=0.5).rerank(ranking, images, images).neighbours[1]
        array([0, 2, 3])
    """

    k: int = knob(
        "Number of neighbours, the image itself included.",
        default=16,
        ge=2,
        le=MOST_ITEMS,
        source="Contextual, table 10",
    )
    beta: float = knob(
        "Weight of the contextual similarity.",
        default=0.1,
        ge=0,
        le=1,
        source="Contextual, appendix I.5",
    )

    def rerank(self, ranking: Ranking, query: EmbeddingSet, gallery: EmbeddingSet) -> Ranking:
        graph = nodes(ranking, query, gallery, self.device)
        lengths = torch.linalg.vector_norm(graph.vectors, dim=1, keepdim=True, dtype=torch.float64)
        if (lengths == 0).any():
            raise ValueError(
                "A vector is zero, so its cosine similarity is undefined; leave it out before re-ranking."
            )
        unit = graph.vectors.double() / lengths
        lists = neighbour_lists(unit, min(self.knobs.k, len(unit)), ranking.ties)
        return ranked_by(ranking, self._scores(unit, graph, lists))

    def _scores(
        self, unit: torch.Tensor, graph: Nodes, lists: torch.Tensor
    ) -> Iterator[torch.Tensor]:
        """Yield the scores of the gallery, float64 [a g], for blocks of queries."""
        beta = self.knobs.beta
        for queries in graph.query.split(ROWS):
            scores = (1 - beta) * torch.exp(2 * (unit[queries] @ unit.T) - 2)
            scores.scatter_add_(1, lists[queries], beta * shared_neighbours(lists, queries))
            yield scores[:, graph.first_item :]
