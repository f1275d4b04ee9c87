"""AP at several levels of a hierarchy: is what comes first at least of the same kind? (004, table 9)"""

from __future__ import annotations

import numpy as np
import torch

from lab.core.results import Evidence, Measurement, labelled
from lab.kernels import sort_keys
from lab.kernels.sort_keys import Space
from lab.metrics._base import Metric, PositiveRanks, measurement

CELLS = 2**23
"""Pairs that are sorted at once."""


class HierarchicalAp(Metric):
    """Average precision over the whole ranking at every level; mean over queries. Columns `AP-fine`, `AP-coarse`, ...

    At the fine level an item is relevant when it shares the query's class; at a coarser one (`middle`, `coarse`) when
    it shares the query's class of that level, so that whatever is relevant at a level is relevant at all coarser ones.
    A query that is alone at a level counts nothing there, and an image without a class of that level counts neither as
    a query nor in the gallery. Relevance is equality of labels, also where the ranking was
    judged otherwise, and the embeddings are searched anew, so that re-ranking does not show here. `AP-fine` is the mAP
    of `mean_average_precision` on a ranking that is neither re-ranked nor cut short, ties included. Time
    O(q g log g); memory is a block of queries against the gallery. Source: Contextual, appendix I.4.

    Example (`evidence` is that of `lab.metrics`):
        >>> kind = np.array([0, 0, 0, 1, 1, 1])  # a super-class of each image
        >>> levels = {"coarse": (kind, kind)}
        >>> measured = lab.metrics.create("hierarchical_ap")(Evidence(ranking, images, images, levels=levels))
        >>> {name: round(value, 3) for name, value in measured.values.items()}
        {'AP-fine': 0.635, 'AP-coarse': 1.0}
    """

    needs = "levels"
    reads_gallery = True

    def __call__(self, evidence: Evidence) -> Measurement:
        levels = {"fine": (evidence.query.labels, evidence.gallery.labels), **evidence.levels}
        space = Space.of(evidence.gallery.vectors, evidence.similarity, torch.device("cpu"))
        queries, items = space.queries(evidence.query.vectors).double(), space.items.double()
        itself = torch.from_numpy(evidence.ranking.self_index)
        places = torch.arange(len(items))
        values: dict[str, list[np.ndarray]] = {f"AP-{level}": [] for level in levels}
        for rows in torch.arange(len(queries)).split(max(1, CELLS // len(items))):
            keys = sort_keys.pack(space.block_scores(queries[rows], items), places, evidence.ranking.ties)
            there = itself[rows] >= 0
            keys[there.nonzero()[:, 0], itself[rows][there]] = sort_keys.NOTHING  # self goes last and counts nothing
            order = keys.argsort(dim=1, descending=True)
            ranked = (keys.gather(1, order) != sort_keys.NOTHING).numpy()
            for level, (mine, theirs) in levels.items():
                known = labelled(theirs)
                values[f"AP-{level}"].append(_precision(order, ranked, mine[rows.numpy()], theirs, known))
        return measurement({column: np.concatenate(parts) for column, parts in values.items()})


def _precision(
    order: torch.Tensor, ranked: np.ndarray, mine: np.ndarray, theirs: np.ndarray, known: np.ndarray
) -> np.ndarray:
    """float64 [a]: average precision of some queries at one level, NaN for a query without a class of it.

    Args:
        order: int64 [a g], gallery positions by rank. ranked: bool [a g], false for the query itself.
        mine, theirs: int64 [a], [g], labels of the level. known: bool [g], which gallery items have such a class.
    """
    places = order.numpy()
    relevant = (theirs[places] == mine[:, None]) & ranked & known[places]
    if not known.all():  # the others go last, where they stand before no relevant item
        last = np.argsort(~known[places], axis=1, kind="stable")
        relevant = np.take_along_axis(relevant, last, 1)
    return np.where(labelled(mine), PositiveRanks.of_lists(relevant).average_precision, np.nan)
