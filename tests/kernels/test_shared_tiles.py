"""Losses on several threads: bit-equal from run to run, whatever thread was quicker, and one thread's numbers."""

import pytest
import torch

from lab import kernels, losses
from lab.kernels.cpu import histograms as histograms
from lab.kernels.cpu import ranks as ranks
from lab.kernels.cpu import tiles

LOSSES = {
    "recall_at_k": {},
    "recall_at_k with mixtures": {"simix": True},
    "smooth_ap": {},
    "roadmap": {},
    "fast_ap": {},
    "contextual": {},
}


@pytest.fixture(autouse=True)
def many_small_tiles(monkeypatch):
    monkeypatch.setattr(tiles, "WHOLE", 64)
    monkeypatch.setattr(tiles, "LARGE_TILE", 64)
    monkeypatch.setattr(tiles, "TILE", 64)
    monkeypatch.setattr(tiles, "MIXED_TILE", 32)
    for module in (ranks, histograms):
        # some tiles are kept, others multiplied again
        monkeypatch.setattr(module, "KEPT_BYTES", 5 * 64 * 64 * 4)
    monkeypatch.setattr(ranks, "LISTED_BYTES", 4000)  # and some listed
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def step(name, knobs, rows, labels, threads):
    """The loss and the gradient of the rows."""
    torch.set_num_threads(threads)
    rows = rows.clone().requires_grad_()
    loss = losses.create(name.split()[0], **knobs)  # anew, so that mixtures are drawn alike
    with kernels.force("compiled"):
        value = loss(rows, labels)
        value.backward()
    return value.detach(), rows.grad


@pytest.mark.parametrize("order", ["sorted", "shuffled"])
@pytest.mark.parametrize("name", LOSSES)
def test_threads_change_nothing_but_the_rounding(name, order):
    draw = torch.Generator().manual_seed(3)
    labels = torch.arange(420) // 4
    if order == "shuffled":
        labels = labels[torch.randperm(420, generator=draw)]
    rows = torch.randn(420, 24, generator=draw) + torch.randn(105, 24, generator=draw)[labels]
    alone = step(name, LOSSES[name], rows, labels, 1)
    assert alone[1].abs().max() > 0
    two = step(name, LOSSES[name], rows, labels, 2)
    again, three = (step(name, LOSSES[name], rows, labels, threads) for threads in (2, 3))
    # Contextual ends with a vector times all rows, which MKL rounds by the number of threads on some processors.
    for other in [again] if name.startswith("contextual") else [again, three]:
        assert torch.equal(other[0], two[0]) and torch.equal(other[1], two[1])
    for other in (two, three):
        torch.testing.assert_close(other[0], alone[0], rtol=1e-6, atol=0)
        assert (other[1] - alone[1]).abs().max() <= 1e-6 * alone[1].abs().max()
