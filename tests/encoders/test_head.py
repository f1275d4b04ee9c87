import math

import pytest
import torch

from lab.encoders import Head
from lab.encoders._base import Pool, gem


def test_pooling_by_hand():
    """One channel, positions 1 2 3 4."""
    features = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]], dtype=torch.float64)
    assert Pool("avg")(features).item() == 2.5
    assert Pool("max")(features).item() == 4.0
    assert Pool("mixed")(features).item() == 3.25
    assert Pool("gem").double()(features).item() == pytest.approx(
        ((1 + 8 + 27 + 64) / 4) ** (1 / 3), rel=1e-12
    )


def test_gem_gradient_is_that_of_the_formula():
    features = torch.rand(2, 3, 2, 2, dtype=torch.float64, requires_grad=True)
    p = torch.tensor(2.5, dtype=torch.float64, requires_grad=True)
    weights = torch.rand(2, 3, dtype=torch.float64)
    got = torch.autograd.grad((gem(features, p) * weights).sum(), [features, p])
    formula = features.clamp(min=1e-6).pow(p).mean(dim=(-2, -1)).pow(1 / p)
    expected = torch.autograd.grad((formula * weights).sum(), [features, p])
    for one, other in zip(got, expected, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("value", [0.0, 1e-4, 1e4])
def test_gem_neither_overflows_nor_vanishes_in_half_precision(value):
    features = torch.full((1, 1, 2, 2), value, dtype=torch.float16)
    assert gem(features, 10.0).item() == pytest.approx(max(value, 1e-6), rel=1e-2, abs=1e-6)


def test_layer_norm_has_no_weights_and_comes_before_the_linear_map():
    head = Head(torch.nn.Identity(), 4, 2, layer_norm=True, projector=None)
    assert {name for name, _ in head.named_parameters()} == {"embed.weight", "embed.bias"}
    pooled = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
    normal = (pooled - 2.5) / math.sqrt(1.25 + 1e-5)
    torch.testing.assert_close(head(pooled), head.embed(normal))
    torch.testing.assert_close(head(pooled), head(10 * pooled + 5), rtol=1e-3, atol=1e-4)
