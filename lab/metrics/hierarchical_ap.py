"""AP at several levels of a class hierarchy: do the first results at least share the super-class? (004, table 9)"""

from __future__ import annotations

import numpy as np
import torch

from lab.core.results import Evidence, Measurement, labelled
from lab.kernels import sort_keys
from lab.kernels.sort_keys import Space
from lab.metrics._base import Metric, PositiveRanks, measurement

CELLS = 2**23
"""Number of similarities that are sorted at once."""


class HierarchicalAp(Metric):
    """Average precision over the whole ranking at every level; mean over queries. Columns `AP-fine`, `AP-coarse`, ...

    At the fine level an item is relevant if it shares the query's class; at a coarser level (`middle`, `coarse`) if it
    shares the query's class of that level. An item that is relevant at a level is relevant at all coarser levels, too.
    A query without positives at a level is excluded there. An image without a class of that level is ignored, as a
    query and in the gallery. Relevance is equality of labels, even if the ranking was judged by other criteria. The
    metric searches the embeddings again, so re-ranking has no effect on it. `AP-fine` equals `mean_average_precision`
    of a full ranking without re-ranking, ties included. Time O(q g log g); memory is a block of queries against the
    gallery. Source: Contextual, appendix I.4.

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
        queries = space.queries(evidence.query.vectors).double()
        items = space.items.double()
        self_index = torch.from_numpy(evidence.ranking.self_index)
        indices = torch.arange(len(items))
        values: dict[str, list[np.ndarray]] = {f"AP-{level}": [] for level in levels}
        for rows in torch.arange(len(queries)).split(max(1, CELLS // len(items))):
            keys = sort_keys.pack(
                space.block_scores(queries[rows], items), indices, evidence.ranking.ties
            )

            # A query that is in the gallery is ranked last and is not relevant to itself.
            in_gallery = self_index[rows] >= 0
            keys[in_gallery.nonzero()[:, 0], self_index[rows][in_gallery]] = sort_keys.NOTHING
            order = keys.argsort(dim=1, descending=True)
            ranked = (keys.gather(1, order) != sort_keys.NOTHING).numpy()
            for level, (query_labels, gallery_labels) in levels.items():
                precision = _average_precision(
                    order.numpy(), ranked, query_labels[rows.numpy()], gallery_labels
                )
                values[f"AP-{level}"].append(precision)
        return measurement({column: np.concatenate(parts) for column, parts in values.items()})


def _average_precision(
    order: np.ndarray, ranked: np.ndarray, query_labels: np.ndarray, gallery_labels: np.ndarray
) -> np.ndarray:
    """float64 [a]: average precision of some queries at one level; NaN for a query without a class of that level.

    Args:
        order: int64 [a g], gallery positions by rank. ranked: bool [a g], false for the query itself.
        query_labels: int64 [a], labels of the level. gallery_labels: int64 [g].
    """
    has_class = labelled(gallery_labels)
    relevant = (gallery_labels[order] == query_labels[:, None]) & ranked & has_class[order]
    if not has_class.all():
        # Move images without a class to the end of the list, where they precede no relevant item.
        classless_last = np.argsort(~has_class[order], axis=1, kind="stable")
        relevant = np.take_along_axis(relevant, classless_last, 1)
    precision = PositiveRanks.of_lists(relevant).average_precision
    return np.where(labelled(query_labels), precision, np.nan)
