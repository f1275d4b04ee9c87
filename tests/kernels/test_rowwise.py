"""A function of similarity rows, a block at a time, against the same of the whole matrix."""

from __future__ import annotations

import pytest
import torch

from lab.kernels import by_rows, rowwise


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("block", [1, 1 << 20])
def test_value_and_gradient(own, block, monkeypatch):
    monkeypatch.setattr(rowwise, "BLOCK_BYTES", block)
    monkeypatch.setattr(rowwise, "MIN_ROWS", 3)
    draw = torch.Generator().manual_seed(0)
    x, others = torch.randn(10, 4, generator=draw).double(), torch.randn(7, 4, generator=draw).double()
    offset = torch.arange(10.0).double()

    def values(similarities, rows):
        return (similarities + offset[rows, None]).sin().prod(1)

    found = []
    for blockwise in (True, False):
        leaves = [x.clone().requires_grad_()] + ([] if own else [others.clone().requires_grad_()])
        queries, items = leaves[0], leaves[-1]
        loss = by_rows(queries, items, values) if blockwise else values(queries @ items.T, slice(None))
        (loss * offset).sum().backward()
        found.append([loss.detach(), *(leaf.grad for leaf in leaves)])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)
