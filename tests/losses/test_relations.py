"""The equalities between losses that their docstrings state under "Relations"."""

from __future__ import annotations

import pytest
import torch

import lab

LABELS = torch.arange(4).repeat_interleave(3)


@pytest.fixture
def rows():
    drawn = torch.randn(12, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    return torch.nn.functional.normalize(drawn)


@pytest.mark.parametrize(
    ("name", "weights", "knobs"),
    [
        ("arc_face", "W", {"scale": 8, "margin": 0}),
        ("cos_face", "W", {"scale": 8, "margin": 0}),
        ("soft_triple", "fc", {"la": 8, "margin": 0, "centers_per_class": 1}),
        ("proxy_nca", "proxies", {"temperature": 2 / 8}),
    ],
)
def test_classification_losses_without_margin_equal_normalized_softmax(rows, name, weights, knobs):
    drawn = torch.randn(4, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    reference = lab.losses.create("normalized_softmax", num_classes=4, dim=5, temperature=1 / 8)
    reference.inner.W.data = drawn.T
    loss = lab.losses.create(name, num_classes=4, dim=5, **knobs)
    getattr(loss.inner, weights).data = drawn if weights == "proxies" else drawn.T.clone()
    torch.testing.assert_close(loss(rows, LABELS), reference(rows, LABELS))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            ("margin_contrastive", {"delta_pos": 0.9}),
            ("calibration", {"variant": "released", "alpha": 0.9}),
        ),
        (("roadmap", {"lam": 0}), ("sup_ap", {})),
        (("roadmap", {"lam": 1}), ("calibration", {})),
        (("contextual", {"lam": 0, "gamma": 0}), ("margin_contrastive", {"delta_pos": 0.75})),
        (
            ("fast_ap", {"bins": 10}),
            ("softbin_ap", {"bins": 11, "low": -1.0, "include_self": False}),
        ),
        (("blackbox_ap", {"margin": 0, "include_self": False}), ("smooth_ap", {"tau": 1e-9})),
    ],
)
def test_two_losses_are_equal(rows, first, second):
    losses = [lab.losses.create(name, **knobs) for name, knobs in (first, second)]
    torch.testing.assert_close(losses[0](rows, LABELS), losses[1](rows, LABELS))
