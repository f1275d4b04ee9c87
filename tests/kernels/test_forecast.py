"""The forecast against memory that was measured, and the sentence of a refusal."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from lab import losses
from lab.bench._memory import extra_megabytes
from lab.bench.losses import prepared_step
from lab.kernels import GUESS, positive_pairs
from lab.kernels.memory import EncoderBytes, Peak, forecast, require, require_whole_matrices
from lab.training.forecast import peak_of

RECALL = losses.create("recall_at_k").peak


@pytest.mark.parametrize("name, n, d", [("recall_at_k", 4096, 512), ("sup_ap", 8192, 128), ("softbin_ap", 2048, 512)])
def test_a_loss_within_a_fifth_of_what_is_measured(name, n, d):
    said = forecast(losses.create(name).peak, n, d).parts["loss"] / 1e6
    assert said == pytest.approx(measured(said, prepared_step, name=name, n=n, d=d, per_class=4), rel=0.2)


def measured(said: float, prepare, **arguments) -> float:
    """MB that the work holds, measured again where that is above what is said: what else the process does now and then,
    such as reading a cache, only adds."""
    first = extra_megabytes(prepare, **arguments)
    return first if first <= said else min(first, extra_megabytes(prepare, **arguments))


def prepared_other(name, n, d, knobs):
    """A step of a loss that is no ranking kernel, on random embeddings, ready to be measured."""
    loss = losses.create(name, **knobs)
    embeddings, labels = torch.randn(n, d, requires_grad=True), torch.arange(n) // 4 % 1024
    loss(embeddings[:64], labels[:64]).backward()
    return lambda: loss(embeddings, labels).backward()


@pytest.mark.parametrize(
    "name, knobs",
    [
        ("contrastive", {}),
        ("triplet_margin", {"triplets_per_anchor": 20}),
        ("proxy_anchor", {"num_classes": 1024, "dim": 128}),
        ("blackbox_ap", {"variant": "released"}),
    ],
)
def test_other_losses_within_a_fifth_of_what_is_measured(name, knobs, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    said = forecast(peak_of(losses.create(name, **knobs), 128), 2048, 128).parts["loss"] / 1e6
    assert said == pytest.approx(measured(said, prepared_other, name=name, n=2048, d=128, knobs=knobs), rel=0.2)


ENCODER = EncoderBytes(weights=10**8, largest_weight=10**7, image=10**5, graph=10**7, largest_map=10**6)


def test_a_chunk_bounds_the_graph():
    whole = forecast(RECALL, 4096, 512, encoder=ENCODER)
    chunked = forecast(RECALL, 4096, 512, encoder=ENCODER, chunk=64)
    assert whole.parts["encoder's graph"] == 4096 * 10**7 and chunked.parts["encoder's graph"] == 64 * 10**7
    kept = chunked.instead(kept_bytes=1024 * 10**7)
    assert kept.parts["kept graphs"] == (1024 - 16) * 10**7 and kept.parts["encoder's graph"] == 48 * 10**7
    # Images and embeddings alone grow with the batch.
    more = chunked.instead(n=8192)
    assert more.total - chunked.total == 4096 * (10**5 + 4 * 512)


@pytest.mark.parametrize("chunk", [None, 256])
@pytest.mark.parametrize("free", [10**9, 3 * 10**9])
def test_a_refusal_names_the_largest_chunk_that_fits(chunk, free):
    needed = forecast(RECALL, 4096, 512, encoder=ENCODER, chunk=chunk)
    with pytest.raises(ValueError, match=r"a chunk of (\d+) would fit") as refused:
        require(needed, free)
    fits = int(str(refused.value).split("a chunk of ")[1].split()[0])
    require(needed.instead(chunk=fits), free)
    with pytest.raises(ValueError):
        require(needed.instead(chunk=fits + 1), free)


def test_a_refusal_names_the_largest_batch_that_fits():
    needed = forecast(RECALL, 4096, 512)
    with pytest.raises(ValueError, match=r"a batch of (\d+) would fit\.") as refused:
        require(needed, 10**7)
    fits = int(str(refused.value).split("; a batch of ")[1].split()[0])
    require(needed.instead(n=fits), 10**7)
    with pytest.raises(ValueError):
        require(needed.instead(n=fits + 1), 10**7)
    with pytest.raises(ValueError, match=r"a batch of \d+ would fit, in chunks of 1"):
        require(forecast(RECALL, 4096, 512, encoder=ENCODER), 5 * 10**8)
    with pytest.raises(ValueError, match="no batch would fit"):
        require(forecast(RECALL, 4096, 512, encoder=ENCODER), 10**8)
    with pytest.raises(ValueError, match="n must be at least 1"):
        forecast(RECALL, 0, 512)


def test_pairs_are_refused_before_they_are_listed():
    labels = torch.zeros(10**6, dtype=torch.int64)
    with pytest.raises(ValueError, match=r"1,000,000,000,000 positive pairs.* would fit: sample fewer"):
        positive_pairs(labels, labels, exclude_self=True)


def test_whole_matrices_are_refused_before_they_are_tried():
    require_whole_matrices(64, 8, "cpu")
    with pytest.raises(ValueError, match=r"a batch of \d+ would fit"):
        require_whole_matrices(10**7, 4, "cpu")


KNOWN = {
    "recall_at_k": 42318234, "recall_at_k simix": 54299034, "smooth_ap": 49081549, "calibration": 32985907,
    "contextual": 50811699, "contextual whole": 956301312, "blackbox_ap": 38543360, "blackbox_ap released": 205520896,
    "fast_ap": 28770304, "softbin_ap": 33685504, "multi_similarity": 1185310310, "margin": 2930900992,
    "triplet_margin 20": 258074214, "class_anchor_margin": 40684749,
}  # fmt: skip
"""Bytes of 4,096 embeddings of width 512, four of each class, as forecast when they were measured."""
KNOBS = {
    "simix": {"simix": True}, "whole": {"expansion": False}, "released": {"variant": "released"},
    "20": {"triplets_per_anchor": 20},
}  # fmt: skip


@pytest.mark.parametrize("case", KNOWN)
def test_what_was_measured_is_still_what_is_forecast(case):
    name, _, knobs = case.partition(" ")
    loss = losses.get(name).sized(1024, 512, **KNOBS.get(knobs, {}))
    assert peak_of(loss, 512).bytes(4096, 512, 4) == KNOWN[case]


def test_a_guess_is_no_less_than_what_was_measured_but_for_every_triplet():
    assert GUESS.guess and GUESS.bytes(4096, 512, 4) > max(count for case, count in KNOWN.items() if case != "margin")


def test_a_guess_says_so_wherever_it_is_shown():
    """The Train page and the command line show the pre-flight's sentence, see `tests/runs/test_preflight.py`."""
    assert peak_of(torch.nn.Linear(3, 4), 3) == Peak(**{**vars(GUESS), "class_vectors": 5})
    guessed = forecast(GUESS, 4096, 512)
    assert "guess" in guessed.caution and not forecast(RECALL, 4096, 512).caution
    with pytest.raises(ValueError, match=r"a batch of \d+ would fit\. The loss's part is a guess: .* no `peak`\.$"):
        require(guessed, 10**7)
    with pytest.raises(ValueError, match=r"would fit\.$"):
        require(forecast(RECALL, 4096, 512), 10**7)


@pytest.mark.parametrize("name", ["smooth_ap", "roadmap", "contextual"])
def test_single_pairs_get_their_gradient_when_the_memory_of_the_tiles_is_free(name, monkeypatch):
    from lab.kernels import force
    from lab.kernels.neighbours import compiled as neighbours
    from lab.kernels.ranks import compiled as ranks

    called = []
    walks = neighbours.CompiledContext, "gradient"
    for place, function in ((ranks.CompiledTileLoop, "backward"), walks, (ranks, "pair_similarities_backward")):
        before = getattr(place, function)
        monkeypatch.setattr(place, function, lambda *args, was=before: (called.append(was.__name__), was(*args))[1])
    rows = torch.randn(64, 8, generator=torch.Generator().manual_seed(0)).requires_grad_()
    with force("compiled"):
        losses.create(name)(rows, torch.arange(64) // 4).backward()  # before which the compiler may be tried
    assert called[-2:] == ["gradient" if name == "contextual" else "backward", "pair_similarities_backward"]
