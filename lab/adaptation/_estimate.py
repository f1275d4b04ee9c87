"""How long a head will take on this machine, before anything is begun."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch

from lab.adaptation._plan import Plan
from lab.runs.building.parts import encoder_and_loss, testing_transform

FEW = 8
"""Images that are embedded to see how long one takes."""
BEGINNING = 4.0
"""Seconds of what is done besides: reading weights, searching, writing."""


def seconds(plan: Plan) -> float:
    """Of embedding every image once and training the head, as measured on a few random images and two steps.

    Not counted: reading files. On a processor one thread is timed by what it computes, so that other work does not
    count, and shared out among those that train. Features that were kept before make it quicker.
    """
    config, threads = plan.head, torch.get_num_threads()
    sampler, knobs = config.sampler.knobs, config.training.knobs
    train = plan.images.splits["train"].items
    device = torch.device(knobs.device if knobs.device != "auto" else "cuda" if torch.cuda.is_available() else "cpu")
    encoder, loss = encoder_and_loss(config, len(np.unique(plan.images.labels[train])))
    encoder, loss = encoder.to(device).train(), loss.to(device)
    labels = torch.arange(sampler.batch_size, device=device) // sampler.per_class
    rows = torch.randn(sampler.batch_size, encoder.width, device=device)

    def embed() -> None:
        side = testing_transform(config, encoder)(torch.zeros(3, 64, 64, dtype=torch.uint8)).shape[-1]
        with torch.no_grad():
            float(encoder.backbone(torch.rand(FEW, 3, side, side, device=device)).sum())  # which waits for a GPU

    def step() -> None:
        loss(encoder(rows), labels).backward()

    torch.set_num_threads(1)
    try:
        an_image = 0.0 if encoder.knobs.base is None else _quickest(embed, device) / FEW
        a_step = _quickest(step, device) if knobs.steps else 0.0
    finally:
        torch.set_num_threads(threads)
    share = threads if device.type == "cpu" else 1
    return BEGINNING + (len(plan.images) * an_image + knobs.steps * a_step) / share


def _quickest(work: Callable[[], None], device: torch.device) -> float:
    clock, taken = time.thread_time if device.type == "cpu" else time.perf_counter, []
    for _ in range(3):
        began = clock()
        work()
        taken.append(clock() - began)
    return min(taken)
