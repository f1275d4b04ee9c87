"""The forecast against memory that was measured, and the sentence of a refusal."""

from __future__ import annotations

import pytest
import torch

from lab.bench._memory import extra_megabytes
from lab.kernels import positive_pairs
from lab.kernels.memory import forecast, require, require_whole_matrices


@pytest.mark.parametrize("name, n, d", [("recall_at_k", 4096, 512), ("sup_ap", 8192, 128)])
def test_within_a_fifth_of_what_is_measured(name, n, d):
    said = forecast(name, n, d).parts["loss"] / 1e6
    # The smaller of two: what else the process does now and then, such as reading a cache, only adds.
    assert said == pytest.approx(min(extra_megabytes(name, n, d, 4, "untrained") for _ in range(2)), rel=0.2)


def test_a_chunk_bounds_the_graph():
    whole = forecast("recall_at_k", 4096, 512, graph_bytes=10**7)
    chunked = forecast("recall_at_k", 4096, 512, graph_bytes=10**7, chunk=64, kept_bytes=10**9)
    assert whole.parts["encoder's graph"] == 4096 * 10**7 and whole.parts["kept graphs"] == 0
    assert chunked.parts["encoder's graph"] == 64 * 10**7 and chunked.parts["kept graphs"] == 10**9


def test_a_refusal_names_what_would_fit():
    needed = forecast("recall_at_k", 4096, 512, graph_bytes=10**7, chunk=256)
    free = 10**9
    with pytest.raises(ValueError, match=r"a chunk of (\d+) would fit") as refused:
        require(needed, free)
    fits = int(str(refused.value).split("a chunk of ")[1].split()[0])
    require(forecast("recall_at_k", 4096, 512, graph_bytes=10**7, chunk=fits), free)
    needed = forecast("recall_at_k", 4096, 512)
    with pytest.raises(ValueError, match=r"a batch of (\d+) would fit") as refused:
        require(needed, 10**7)
    fits = int(str(refused.value).split("; a batch of ")[1].split()[0])
    assert 0 < fits < 4096
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
