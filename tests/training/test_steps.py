"""The two-pass step gives the plain step's gradients, and would not if any part of the repetition were missing."""

import contextlib

import pytest
import torch

from lab.evaluation.mixed_precision import MixedPrecision
from lab.training.randomness import RandomState
from lab.training.steps import Diverged, gradients

from .toys import ToyEncoder, ToyLoss, toy_batch


def built(seed=0, dtype=torch.float32, **encoder):
    torch.manual_seed(seed)
    return ToyEncoder(**encoder).to(dtype).train(), ToyLoss().to(dtype)


def graph_of_all_chunks(encoder, loss, images, labels, chunk, precision=None):
    """The plain step: every chunk's graph is kept, the loss sees all, one backward pass."""
    precision = precision or MixedPrecision()
    parts = []
    for part in images.split(chunk):
        with precision.autocast():
            parts.append(encoder(part))
    value = loss(torch.cat(parts), labels)
    value.backward()
    return value.detach()


def largest_difference(one, other):
    pairs = list(zip(one.parameters(), other.parameters(), strict=True))
    assert any(a.grad is not None and a.grad.abs().max() > 0 for a, _ in pairs)
    return max((a.grad - b.grad).abs().max().item() for a, b in pairs if a.grad is not None)


def both(chunk, keep=0, dtype=torch.float32, precision=None, n=12, **encoder):
    images, labels = toy_batch(n, dtype=dtype)
    plain, plain_loss = built(dtype=dtype, **encoder)
    torch.manual_seed(7)
    value = graph_of_all_chunks(plain, plain_loss, images, labels, chunk, precision)
    ours, our_loss = built(dtype=dtype, **encoder)
    torch.manual_seed(7)
    result = gradients(ours, our_loss, images, labels, chunk=chunk, keep=keep, precision=precision)
    return (value, plain, plain_loss), (result.loss, ours, our_loss)


@pytest.mark.parametrize("keep", [0, 1, 99])
@pytest.mark.parametrize("chunk", [1, 5, 12])
def test_chunks_give_the_plain_steps_gradients(chunk, keep):
    (value, plain, plain_loss), (ours, encoder, loss) = both(chunk, keep, batchnorm="frozen")
    assert ours == pytest.approx(value.item(), abs=1e-7)
    assert largest_difference(plain, encoder) < 1e-6
    assert largest_difference(plain_loss, loss) < 1e-6


def test_double_precision_is_kept():
    class Double(ToyEncoder):
        def forward(self, images):
            return self.embed(self.layer_norm(self.first(images).mean(dim=(-2, -1))))

    torch.manual_seed(0)
    encoder, loss = Double().double(), ToyLoss().double()
    images, labels = toy_batch(dtype=torch.float64)
    result = gradients(encoder, loss, images, labels, chunk=5)
    assert result.embeddings.dtype == torch.float64 and encoder.p.grad is None
    assert encoder.first.weight.grad.dtype == torch.float64


@pytest.mark.parametrize("keep", [0, 2])
def test_autocast_is_entered_again(keep):
    precision = MixedPrecision("bfloat16", "cpu")
    (value, plain, _), (ours, encoder, _) = both(4, keep, precision=precision)
    assert ours == pytest.approx(value.item(), abs=1e-6)
    assert largest_difference(plain, encoder) < 1e-6


def test_negative_control_without_replayed_dropout_the_gradients_differ(monkeypatch):
    monkeypatch.setattr(RandomState, "replayed", lambda self: contextlib.nullcontext())
    (_, plain, _), (_, encoder, _) = both(4)
    scale = max(p.grad.abs().max().item() for p in plain.parameters() if p.grad is not None)
    assert largest_difference(plain, encoder) > 0.01 * scale


def test_a_scaled_loss_scales_every_gradient():
    images, labels = toy_batch()
    plain, plain_loss = built(dropout=0)
    torch.manual_seed(1)
    graph_of_all_chunks(plain, plain_loss, images, labels, 4)
    encoder, loss = built(dropout=0)
    precision = MixedPrecision("float32", "cpu")
    precision.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    torch.manual_seed(1)
    gradients(encoder, loss, images, labels, chunk=4, precision=precision)
    assert torch.allclose(
        encoder.embed.weight.grad, 1024 * plain.embed.weight.grad, rtol=1e-5, atol=1e-4
    )
    assert torch.allclose(loss.proxies.grad, 1024 * plain_loss.proxies.grad, rtol=1e-5, atol=1e-4)


def test_batch_statistics_are_refused_with_the_way_out():
    encoder, loss = built(batchnorm="training")
    with pytest.raises(ValueError, match=r"'norm' first.*Freeze.*per_chunk"):
        gradients(encoder, loss, *toy_batch(), chunk=4)
    gradients(encoder, loss, *toy_batch())


@pytest.mark.parametrize("keep", [0, 2])
def test_per_chunk_statistics_are_updated_once(keep):
    encoder, loss = built(batchnorm="training", dropout=0)
    images, labels = toy_batch()
    torch.manual_seed(3)
    result = gradients(encoder, loss, images, labels, chunk=4, keep=keep, batchnorm="per_chunk")
    plain, plain_loss = built(batchnorm="training", dropout=0)
    torch.manual_seed(3)
    value = graph_of_all_chunks(plain, plain_loss, images, labels, 4)
    assert result.loss == pytest.approx(value.item(), abs=1e-7)
    assert largest_difference(plain, encoder) < 1e-6
    assert encoder.norm.num_batches_tracked == plain.norm.num_batches_tracked == 3
    assert torch.allclose(encoder.norm.running_mean, plain.norm.running_mean, atol=1e-6)
    assert torch.allclose(encoder.norm.running_var, plain.norm.running_var, atol=1e-6)


def test_a_chunked_step_never_holds_more_than_one_graph():
    alive, most = set(), 0

    class Watched(ToyEncoder):
        def forward(self, images):
            nonlocal most
            out = super().forward(images)
            if out.requires_grad:
                alive.add(id(out))
                most = max(most, len(alive))
                out.register_hook(lambda _: alive.discard(id(out)))
            return out

    encoder = Watched(dropout=0)
    gradients(encoder, ToyLoss(), *toy_batch(24), chunk=4)
    assert most == 1


def test_a_non_finite_loss_is_named_and_the_batch_comes_along():
    encoder, _ = built(dropout=0)
    images, labels = toy_batch()
    with pytest.raises(Diverged, match="the loss is") as caught:
        gradients(encoder, lambda e, y: e.sum() * float("nan"), images, labels, chunk=5)
    assert caught.value.embeddings.shape == (12, 5) and not caught.value.embeddings.requires_grad
    assert all(p.grad is None for p in encoder.parameters())


def test_a_non_finite_embedding_is_named_by_row():
    encoder, loss = built(dropout=0)
    images, labels = toy_batch()
    images[3] = float("nan")
    with pytest.raises(Diverged, match="row 3"):
        gradients(encoder, loss, images, labels, chunk=5)


def test_a_frozen_encoder_still_trains_the_proxies():
    encoder, loss = built(dropout=0)
    images, labels = toy_batch()
    encoder.requires_grad_(False)
    (expected,) = torch.autograd.grad(loss(encoder(images), labels), [loss.proxies])
    gradients(encoder, loss, images, labels, chunk=5)
    assert torch.allclose(loss.proxies.grad, expected, atol=1e-7) and expected.abs().max() > 1e-3
    assert all(p.grad is None for p in encoder.parameters())
