"""k-reciprocal re-ranking (Zhong et al., CVPR 2017)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import torch

from lab.core.knobs import MOST_ITEMS, knob
from lab.core.results import EmbeddingSet, Ranking
from lab.kernels.sort_keys import Space, Ties
from lab.reranking._base import ROWS, Nodes, Reranker, lists_in, nodes, ranked_by

if TYPE_CHECKING:
    from scipy.sparse import csr_array

OVERLAP = 2 / 3
"""The half set of a neighbour is added if more than this share of it is in the node's set already (eq. 4)."""

PAIRS = 8192
"""Number of pairs whose distance is computed at once."""


def reciprocal(lists: np.ndarray) -> np.ndarray:
    """bool [n k]: whether each node is in the list of its neighbour, too. `lists`: int [n k]."""
    node = np.arange(len(lists))[:, None, None]
    step = max(1, 2**22 // lists.shape[1] ** 2)
    marks = []
    for start in range(0, len(lists), step):
        neighbours = lists[start : start + step]
        marks.append((lists[neighbours] == node[start : start + step]).any(2))
    return np.concatenate(marks)


def _sparse_rows(lists: np.ndarray, kept: np.ndarray) -> csr_array:
    """Sparse [n n] of ones whose row i marks the kept members of node i's list."""
    from scipy.sparse import csr_array

    starts = np.concatenate([[0], np.cumsum(kept.sum(1))])
    return csr_array((np.ones(starts[-1]), lists[kept], starts), shape=(len(lists), len(lists)))


def expanded_sets(lists: np.ndarray, k1: int) -> csr_array:
    """Sparse [n n] of ones: each node's k1-reciprocal neighbours, extended by those of close neighbours (eq. 3, 4).

    `lists`, int [n k1+1], begins with the node itself. The half set of a member, among its round(k1/2) nearest, is
    added if more than two thirds of it are in the node's own set.
    """
    from scipy.sparse import csr_array

    sets = _sparse_rows(lists, reciprocal(lists))
    near = lists[:, : int(np.around(k1 / 2)) + 1]
    half_sets = _sparse_rows(near, reciprocal(near))
    sizes = np.diff(half_sets.indptr)

    # shared[i, c]: number of members of c's half set that are in the set of i, for members c of that set.
    shared = (sets @ half_sets.T).multiply(sets).tocsr()
    added = shared.data > OVERLAP * sizes[shared.indices]
    node = np.repeat(np.arange(len(lists)), np.diff(shared.indptr))
    additions = csr_array(
        (added[added].astype(float), (node[added], shared.indices[added])), shape=sets.shape
    )
    expanded = (sets + additions @ half_sets).tocsr()
    expanded.data[:] = 1
    return expanded


def weighted_rows(
    sets: csr_array,
    squared_distances: Callable[[np.ndarray, np.ndarray], np.ndarray],
    k2: int,
    lists: np.ndarray,
) -> csr_array:
    """Sparse [n n]: members weighted by exp(-distance), rows divided by their sums, then averaged over k2 neighbours.

    Args:
        sets: sparse [n n] of ones.
        squared_distances: a function of index arrays (rows, columns) of equal length.
        lists: int [n >=k2], each node itself and its neighbours.
    """
    from scipy.sparse import csr_array, diags_array

    node = np.repeat(np.arange(sets.shape[0]), np.diff(sets.indptr))
    weights = np.exp(-squared_distances(node, sets.indices))
    rows = csr_array((weights, sets.indices, sets.indptr), shape=sets.shape)
    rows = diags_array(1 / rows.sum(axis=1)) @ rows
    if k2 == 1:
        return rows.tocsr()
    nearest = lists[:, :k2]
    neighbours = _sparse_rows(nearest, np.ones(nearest.shape, bool))
    return (neighbours @ rows / nearest.shape[1]).tocsr()


def jaccard_distances(rows: csr_array, columns: csr_array, nodes: np.ndarray) -> np.ndarray:
    """float64 [a n]: 1 - sum(min) / sum(max) between the weights of `nodes` and of all nodes.

    `columns` is `rows` in column order; as an inverted file it lists the nodes that share a member. Rows sum to 1, so
    sum(max) = 2 - sum(min).
    """
    distances = np.ones((len(nodes), rows.shape[0]))
    for row, node in enumerate(nodes):
        others = []
        minima = []
        # the members of the node's set
        for entry in range(rows.indptr[node], rows.indptr[node + 1]):
            member = rows.indices[entry]
            span = slice(columns.indptr[member], columns.indptr[member + 1])
            others.append(columns.indices[span])
            minima.append(np.minimum(columns.data[span], rows.data[entry]))
        shared = np.bincount(
            np.concatenate(others), weights=np.concatenate(minima), minlength=rows.shape[0]
        )
        distances[row] = 1 - shared / (2 - shared)
    return distances


def distances(
    graph: Nodes, k1: int, k2: int, lam: float, ties: Ties = "gallery"
) -> Iterator[torch.Tensor]:
    """Yield the final distance (1 - lam) Jaccard + lam d in blocks of queries, float64 [a g].

    d is the squared Euclidean distance divided by the largest one of its query, as in the released code. No [n n]
    matrix is kept.
    """
    vectors = graph.vectors.cpu().numpy()
    # its unit cancels in the ratio of distances
    space = Space.of(vectors, "euclidean", graph.vectors.device)
    queries = space.queries(vectors)
    items = space.items
    blocks = torch.arange(len(queries)).split(ROWS)
    largest = torch.cat([-(queries[block] @ items.T).amin(1) for block in blocks])
    largest[largest <= 0] = 1  # all images are equal: every distance is 0

    def scaled_distances(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Compute the squared distance of pairs of nodes, divided by the largest one of the first node."""
        parts = []
        for start in range(0, len(rows), PAIRS):
            i = torch.from_numpy(rows[start : start + PAIRS].astype(np.int64)).to(queries.device)
            j = torch.from_numpy(columns[start : start + PAIRS].astype(np.int64)).to(queries.device)
            squared = -space.pair_products(queries[i], items[j])
            parts.append((squared.clamp(min=0) / largest[i]).cpu().numpy())
        return np.concatenate(parts)

    lists = lists_in(space, queries, min(max(k1 + 1, k2), len(queries)), ties).cpu().numpy()
    rows = weighted_rows(expanded_sets(lists[:, : k1 + 1], k1), scaled_distances, k2, lists)
    columns = rows.tocsc()
    for block in graph.query.split(ROWS):
        squared = -(queries[block] @ items.T).clamp(max=0) / largest[block][:, None]
        jaccard = torch.from_numpy(jaccard_distances(rows, columns, block.cpu().numpy())).to(
            squared.device
        )
        yield ((1 - lam) * jaccard + lam * squared)[:, graph.first_item :]


class KReciprocal(Reranker):
    """Order by (1 - lambda) Jaccard distance of expanded k-reciprocal neighbourhoods + lambda scaled distance.

    It follows the released code: squared Euclidean distances are divided by the largest one of the query, and the
    neighbourhood weights exp(-distance) are divided by their sum (the paper does neither). Neighbourhoods are taken
    among queries and gallery together. The scores are minus the final distance. Time O(n^2 d) for n images, memory
    O(n k1^2).

    Example (`ranking` and `images` are those of `lab.reranking`):
        >>> lab.reranking.create("k_reciprocal", k1=3, k2=1).rerank(ranking, images, images).neighbours[1]
        array([0, 2, 3])
    """

    neighbours_knob = "k1"

    k1: int = knob(
        "Number of neighbours that are tested for reciprocity.",
        default=20,
        ge=1,
        le=MOST_ITEMS,
        source="Zhong et al. 2017, section 4.1",
    )
    k2: int = knob(
        "Number of neighbours over which weights are averaged (query expansion); 1: no averaging.",
        default=6,
        ge=1,
        le=MOST_ITEMS,
        source="Zhong et al. eq. 11",
    )
    lam: float = knob(
        "Weight of the original distance.", default=0.3, ge=0, le=1, source="Zhong et al. eq. 12"
    )

    def rerank(self, ranking: Ranking, query: EmbeddingSet, gallery: EmbeddingSet) -> Ranking:
        graph = nodes(ranking, query, gallery, self.device)
        knobs = self.knobs
        blocks = distances(graph, knobs.k1, knobs.k2, knobs.lam, ranking.ties)
        return ranked_by(ranking, (-block for block in blocks))
