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
"""A neighbour's own reciprocal set joins when more than this share of it is already there (eq. 4)."""

PAIRS = 8192
"""Pairs whose distance is computed at once."""


def reciprocal(lists: np.ndarray) -> np.ndarray:
    """bool [n k]: whether each node is on the list of its neighbour, too. `lists` int [n k]."""
    owner = np.arange(len(lists))[:, None, None]
    marks = [(lists[part] == owner[start : start + len(part)]).any(2) for start, part in _parts(lists)]
    return np.concatenate(marks)


def _parts(lists: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    step = max(1, 2**22 // lists.shape[1] ** 2)
    for start in range(0, len(lists), step):
        yield start, lists[start : start + step]


def _rows(lists: np.ndarray, kept: np.ndarray) -> csr_array:
    """Sparse bool [n n] whose row i marks the kept members of node i's list."""
    from scipy.sparse import csr_array

    counts = np.concatenate([[0], np.cumsum(kept.sum(1))])
    return csr_array((np.ones(counts[-1]), lists[kept], counts), shape=(len(lists), len(lists)))


def expanded_sets(lists: np.ndarray, k1: int) -> csr_array:
    """Sparse [n n] of ones: each node's k1-reciprocal neighbours, joined by those of its close ones (eq. 3, 4).

    `lists` int [n k1+1] begins with the node itself. A member's half set, of its round(k1/2) nearest, joins when more
    than two thirds of it are among the node's own.
    """
    from scipy.sparse import csr_array

    sets = _rows(lists, reciprocal(lists))
    near = lists[:, : int(np.around(k1 / 2)) + 1]
    half = _rows(near, reciprocal(near))
    sizes = np.diff(half.indptr)
    shared = (sets @ half.T).multiply(sets).tocsr()  # [i, c]: how many of c's half set are among i's own, c in own
    joins = shared.data > OVERLAP * sizes[shared.indices]
    owners = np.repeat(np.arange(len(lists)), np.diff(shared.indptr))
    joining = csr_array((joins[joins].astype(float), (owners[joins], shared.indices[joins])), shape=sets.shape)
    expanded = (sets + joining @ half).tocsr()
    expanded.data[:] = 1
    return expanded


def weighted_rows(
    sets: csr_array, squared_distances: Callable[[np.ndarray, np.ndarray], np.ndarray], k2: int, lists: np.ndarray
) -> csr_array:
    """Sparse [n n]: each set's members weighted by exp(-distance), rows summing to 1, then averaged over k2 neighbours.

    Args:
        sets: sparse [n n] of ones.
        squared_distances: function of (rows, columns) index arrays of equal length.
        lists: int [n >=k2], each node itself and its neighbours.
    """
    from scipy.sparse import csr_array, diags_array

    owners = np.repeat(np.arange(sets.shape[0]), np.diff(sets.indptr))
    weights = np.exp(-squared_distances(owners, sets.indices))
    rows = csr_array((weights, sets.indices, sets.indptr), shape=sets.shape)
    rows = diags_array(1 / rows.sum(axis=1)) @ rows
    if k2 == 1:
        return rows.tocsr()
    nearest = lists[:, :k2]
    return (_rows(nearest, np.ones(nearest.shape, bool)) @ rows / nearest.shape[1]).tocsr()


def jaccard_distances(rows: csr_array, columns: csr_array, of: np.ndarray) -> np.ndarray:
    """float64 [a n]: 1 - sum(min) / sum(max) between the weights of nodes `of` and of all nodes.

    `columns` is `rows` in column order: the inverted file that finds who shares a member. Rows sum to 1, so that
    sum(max) = 2 - sum(min).
    """
    distances = np.ones((len(of), rows.shape[0]))
    for place, node in enumerate(of):
        mine = slice(rows.indptr[node], rows.indptr[node + 1])
        spans = [slice(columns.indptr[c], columns.indptr[c + 1]) for c in rows.indices[mine]]
        theirs = np.concatenate([columns.indices[s] for s in spans])
        least = np.concatenate([np.minimum(columns.data[s], w) for s, w in zip(spans, rows.data[mine], strict=True)])
        shared = np.bincount(theirs, weights=least, minlength=rows.shape[0])
        distances[place] = 1 - shared / (2 - shared)
    return distances


def distances(graph: Nodes, k1: int, k2: int, lam: float, ties: Ties = "gallery") -> Iterator[torch.Tensor]:
    """Blocks of rows, float64 [a g], of the final distance (1 - lam) Jaccard + lam d.

    d is the squared Euclidean distance divided by the greatest one of its query, as in the released code. With every
    block comes all that its queries need; no [n n] matrix is kept.
    """
    vectors = graph.vectors.cpu().numpy()
    space = Space.of(vectors, "euclidean", graph.vectors.device)  # its unit cancels in the ratio of distances
    left, right = space.queries(vectors), space.items
    farthest = [-(left[of] @ right.T).amin(1) for of in torch.arange(len(left)).split(ROWS)]
    greatest = torch.cat(farthest)
    greatest[greatest <= 0] = 1  # all images alike: every distance is 0

    def scaled(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        parts = []
        for start in range(0, len(rows), PAIRS):
            i, j = (
                torch.from_numpy(a[start : start + PAIRS].astype(np.int64)).to(left.device) for a in (rows, columns)
            )
            gap = -space.pair_products(left[i], right[j])
            parts.append((gap.clamp(min=0) / greatest[i]).cpu().numpy())
        return np.concatenate(parts)

    lists = lists_in(space, left, min(max(k1 + 1, k2), len(left)), ties).cpu().numpy()
    rows = weighted_rows(expanded_sets(lists[:, : k1 + 1], k1), scaled, k2, lists)
    columns = rows.tocsc()
    for of in graph.query.split(ROWS):
        gap = -(left[of] @ right.T).clamp(max=0) / greatest[of][:, None]
        jaccard = torch.from_numpy(jaccard_distances(rows, columns, of.cpu().numpy())).to(gap.device)
        yield ((1 - lam) * jaccard + lam * gap)[:, graph.first_item :]


class KReciprocal(Reranker):
    """Order by (1 - lambda) Jaccard distance of expanded k-reciprocal neighbourhoods + lambda scaled distance.

    Follows the released code: squared Euclidean distances divided by the query's greatest one, and neighbourhood
    weights exp(-distance) that sum to 1 (the paper leaves both out). Neighbourhoods are those among queries and
    gallery together. Scores shown are minus the final distance. Time O(n^2 d) for n images, memory O(n k1^2).

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
    lam: float = knob("Weight of the original distance.", default=0.3, ge=0, le=1, source="Zhong et al. eq. 12")

    def rerank(self, ranking: Ranking, query: EmbeddingSet, gallery: EmbeddingSet) -> Ranking:
        graph, knobs = nodes(ranking, query, gallery, self.device), self.knobs
        blocks = distances(graph, knobs.k1, knobs.k2, knobs.lam, ranking.ties)
        return ranked_by(ranking, (-block for block in blocks))
