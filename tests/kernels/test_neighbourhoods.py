"""Contextual similarity by sparse neighbourhoods against the same by whole matrices, which autograd differentiates."""

from __future__ import annotations

import pytest
import torch

from lab.kernels import contextual, contextual_errors, force
from lab.kernels.cpu import tiles
from lab.kernels.plain.neighbours import Steps, contextual_similarity
from lab.surrogates import ConstantGradient

EPS, ALPHA, MARGIN = 0.05, 10.0, 0.3


def batch(counts, d, spread, seed=0, dtype=torch.float64):
    draw = torch.Generator().manual_seed(seed)
    labels = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
    labels = labels[torch.randperm(len(labels), generator=draw)]
    centres = torch.randn(len(counts), d, generator=draw, dtype=torch.float64)
    noise = torch.randn(len(labels), d, generator=draw, dtype=torch.float64)
    return torch.nn.functional.normalize(centres[labels] + spread * noise, dim=1).to(dtype), labels


def by_whole_matrices(rows, labels, k):
    similarities = rows @ rows.T
    w = contextual_similarity(
        (2 - 2 * similarities).clamp_min(0), Steps(k=k, eps=EPS, theta=ConstantGradient(ALPHA))
    )
    same = labels[:, None] == labels
    over = (similarities - MARGIN).clamp_min(0) * ~same
    return (same.to(w) - w).square().fill_diagonal_(0).sum(1), over.sum(1), (over > 0).sum(1)


@pytest.mark.parametrize(
    "path, dtype",
    [("plain", torch.float64), ("compiled", torch.float64), ("compiled", torch.float32)],
)
@pytest.mark.parametrize(
    "counts, d, spread, k",
    [
        ([4] * 10, 16, 0.5, 4),
        ([5, 1, 9, 3, 1, 12], 8, 0.8, 5),
        ([2, 2, 3], 64, 2.0, 1),
        ([3, 4], 8, 0.5, 40),
    ],
    ids=["clusters", "unequal", "k of one", "k of all"],
)
def test_value_and_gradient(counts, d, spread, k, path, dtype, monkeypatch):
    monkeypatch.setattr(contextual, "BLOCK_BYTES", 1)
    monkeypatch.setattr(tiles, "LARGE_TILE", 7)
    x, labels = batch(counts, d, spread)
    leaf, twin = x.to(dtype, copy=True).requires_grad_(), x.clone().requires_grad_()
    with force(path):
        found = contextual_errors(
            torch.nn.functional.normalize(leaf, dim=1), labels, k, EPS, ALPHA, MARGIN
        )
    expected = by_whole_matrices(torch.nn.functional.normalize(twin, dim=1), labels, k)
    draw = torch.Generator().manual_seed(1)
    weights = torch.randn(2, len(x), generator=draw, dtype=torch.float64)
    for part in (found, expected):
        (part[0] @ weights[0].to(part[0]) + part[1] @ weights[1].to(part[1])).backward()
    close = dict(rtol=1e-9, atol=1e-9) if dtype == torch.float64 else dict(rtol=1e-4, atol=1e-4)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other.to(one), **close)
    torch.testing.assert_close(leaf.grad, twin.grad.to(leaf), **close)


@pytest.mark.parametrize("share", [0, 0.002, 0.3, 1])
@pytest.mark.parametrize("d", [5, 64, 100])
def test_a_sparse_block_times_rows_is_the_dense_product(d, share):
    numba_panels = pytest.importorskip("lab.kernels.cpu.numba_panels")
    draw = torch.Generator().manual_seed(2)
    rows = torch.randn(600, d, generator=draw, dtype=torch.float64)
    block = torch.randn(9, 600, generator=draw, dtype=torch.float64)
    block *= torch.rand(9, 600, generator=draw) < share
    product = torch.ones(9, numba_panels.padded(d), dtype=torch.float64)
    numba_panels.add_block(
        block.numpy(), int((block != 0).sum()), numba_panels.panels(rows), product.numpy()
    )
    torch.testing.assert_close(product[:, :d], 1 + block @ rows)
    assert (product[:, d:] == 1).all()


def test_full_neighbourhoods_are_left_to_whole_matrices(monkeypatch):
    x, labels = batch([4] * 10, 16, 0.5)
    monkeypatch.setattr(contextual, "MOST_NEIGHBOURS", 2)
    assert contextual_errors(x, labels, 4, EPS, ALPHA, MARGIN) is None
