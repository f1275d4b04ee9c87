"""The forecast against memory that was measured, and the sentence of a refusal."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from lab import losses
from lab.bench._memory import extra_megabytes
from lab.bench.losses import prepared_step
from lab.kernels import positive_pairs
from lab.kernels.memory import Encoder, forecast, require, require_whole_matrices


@pytest.mark.parametrize("name, n, d", [("recall_at_k", 4096, 512), ("sup_ap", 8192, 128), ("softbin_ap", 2048, 512)])
def test_a_loss_within_a_fifth_of_what_is_measured(name, n, d):
    said = forecast(name, n, d).parts["loss"] / 1e6
    # The smaller of two: what else the process does now and then, such as reading a cache, only adds.
    measured = min(extra_megabytes(prepared_step, name=name, n=n, d=d, per_class=4) for _ in range(2))
    assert said == pytest.approx(measured, rel=0.2)


def prepared_other(name, n, d, knobs):
    """A step of a loss that is no ranking kernel, on random embeddings, ready to be measured."""
    loss = losses.create(name, **knobs)
    embeddings, labels = torch.randn(n, d, requires_grad=True), torch.arange(n) // 4 % 1024
    loss(embeddings[:64], labels[:64]).backward()
    return lambda: loss(embeddings, labels).backward()


@pytest.mark.parametrize(
    "name, knobs, asked",
    [
        ("contrastive", {}, {}),
        ("triplet_margin", {"triplets_per_anchor": 20}, {"triplets": 20}),
        ("proxy_anchor", {"num_classes": 1024, "dim": 128}, {"class_vectors": 1024}),
        ("blackbox_ap", {"variant": "released"}, {"released": True}),
    ],
)
def test_other_losses_within_a_fifth_of_what_is_measured(name, knobs, asked, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    said = forecast(name, 2048, 128, **asked).parts["loss"] / 1e6
    measured = min(extra_megabytes(prepared_other, name=name, n=2048, d=128, knobs=knobs) for _ in range(2))
    assert said == pytest.approx(measured, rel=0.2)


ENCODER = Encoder(weights=10**8, largest_weight=10**7, image=10**5, graph=10**7, largest_map=10**6)


def test_a_chunk_bounds_the_graph():
    whole = forecast("recall_at_k", 4096, 512, encoder=ENCODER)
    chunked = forecast("recall_at_k", 4096, 512, encoder=ENCODER, chunk=64)
    assert whole.parts["encoder's graph"] == 4096 * 10**7 and chunked.parts["encoder's graph"] == 64 * 10**7
    kept = chunked.instead(kept_bytes=1024 * 10**7)
    assert kept.parts["kept graphs"] == (1024 - 16) * 10**7 and kept.parts["encoder's graph"] == 48 * 10**7
    # Images and embeddings alone grow with the batch.
    more = chunked.instead(n=8192)
    assert more.total - chunked.total == 4096 * (10**5 + 4 * 512)


@pytest.mark.parametrize("chunk", [None, 256])
@pytest.mark.parametrize("free", [10**9, 3 * 10**9])
def test_a_refusal_names_the_largest_chunk_that_fits(chunk, free):
    needed = forecast("recall_at_k", 4096, 512, encoder=ENCODER, chunk=chunk)
    with pytest.raises(ValueError, match=r"a chunk of (\d+) would fit") as refused:
        require(needed, free)
    fits = int(str(refused.value).split("a chunk of ")[1].split()[0])
    require(needed.instead(chunk=fits), free)
    with pytest.raises(ValueError):
        require(needed.instead(chunk=fits + 1), free)


def test_a_refusal_names_the_largest_batch_that_fits():
    needed = forecast("recall_at_k", 4096, 512)
    with pytest.raises(ValueError, match=r"a batch of (\d+) would fit\.") as refused:
        require(needed, 10**7)
    fits = int(str(refused.value).split("; a batch of ")[1].split()[0])
    require(needed.instead(n=fits), 10**7)
    with pytest.raises(ValueError):
        require(needed.instead(n=fits + 1), 10**7)
    with pytest.raises(ValueError, match=r"a batch of \d+ would fit, in chunks of 1"):
        require(forecast("recall_at_k", 4096, 512, encoder=ENCODER), 5 * 10**8)
    with pytest.raises(ValueError, match="no batch would fit"):
        require(forecast("recall_at_k", 4096, 512, encoder=ENCODER), 10**8)
    with pytest.raises(ValueError, match="n must be at least 1"):
        forecast("recall_at_k", 0, 512)


def test_pairs_are_refused_before_they_are_listed():
    labels = torch.zeros(10**6, dtype=torch.int64)
    with pytest.raises(ValueError, match=r"1,000,000,000,000 positive pairs.* would fit: sample fewer"):
        positive_pairs(labels, labels, exclude_self=True)


def test_whole_matrices_are_refused_before_they_are_tried():
    require_whole_matrices(64, 8, "cpu")
    with pytest.raises(ValueError, match=r"a batch of \d+ would fit"):
        require_whole_matrices(10**7, 4, "cpu")
