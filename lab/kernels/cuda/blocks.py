"""A batch with mixtures cut into blocks of whole classes, so that both parents of a mixture stand in its block."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from lab.kernels.layout import Blocks, Mixture


def blocks_of(n: int, mixture: Mixture, positives: Tensor, largest: int) -> Blocks | None:
    """Blocks of at most `largest` originals; None where a class has more, or classes are not complete.

    positives: int64 [p 2] among the n + v ranked rows; complete classes list every pair of their rows.
    """
    parents = mixture.parents
    device = positives.device
    (query, item), (x, z), v = positives.unbind(1), parents.unbind(1), len(parents)
    lowest = torch.arange(n + v, device=device).scatter_reduce(0, query, item, "amin")
    alike = (
        (lowest[query] == lowest[item]).all()
        & (lowest[x] == lowest[z]).all()
        & (lowest[x] == lowest[n:]).all()
    )
    if not bool(alike):
        return None
    by_class = lowest.cpu().numpy()
    _, of_originals = np.unique(by_class[:n], return_counts=True)
    _, of_ranked = np.unique(by_class, return_counts=True)
    if of_originals.max() > largest:
        return None
    edges, ranked_edges = _packed(of_originals, of_ranked, largest)
    order = torch.argsort(lowest[:n], stable=True)
    ranked = torch.argsort(lowest, stable=True)
    places = torch.empty(n, dtype=torch.int32, device=device)
    places[order] = torch.arange(n, dtype=torch.int32, device=device)
    place = torch.empty_like(ranked)
    place[ranked] = torch.arange(n + v, device=device)
    return Blocks(
        order=order,
        place=place,
        first=torch.cat([places, places[x]])[ranked],
        second=torch.cat([places, places[z]])[ranked],
        alpha=torch.cat([mixture.alpha.new_ones(n), mixture.alpha])[ranked],
        edges=torch.tensor(edges, dtype=torch.int32, device=device),
        ranked_edges=torch.tensor(ranked_edges, dtype=torch.int32, device=device),
    )


def _packed(
    of_originals: np.ndarray, of_ranked: np.ndarray, largest: int
) -> tuple[list[int], list[int]]:
    """As many whole classes a block as fit, by their rows in order: where blocks begin and end among both."""
    ends = np.cumsum(of_originals)
    ranked_ends = np.cumsum(of_ranked)
    edges = [0]
    ranked_edges = [0]
    while edges[-1] < ends[-1]:
        last = int(np.searchsorted(ends, edges[-1] + largest, side="right")) - 1
        edges.append(int(ends[last]))
        ranked_edges.append(int(ranked_ends[last]))
    return edges, ranked_edges
