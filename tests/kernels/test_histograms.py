"""Soft histograms against loops over every pair, in value and in gradient."""

from __future__ import annotations

import pytest
import torch

from lab.kernels import force, soft_histograms

LOW, INTERVALS = {"cosines": -1.0, "released": 0.0}, 6


def by_the_book(queries, items, query_labels, item_labels, exclude_self, low, intervals):
    """Each pair adds max(0, 1 - distance to a centre) to every bin, and the ends take what lies beyond them."""
    centres = torch.linspace(1, low, intervals + 1, dtype=queries.dtype)
    rows = []
    for a in range(len(queries)):
        found, seen = 0, 0
        for z in range(len(items)):
            if not (exclude_self and a == z):
                s = (queries[a] @ items[z]).clamp(low, 1)
                share = (1 - (s - centres).abs() * intervals / (1 - low)).clamp_min(0)
                seen = seen + share
                found = found + share * (query_labels[a] == item_labels[z])
        rows.append(torch.stack([found, seen.cumsum(0)]))
    return torch.stack(rows)


@pytest.fixture
def small_tiles(monkeypatch):
    from lab.kernels.cpu import tiles

    monkeypatch.setattr(tiles, "TILE", 9)
    return monkeypatch


def batch(n, d, seed):
    draw = torch.Generator().manual_seed(seed)
    labels = torch.randint(5, (n,), generator=draw)
    rows = torch.nn.functional.normalize(
        torch.randn(n, d, generator=draw, dtype=torch.float64), dim=1
    )
    # at 1 itself the gradient jumps, and rounding decides on which side a row's square is
    return (
        0.99 * rows,
        labels,
    )


def compare(path, dtype, queries, items, *rest):
    found = []
    for function in (soft_histograms, by_the_book):
        leaves = [t.to(dtype if function is soft_histograms else torch.float64, copy=True).requires_grad_()
                  for t in ((queries,) if items is None else (queries, items))]  # fmt: skip
        with force(path if function is soft_histograms else "plain"):
            histograms = function(leaves[0], leaves[-1], *rest)
        if function is soft_histograms:
            histograms = torch.stack(histograms, 1)
        weights = torch.randn(
            histograms.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64
        )
        (histograms * weights.to(histograms)).sum().backward()
        found.append([t.detach().double() for t in (histograms, *(leaf.grad for leaf in leaves))])
    close = 1e-10 if dtype == torch.float64 else 1e-5
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=close, atol=close * float(other.abs().max()))


@pytest.mark.parametrize("kept", ["kept", "found again"])
@pytest.mark.parametrize(
    "path, dtype",
    [("plain", torch.float64), ("compiled", torch.float32)],
    ids=["plain", "compiled"],
)
@pytest.mark.parametrize("low", LOW.values(), ids=LOW)
@pytest.mark.parametrize("exclude_self", [True, False])
def test_one_set(exclude_self, low, path, dtype, kept, small_tiles):
    from lab.kernels.cpu import histograms as compiled

    small_tiles.setattr(compiled, "KEPT_BYTES", 1 << 20 if kept == "kept" else 0)
    x, labels = batch(31, 4, seed=0)
    compare(path, dtype, x, None, labels, labels, exclude_self, low, INTERVALS)


@pytest.mark.parametrize("exclude_self", [True, False])
def test_references(exclude_self):
    (x, labels), (ref, ref_labels) = batch(7, 4, seed=1), batch(12, 4, seed=2)
    compare("plain", torch.float64, x, ref, labels, ref_labels, exclude_self, -1.0, INTERVALS)
