"""Regions that make two pictures alike: the parts are compared with plain loops, and their sums with the encoder."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

import lab
from lab.inspect import alike_regions, integrated_gradients
from lab.inspect.regions import MATCHES


def two(size: int = 32) -> torch.Tensor:
    return torch.randn(2, 3, size, size, generator=torch.Generator().manual_seed(4))


def cosine(encoder, images) -> float:
    with torch.no_grad():
        one, other = encoder(images).double()
    return float(one @ other / one.norm() / other.norm())


HEADS = [
    {"pooling": "avg", "dim": 16},
    {"pooling": "gem", "dim": None},
    {"pooling": "gem", "dim": 16, "layer_norm": True, "layer_norm_affine": True},
    {"pooling": "max", "dim": None, "layer_norm": True, "layer_norm_affine": True},
    {"pooling": "mixed", "dim": 16, "unit_features": True},
    {"pooling": "avg", "dim": None, "unit_features": True},
]


@pytest.mark.parametrize("knobs", HEADS, ids=str)
def test_the_parts_sum_to_the_similarity(knobs):
    torch.manual_seed(1)
    encoder = lab.encoders.create("small_cnn", width=8, **knobs).eval()
    if isinstance(encoder.head.norm, torch.nn.LayerNorm):
        torch.nn.init.normal_(encoder.head.norm.weight)
        torch.nn.init.normal_(encoder.head.norm.bias)
    first, second = two()
    found = alike_regions(encoder, first, second)
    assert found.exact and [one.shape for one in found.maps] == [(4, 4)] * 2
    for one, rest in zip(found.maps, found.left_over, strict=True):
        assert one.sum() + rest == pytest.approx(found.similarity, abs=1e-6)
    assert found.similarity == pytest.approx(cosine(encoder, two()), abs=1e-6)


def test_the_best_matches_are_those_of_a_plain_loop():
    encoder = lab.encoders.create("small_cnn", width=8, pooling="avg", dim=16).eval()
    found = alike_regions(encoder, *two())
    with torch.no_grad():
        parts, constant = encoder.parts(two())
        lengths = (parts.sum((2, 3)) + constant).norm(dim=1).tolist()
    one, other = (part.flatten(1).T.tolist() for part in parts)
    pairs = {
        (p, q): sum(a * b for a, b in zip(one[p], other[q], strict=True)) / lengths[0] / lengths[1]
        for p, q in itertools.product(range(16), range(16))
    }
    for p, q, share in found.matches:
        assert share == pytest.approx(pairs[p, q], abs=1e-5) and share == pytest.approx(
            max(pairs.values()), abs=1e-5
        )
        pairs = {pair: value for pair, value in pairs.items() if pair[0] != p and pair[1] != q}
    assert len(found.matches) == MATCHES


def test_a_place_is_worth_what_a_plain_loop_says():
    """Average pooling and a linear head: f_p W / P against the other embedding, place by place."""
    encoder = lab.encoders.create("small_cnn", width=8, pooling="avg", dim=16).eval()
    first, second = two()
    found = alike_regions(encoder, first, second)
    with torch.no_grad():
        maps = encoder.backbone(two()).double()
        one, other = encoder.raw(two()).double()
    weight, bias = (
        encoder.head.embed.weight.detach().double(),
        encoder.head.embed.bias.detach().double(),
    )
    for row, column in itertools.product(range(4), range(4)):
        part = weight @ maps[0, :, row, column] / 16
        assert found.maps[0][row, column] == pytest.approx(
            float(part @ other / one.norm() / other.norm()), abs=1e-6
        )
    assert found.left_over[0] == pytest.approx(
        float(bias @ other / one.norm() / other.norm()), abs=1e-6
    )


def test_mirrored_views_are_put_back_where_they_belong():
    encoder = lab.encoders.create("small_cnn", width=8).eval()
    first, second = two()
    found = alike_regions(encoder, first, second, flip=True)
    with torch.no_grad():
        rows = encoder(two()).double() + encoder(two().flip(-1)).double()
    assert found.similarity == pytest.approx(
        float(torch.cosine_similarity(rows[0], rows[1], dim=0)), abs=1e-6
    )
    mirrored = alike_regions(encoder, first.flip(-1), second, flip=True)
    np.testing.assert_allclose(mirrored.maps[0][:, ::-1], found.maps[0], atol=1e-6)
    assert found.maps[0].sum() + found.left_over[0] == pytest.approx(found.similarity, abs=1e-6)


@pytest.mark.parametrize(("knobs", "exact", "grid"), [
    ({"backbone": "test_vit", "pooling": "gem"}, True, 10),
    ({"backbone": "test_vit"}, False, 10),
])  # fmt: skip
def test_backbones_of_timm_by_map_and_by_patch(knobs, exact, grid):
    encoder = lab.encoders.create("timm_model", pretrained=False, dim=8, **knobs).eval()
    first, second = two(encoder.input_size)
    found = alike_regions(encoder, first, second)
    assert found.exact is exact and found.maps[0].shape == (grid, grid)
    assert found.similarity == pytest.approx(cosine(encoder, two(encoder.input_size)), abs=1e-5)
    for one, rest in zip(found.maps, found.left_over, strict=True):
        assert one.sum() + rest == pytest.approx(found.similarity, abs=1e-6)


def test_integrated_gradients_of_a_linear_embedding_are_known():
    """|e| is made constant by a second axis that is orthogonal to the other picture: the sum is cos - cos of zeros."""
    weights = torch.randn(3, 6, 6, generator=torch.Generator().manual_seed(2)).double()
    image, other = torch.rand(3, 6, 6).double(), torch.tensor([1.0, 0.0]).double()

    def embed(images):
        angle = (images * weights).sum((1, 2, 3)) / 20
        return torch.stack([angle.sin(), angle.cos()], dim=1)

    found = integrated_gradients(embed, image, other, cells=3, steps=64)
    assert float(found.sum()) == pytest.approx(float(embed(image[None])[0, 0]), abs=1e-4)
    shares = (image * weights).sum(0)
    expected = torch.stack(
        [shares[2 * r : 2 * r + 2, 2 * c : 2 * c + 2].sum() for r in range(3) for c in range(3)]
    )
    np.testing.assert_allclose(found.ravel() / found.sum(), expected / expected.sum(), atol=1e-6)


def test_any_module_is_explained_by_gradients_and_says_so():
    net = torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(3 * 16 * 16, 8), torch.nn.Tanh()
    ).eval()
    found = alike_regions(net, *two(16))
    assert not found.exact and found.maps[0].shape == (14, 14)
    assert "gradients" in found.summary and found.words(0).startswith("most from ")
    frame = found.to_frame()
    assert len(frame) == 2 * 14 * 14 and frame.contribution.sum() == pytest.approx(
        sum(map(np.sum, found.maps))
    )
    assert len(found.figure().data) == 2
