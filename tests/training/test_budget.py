"""Kept graphs: plans within the budget, cuts that stay exact, bytes and seconds that are measured."""

import gc
import weakref

import pytest
import torch
from torch import nn

import lab.encoders
from lab.evaluation.precision import Precision
from lab.training import budget
from lab.training.budget import Way, exact, measure, plan, spend
from lab.training.graphs import Keep, places
from lab.training.steps import gradients

PRECISION = Precision()


def encoder(seed=0, **knobs):
    torch.manual_seed(seed)
    return lab.encoders.create("small_cnn", **{"width": 4, "dim": 8, "freeze_batchnorm": True, **knobs})


class Bypass(nn.Module):
    """Its last block sees the image past the first: a cut would lose that path's gradient."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Conv2d(3, 4, 1), nn.Conv2d(4, 4, 1), nn.Conv2d(4, 4, 1)])

    def forward(self, images):
        first = self.blocks[0](images)
        second = self.blocks[1](first.relu())
        return self.blocks[2](second * first).mean(dim=(-2, -1))


def images(n=12):
    return torch.randn(n, 3, 16, 16, generator=torch.Generator().manual_seed(1))


def loss(embeddings, labels):
    return (embeddings @ embeddings.T).square().mean()


def grads(model, keep, chunk=4):
    model.zero_grad(set_to_none=True)
    gradients(model, loss, images(), torch.arange(12), chunk=chunk, keep=keep)
    return [p.grad.clone() for p in model.parameters() if p.grad is not None]


def test_stages_and_blocks_are_places_to_cut():
    model = encoder()
    assert places(model) == list(model.backbone.stages)


def test_every_cut_of_a_real_encoder_is_exact():
    model = encoder()
    expected = grads(model, [Keep.ALL] * 3)
    for place in places(model):
        assert exact(model, images(), place, PRECISION)
        found = grads(model, [place] * 3)
        assert all(torch.allclose(a, b, atol=1e-7) for a, b in zip(expected, found, strict=True))


def test_a_cut_that_something_sees_past_is_found_out_and_never_planned():
    torch.manual_seed(0)
    model = Bypass()
    first, second, _ = model.blocks
    assert exact(model, images(), first, PRECISION)
    assert not exact(model, images(), second, PRECISION)
    for limit in (0, 30_000, 60_000, 10**9):
        assert second not in plan(model, images(), 4, limit, PRECISION)


def test_trying_and_measuring_leave_the_encoder_as_it_was():
    model = encoder(freeze_batchnorm=False)
    next(model.parameters()).grad = torch.ones_like(next(model.parameters()))
    buffers = [b.clone() for b in model.buffers()]
    torch.manual_seed(4)
    plan(model, images(), 4, 10_000, PRECISION)
    drawn = torch.rand(2)
    torch.manual_seed(4)
    assert torch.equal(torch.rand(2), drawn)
    assert all(torch.equal(a, b) for a, b in zip(buffers, model.buffers(), strict=True))
    assert (next(model.parameters()).grad == 1).all() and sum(p.grad is not None for p in model.parameters()) == 1
    assert not any(m._forward_hooks for m in model.modules())


def test_measuring_lets_go_of_the_graph():
    model, seen = encoder(), []
    for module in model.modules():
        if isinstance(module, nn.ReLU):
            module.register_forward_hook(lambda m, i, output: seen.append(weakref.ref(output)))
    budget.graph_bytes(model, images(), PRECISION)
    measure(model, images(), PRECISION)
    gc.collect()
    assert len(seen) > 3 and all(alive() is None for alive in seen)


def test_bytes_fall_and_seconds_rise_from_the_first_cut_to_the_last():
    model = encoder(width=16)
    ways = {way.kept: way for way in measure(model, images(32), PRECISION)}
    chain = [ways[Keep.ALL], *(ways[place] for place in places(model)), ways[Keep.NOTHING]]
    assert chain[0].bytes >= chain[1].bytes > chain[2].bytes > chain[3].bytes > chain[4].bytes == 0
    assert chain[0].seconds == 0 and all(a.seconds <= b.seconds for a, b in zip(chain, chain[1:], strict=False))
    # The first stage's activations alone: 32 images, 16 channels of 8 x 8, float32.
    assert chain[0].bytes > 2 * 32 * 16 * 8 * 8 * 4


WAYS = [Way(Keep.ALL, 100, 0.0), Way("early", 40, 0.3), Way("late", 10, 0.9), Way(Keep.NOTHING, 0, 1.0)]


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (1000, [Keep.ALL] * 4),
        (399, [Keep.ALL] * 3 + ["early"]),
        (160, ["early"] * 4),
        (120, ["early"] * 3 + [Keep.NOTHING]),
        (20, ["late"] * 2 + [Keep.NOTHING] * 2),
        (5, [Keep.NOTHING] * 4),
        (0, [Keep.NOTHING] * 4),
    ],
)
def test_the_plan_saves_the_most_time_within_the_limit(limit, expected):
    chosen = spend(WAYS, 4, limit)
    bytes_of = {way.kept: way.bytes for way in WAYS}
    assert sum(bytes_of[k] for k in chosen) <= limit or limit == 0
    seconds = {way.kept: way.seconds for way in WAYS}
    assert sum(seconds[k] for k in chosen) == pytest.approx(sum(seconds[k] for k in expected))


def test_a_plan_of_a_plain_step_and_of_free_memory(monkeypatch):
    model = encoder()
    assert plan(model, images(), 12, 0, PRECISION) == [Keep.ALL]
    assert plan(model, images(), 4, None, PRECISION) == [Keep.ALL] * 3
    monkeypatch.setattr(budget, "available_bytes", lambda device: 0)
    assert plan(model, images(), 4, None, PRECISION) == [Keep.NOTHING] * 3
