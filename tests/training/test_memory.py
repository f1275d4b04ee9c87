"""What a step is said to need against what it took, and the refusal of a run that cannot fit."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from lab import encoders, losses
from lab.bench._memory import extra_megabytes
from lab.bench.losses import prepared_step as prepared_loss
from lab.evaluation.precision import Precision
from lab.training import budget, forecast
from lab.training.steps import gradients


def parts(name, size, n):
    torch.manual_seed(0)
    knobs = {"backbone": name, "pretrained": False, "image_size": size, "dim": 512} if name != "small_cnn" else {}
    kind = "small_cnn" if name == "small_cnn" else "timm_model"
    encoder = encoders.create(kind, freeze_batchnorm=True, **knobs)
    return encoder, losses.create("recall_at_k"), torch.randn(n, 3, size, size), torch.arange(n) // 4


def kept_bytes(encoder, images, share):
    return int(share * len(images) * budget.graph_bytes(encoder, images[:16], Precision())[0] / 16)


def prepared(name, size, n, chunk, share):
    encoder, loss, images, labels = parts(name, size, n)
    gradients(encoder, loss, images[:8], labels[:8])
    prepared_loss("recall_at_k", 512, 16, 4)()  # compiles what a large batch takes
    keep = budget.plan(encoder, images, chunk, kept_bytes(encoder, images, share), Precision()) if chunk else []
    encoder.zero_grad(set_to_none=True)
    return lambda: gradients(encoder, loss, images, labels, chunk=chunk, keep=keep)


@pytest.mark.parametrize(
    "name, size, n, chunk, share",
    [
        ("small_cnn", 32, 512, None, 0),
        ("small_cnn", 32, 2048, 128, 0),
        ("resnet18", 64, 128, None, 0),
        ("resnet18", 64, 128, 16, 0),
        ("resnet18", 64, 128, 32, 0.5),
    ],
)
def test_a_step_within_a_fifth_of_what_is_measured(name, size, n, chunk, share, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    encoder, loss, images, labels = parts(name, size, n)
    said = forecast.of_step(encoder, loss, images, labels, chunk=chunk, graph_memory=kept_bytes(encoder, images, share))
    there = {"weights", "images", "optimiser"}  # before the step, or not taken by it
    expected = sum(count for part, count in said.parts.items() if part not in there) / 1e6
    measured = extra_megabytes(prepared, name=name, size=size, n=n, chunk=chunk, share=share)
    assert expected == pytest.approx(measured, rel=0.2)


def test_a_run_that_cannot_fit_is_refused_before_its_first_step(monkeypatch):
    encoder, loss, images, labels = parts("small_cnn", 32, 256)
    needed = forecast.of_step(encoder, loss, images, labels)
    forecast.refuse_what_cannot_be_had(needed, torch.device("cpu"))
    monkeypatch.setattr(forecast, "available_bytes", lambda device: 20 * 10**6)
    with pytest.raises(ValueError, match=r"This step needs .* for a batch of 256.* a chunk of \d+ would fit"):
        forecast.refuse_what_cannot_be_had(needed, torch.device("cpu"))
