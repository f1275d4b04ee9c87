"""Positive pairs, and checks of what reaches the kernels' public edge."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import torch
from torch import Tensor

from lab.kernels.memory import require_pairs


def check_embeddings(queries: Tensor, items: Tensor, exclude_self: bool = False) -> None:
    """Refuse embeddings that are not two float matrices of one width, type and device."""
    for name, tensor in (("queries", queries), ("items", items)):
        if tensor.ndim != 2:
            raise ValueError(f"{name} must be a matrix [rows d], got shape {list(tensor.shape)}.")
        if tensor.dtype not in (torch.float32, torch.float64):
            raise ValueError(
                f"{name} must be float32 or float64, got {tensor.dtype}; cast before ranking."
            )
    if queries.shape[1] != items.shape[1]:
        raise ValueError(
            f"queries and items must have one width, got {queries.shape[1]} and {items.shape[1]}."
        )
    if queries.dtype != items.dtype or queries.device != items.device:
        raise ValueError(
            f"queries and items must share type and device, got {queries.dtype} on {queries.device} "
            f"and {items.dtype} on {items.device}."
        )
    if exclude_self and len(queries) != len(items):
        raise ValueError(
            f"exclude_self needs queries and items to be one set, got {len(queries)} queries and {len(items)} items."
        )


def check_pairs(pairs: Tensor, rows: int, columns: int, what: str = "positives") -> None:
    """Refuse pairs that are not int64 [p 2] with rows inside the two sets."""
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype != torch.int64:
        raise ValueError(f"{what} must be int64 [p 2], got {pairs.dtype} {list(pairs.shape)}.")
    if not len(pairs):
        return
    low, (high, far) = int(pairs.min()), pairs.amax(0).tolist()
    if low < 0 or high >= rows or far >= columns:
        raise ValueError(
            f"{what} must name rows below {rows} and {columns}, got {low} to {high} and {far}."
        )


def check_positives(positives: Tensor, rows: int, columns: int) -> bool:
    """Refuse what `check_pairs` refuses, and a pair that is listed twice: it would be ranked against itself.

    Returns whether they are listed by query and then by item, as `positive_pairs` does.
    """
    check_pairs(positives, rows, columns)
    key = positives[:, 0] * columns + positives[:, 1]
    if bool((key[1:] > key[:-1]).all()):
        return True
    key, _ = torch.sort(key)
    again = torch.nonzero(key[1:] == key[:-1])
    if len(again):
        query, item = divmod(int(key[again[0, 0]]), columns)
        raise ValueError(
            f"positives must list each pair once, got query {query} with item {item} twice or more."
        )
    return False


def positive_pairs(query_labels: Tensor, item_labels: Tensor, exclude_self: bool) -> Tensor:
    """Every (query, item) of one label, int64 [p 2], by query and then by item.

    `exclude_self`: query i and item i are one example, and no pair. Time and memory O(q + r log r + p), where a mask of
    all pairs would take O(q r).

    Raises:
        ValueError: there are more than memory can hold.
    """
    if item_labels.device.type == "cpu":
        with suppress(RuntimeError):  # under torch.func some tensors hand out no numbers
            return torch.from_numpy(
                _pairs_on_the_cpu(query_labels.numpy(), item_labels.numpy(), exclude_self)
            )
    by_label = torch.argsort(item_labels, stable=True)
    ordered = item_labels[by_label]
    start = torch.searchsorted(ordered, query_labels.contiguous())
    count = torch.searchsorted(ordered, query_labels.contiguous(), right=True) - start
    require_pairs(int(count.sum()), str(count.device))
    query = torch.repeat_interleave(torch.arange(len(query_labels), device=count.device), count)
    nth = torch.arange(len(query), device=count.device) - (count.cumsum(0) - count)[query]
    pairs = torch.stack([query, by_label[start[query] + nth]], 1)
    return pairs[pairs[:, 0] != pairs[:, 1]] if exclude_self else pairs


def _pairs_on_the_cpu(
    query_labels: np.ndarray, item_labels: np.ndarray, exclude_self: bool
) -> np.ndarray:
    """The same by numpy: in batches of some thousand torch's calls take three times as long."""
    by_label = np.argsort(item_labels, kind="stable")
    ordered = item_labels[by_label]
    start = np.searchsorted(ordered, query_labels)
    count = np.searchsorted(ordered, query_labels, side="right") - start
    require_pairs(int(count.sum()), "cpu")
    pairs = np.empty((int(count.sum()), 2), np.int64)
    pairs[:, 0] = np.repeat(np.arange(len(query_labels)), count)
    pairs[:, 1] = by_label[
        np.repeat(start - (np.cumsum(count) - count), count) + np.arange(len(pairs))
    ]
    return pairs[pairs[:, 0] != pairs[:, 1]] if exclude_self else pairs
