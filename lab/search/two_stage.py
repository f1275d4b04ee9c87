"""Two-stage search by class anchors (003, section 3): find the nearest anchors, then compare only their items."""

from __future__ import annotations

import copy
import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from lab.core import threads
from lab.core.knobs import MOST_ITEMS, knob
from lab.core.results import EmbeddingSet, Ranking
from lab.core.streams import ReportProgress
from lab.kernels import sort_keys
from lab.kernels.sort_keys import wide
from lab.search import _ranking
from lab.search._base import Index, Nearest, check_anchors, join, nearest_rows
from lab.search._ranking import Task


class TwoStage(Index):
    """An inverted file whose coarse centroids are the learnt class anchors, with one inverted list each.

    Every gallery item is in the list of one anchor. A query is compared only with the lists of its nearest anchors, so
    its ranking is truncated: positives in other lists are `UNRANKED`, and average precision depends on whether it is
    divided by all positives or by those retrieved (the knob `denominator` of the mAP metric). CAM compares by Euclidean
    distance; with cosine similarity only the directions of the anchors matter. Queries are grouped by anchor, so that
    each list needs one matrix product. Time O(q c d + q v (g / c) d) for c anchors, v of them probed.

    Example (`gallery` is that of `lab.search`):
        >>> anchors = np.array([[1, 0], [0, 1]], np.float32)  # of a model trained with class_anchor_margin
        >>> index = lab.search.create("two_stage", k=2).build(gallery, anchors=anchors)
        >>> index.neighbours(np.array([[0.6, 0.8]], np.float32))[1]  # image 1 is in the other list
        array([[ 2, -1]])
    """

    takes_anchors = True
    probes: int = knob(
        "Number of nearest anchors whose items are compared with the query.",
        default=1,
        ge=1,
        le=MOST_ITEMS,
        source="CAM, section 3",
    )

    def _build(self, gallery: EmbeddingSet, anchors: np.ndarray | None = None) -> None:
        super()._build(gallery)
        if anchors is None:
            raise ValueError(
                "Two-stage search needs the class anchors [c d] of the model: build(gallery, anchors=...). Models "
                "trained with class_anchor_margin have them; others can be searched with 'exact' or 'faiss_ivf'."
            )
        anchors = check_anchors(anchors, gallery)
        _check_probes(self.knobs.probes, len(anchors))
        self.learnt = {"anchors": anchors}
        anchors = anchors.astype(wide(gallery.vectors[:0]).dtype)
        # one origin, so that a query is prepared once for both stages
        self.anchors = self.space.holding(anchors)
        list_of = self.nearest_anchors(gallery.vectors, 1)[:, 0]
        order = np.argsort(list_of, kind="stable")
        self.list_of = list_of
        items = self.space.items
        on_cpu = items.device.type == "cpu"
        self.positions = torch.from_numpy(order).to(items.device)
        self.bounds = np.searchsorted(list_of[order], np.arange(len(anchors) + 1))
        # The rows of each list are contiguous, so a query reads them in one pass. On the CPU numpy allocates them,
        # because numpy requests huge pages: reading a list of 500 rows then takes three quarters of the time.
        if on_cpu:
            self.list_items = torch.from_numpy(items.numpy()[order])
        else:
            self.list_items = items[self.positions]
        self.row_of = torch.empty_like(self.positions)
        self.row_of[self.positions] = torch.arange(len(order), device=items.device)
        self.space = replace(self.space, items=self.list_items)
        self.arrays: Any = (
            (self.anchors.items.numpy(), self.list_items.numpy(), order) if on_cpu else None
        )

    def _again(self, gallery: EmbeddingSet) -> None:
        self.build(gallery, **self.learnt)

    def with_probes(self, probes: int) -> TwoStage:
        """Return the same index with another number of probed lists per query; nothing is copied.

        Raises:
            ValueError: the number is below one or above the number of anchors.
        """
        other = copy.copy(self)
        other.knobs = self.Knobs(**{**dict(self.knobs), "probes": probes})
        _check_probes(probes, len(self.anchors.items))
        return other

    def nearest_anchors(self, vectors: np.ndarray, v: int) -> np.ndarray:
        """int64 [q v]: the v anchors nearest to each vector [q d], nearest first."""
        keys = sort_keys.nearest(self.anchors, self.anchors.queries(vectors), v)
        return sort_keys.unpack(keys)[1].cpu().numpy()

    def _rank(self, task: Task, vectors: np.ndarray, progress: ReportProgress | None) -> Ranking:
        opened = self.nearest_anchors(vectors, self.knobs.probes)
        reached = (opened[task.queries_of_items] == self.list_of[task.items][:, None]).any(1)
        queries = self.space.queries(vectors)
        k = min(self.knobs.k, len(self._built()))

        def fetch(positions: torch.Tensor) -> torch.Tensor:
            return self.list_items[self.row_of[positions]]

        ranker = _ranking.Ranker(task, self.space, queries, fetch, k, reached, self.knobs.ties)
        for anchor in np.unique(opened):
            listed = self.positions[self.bounds[anchor] : self.bounds[anchor + 1]]  # ascending
            rows = np.flatnonzero((opened == anchor).any(1))  # the queries that probe this list
            for block in _ranking.tiles(rows, listed.cpu().numpy()):
                ranker.add(*block)
            if progress:
                progress(int(anchor) + 1, len(self.bounds) - 1)
        compared = np.diff(self.bounds)[opened].sum(1)
        self_index = task.self_index
        met_self = (self_index >= 0) & (opened == self.list_of[self_index][:, None]).any(1)
        return ranker.finish(compared - met_self, compared + len(self.bounds) - 1)

    def _nearest(self, vectors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        if len(vectors) == 1 and self.arrays and self.space.similarity == "cosine":
            return self._one(self.space.query_rows(vectors)[0], k)
        scores, positions = self._many(self.space.queries(vectors), k)
        return scores.cpu().numpy(), positions.cpu().numpy()

    def _one(self, query: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Find the neighbours of a single query [d] by numpy, whose calls take less time than torch's."""
        probes = self.knobs.probes
        anchors, items, positions = self.arrays
        query = query.astype(items.dtype, copy=False)
        nearness = anchors @ query
        if probes == 1:  # one list: a slice of it is a view
            anchor = nearness.argmax()
            listed = slice(self.bounds[anchor], self.bounds[anchor + 1])
            products = items[listed] @ query
            positions = positions[listed]
        else:
            opened = np.argpartition(-nearness, probes - 1)[:probes]
            lists = [slice(self.bounds[anchor], self.bounds[anchor + 1]) for anchor in opened]
            products = np.concatenate([items[listed] @ query for listed in lists])
            positions = np.concatenate([positions[listed] for listed in lists])

        if len(products) > k:
            nearest = np.argpartition(-products, k - 1)[:k]
            products = products[nearest]
            positions = positions[nearest]
        order = np.lexsort((positions, -products))
        products = products[order]
        positions = positions[order]
        if len(order) < k:
            products = np.append(products, np.full(k - len(order), np.nan, products.dtype))
            positions = np.append(positions, np.full(k - len(order), -1))
        return products[None], positions[None]

    def _many(self, queries: torch.Tensor, k: int) -> Nearest:
        """One product for each list, with all queries that probe it; v rounds, one for each nearest anchor."""
        if self.space.similarity == "cosine":
            nearness = queries @ self.anchors.items.T
        else:
            nearness = self.space.block_scores(queries, self.anchors.items)
        opened = nearness.topk(self.knobs.probes, dim=1).indices
        rounds = []
        for anchors in opened.unbind(1):
            order = anchors.argsort()
            edges = torch.searchsorted(
                anchors[order], torch.arange(len(self.bounds), device=anchors.device)
            ).tolist()
            scores = torch.full(
                (len(queries), k), torch.nan, dtype=nearness.dtype, device=queries.device
            )
            positions = torch.full((len(queries), k), -1, device=queries.device)

            def search(
                probed: tuple[int, torch.Tensor],
                scores: torch.Tensor = scores,
                positions: torch.Tensor = positions,
            ) -> None:
                """Search the list of one anchor for the queries that probe it."""
                anchor, rows = probed
                listed = slice(int(self.bounds[anchor]), int(self.bounds[anchor + 1]))
                nearest = nearest_rows(
                    self.space, queries[rows], self.list_items[listed], self.positions[listed], k
                )
                scores[rows], positions[rows] = nearest

            probed_lists = []
            for anchor, (start, end) in enumerate(itertools.pairwise(edges)):
                if end > start:
                    probed_lists.append((anchor, order[start:end]))
            if queries.device.type == "cpu":
                threads.each(probed_lists, search)
            else:
                for probed in probed_lists:
                    search(probed)
            rounds.append((scores, positions))
        return join(rounds, k)


def _check_probes(probes: int, anchors: int) -> None:
    if probes > anchors:
        raise ValueError(f"probes must be at most the number of anchors, {anchors}, got {probes}.")
