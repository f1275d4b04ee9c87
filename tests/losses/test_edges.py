"""Where losses could be wrong in silence: label identity, duplicates, lengths, second derivatives, transforms."""

import warnings

import pytest
import torch
from pytorch_metric_learning import losses as library
from torch import nn

from lab import losses
from lab.kernels import paths, unit
from lab.losses._pairs import PairLoss

from .test_contract import PAIRED, batch, build, every_loss, value_and_gradient, with_variants

FREE = {name for name in losses.names() if losses.get(name).lengths_matter}
"""Losses of embeddings of any length."""


def by_hand(name):
    """Whether a part of the gradient is written by hand: rows get unit length in that way, at the least."""
    return losses.get(name).cosine or issubclass(losses.get(name), PairLoss)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_signal_to_noise_of_equal_rows_is_the_librarys(dtype):
    generator = torch.Generator().manual_seed(0)
    some = torch.randn(12, 64, generator=generator, dtype=dtype)
    near = some + 1e-6 * torch.randn(12, 64, generator=generator, dtype=dtype)
    other = torch.randn(12, 64, generator=generator, dtype=dtype)
    rows, labels = torch.cat([some, some, near, other]).requires_grad_(), torch.arange(12).repeat(4)
    ours = losses.create("signal_to_noise_ratio_contrastive")(rows, labels)
    theirs = library.SignalToNoiseRatioContrastiveLoss()(rows, labels)
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=0)
    gradients = [torch.autograd.grad(x, rows)[0] for x in (ours, theirs)]
    torch.testing.assert_close(*gradients, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(("name", "knobs"), [p for p in with_variants() if by_hand(p.values[0])])
def test_a_second_derivative_is_refused_where_there_is_none(name, knobs):
    rows, labels = batch(PAIRED)
    with pytest.raises(RuntimeError, match=r"cannot be differentiated again, so create_graph=True"):
        torch.autograd.grad(build(name, **knobs)(rows, labels), rows, create_graph=True)


@pytest.mark.parametrize("name", [n for n in losses.names() if not by_hand(n)])
def test_the_other_losses_have_a_second_derivative(name):
    rows, labels = batch(PAIRED)
    loss = build(name).double().eval()
    (slope,) = torch.autograd.grad(loss(rows, labels), rows, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.square().sum(), rows)
    step, direction = (
        1e-5,
        torch.randn(rows.shape, generator=torch.Generator().manual_seed(2), dtype=rows.dtype),
    )

    def penalty(at):
        at = at.detach().requires_grad_()
        return torch.autograd.grad(loss(at, labels), at)[0].square().sum()

    measured = (penalty(rows + step * direction) - penalty(rows - step * direction)) / (2 * step)
    torch.testing.assert_close((curvature * direction).sum(), measured, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize(("name", "backend"), [("smooth_ap", "eager"), ("contextual", "aot_eager")])
def test_a_compiled_model_runs_its_loss_as_it_would_run_without(name, backend):
    torch.manual_seed(0)
    images, labels = torch.randn(300, 16), torch.arange(300) // 4
    encoder, loss = nn.Linear(16, 8), losses.create(name)

    def model(images):
        return loss(encoder(images), labels)

    def gradient(model):
        encoder.zero_grad()
        model(images).backward()
        return encoder.weight.grad.clone()

    torch._dynamo.reset()
    for cached in (paths.unavailable, paths.why_not):
        cached.cache_clear()
    before = gradient(torch.compile(model, backend=backend))
    assert paths.path() == "compiled" and paths.unavailable("compiled") is None
    eager = gradient(model)
    torch._dynamo.reset()
    after = gradient(torch.compile(model, backend=backend))
    torch.testing.assert_close(before, eager)
    torch.testing.assert_close(after, eager)
    alone = torch.compile(loss, backend=backend)
    torch.testing.assert_close(alone(encoder(images), labels), model(images))
    torch.testing.assert_close(loss.per_query(encoder(images), labels).shape, (300,))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", [n for n in losses.names() if n not in FREE])
def test_very_long_and_very_short_rows_have_their_directions(name, dtype):
    loss = build(name).to(dtype).eval()
    rows, labels = batch(PAIRED, dtype)
    rows = rows.detach()
    far = (20, -24) if dtype == torch.float32 else (200, -200)
    for power in far:
        lengths = torch.tensor([10.0**power, 1, 1, 10.0**power, 1, 1, 1, 1], dtype=dtype)[:, None]
        stretched = (rows * lengths).requires_grad_()
        plain = rows.clone().requires_grad_()
        one, other = loss(stretched, labels), loss(plain, labels)
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
        gradients = (
            torch.autograd.grad(one, stretched)[0] * lengths,
            torch.autograd.grad(other, plain)[0],
        )
        torch.testing.assert_close(*gradients, rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize("temperature", [1e-8, 1.9e-5, 0.01, 1 / 9, 1.0])
def test_proxy_nca_in_logarithms(temperature):
    loss = build("proxy_nca", temperature=temperature)
    rows, labels = batch(dtype=torch.float32)
    rows = rows.detach()[:1].repeat(len(labels), 1).requires_grad_()
    total = loss(rows, labels)
    proxies = loss.inner.proxies.detach().double()
    distances = torch.cdist(unit(rows.detach().double()), unit(proxies)).square()
    wanted = nn.functional.cross_entropy(-distances / temperature, labels)
    torch.testing.assert_close(total.double(), wanted, rtol=1e-4, atol=1e-5)
    assert torch.isfinite(torch.autograd.grad(total, rows)[0]).all()
    if temperature >= 0.1:
        plain = library.ProxyNCALoss(5, 6, softmax_scale=1 / temperature)
        plain.proxies = loss.inner.proxies
        torch.testing.assert_close(total, plain(rows, labels))


@every_loss
def test_torch_func_works_or_says_that_it_does_not(name):
    loss = build(name).double().eval()
    rows, labels = batch(PAIRED)
    rows = rows.detach()
    weights = dict(loss.named_parameters()) | dict(loss.named_buffers())
    torch.testing.assert_close(
        torch.func.functional_call(loss, weights, (rows, labels)), loss(rows, labels)
    )
    sentence = f"{type(loss).__name__} cannot be transformed by torch.func"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(RuntimeError, match=sentence):
            torch.func.vmap(lambda one: loss(one, labels))(rows[None].repeat(2, 1, 1))
        if by_hand(name):
            with pytest.raises(RuntimeError, match=sentence):
                torch.func.grad(lambda some: loss(some, labels))(rows)
            return
        slope = torch.func.grad(lambda some: loss(some, labels))(rows)
    at = rows.clone().requires_grad_()
    torch.testing.assert_close(slope, torch.autograd.grad(loss(at, labels), at)[0])


def test_a_tie_counts_as_the_knob_says():
    """001 eq. 4 has two values at a gap of zero; with 1 SupAP is above the AP loss at a tie, too."""
    rows = torch.tensor([[1.0, 0], [0.6, 0.8], [0.6, 0.8]], dtype=torch.float64)
    labels = torch.tensor([0, 0, 1])
    exact = 0.5  # the query's positive ranks second: the tie counts against it
    values = {
        lift: losses.create("sup_ap", include_self=False, lift_ties=lift).per_query(rows, labels)[0]
        for lift in (False, True)
    }
    assert values[0] == pytest.approx(1 / 3) and values[1] == pytest.approx(exact)
    roadmap = [
        losses.create("roadmap", lam=0.0, lift_ties=lift)(rows, labels) for lift in (False, True)
    ]
    assert roadmap[0] < roadmap[1]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("name", "knobs"),
    [
        ("sup_ap", {}), ("roadmap", {"variant": "released"}), ("contextual", {"k": 3, "eps": 0.0}),
        ("contextual", {"k": 3, "eps": 0.0, "stop_gradient": False}),
    ],
)  # fmt: skip
def test_equal_rows_tie_wherever_they_stand(name, knobs, dtype):
    draw = torch.Generator().manual_seed(0)
    rows = torch.randn(6, 16, generator=draw, dtype=dtype)[torch.randint(6, (17,), generator=draw)]
    labels, loss = torch.randint(4, (17,), generator=draw), losses.create(name, **knobs)
    total, gradient = value_and_gradient(loss, rows.requires_grad_(), labels)
    for _ in range(4):
        order = torch.randperm(17, generator=draw)
        again, moved = value_and_gradient(
            loss, rows.detach()[order].requires_grad_(), labels[order]
        )
        torch.testing.assert_close(again, total)
        torch.testing.assert_close(moved, gradient[order], rtol=1e-4, atol=1e-5)
