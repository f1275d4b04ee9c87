"""A head on a frozen network, by itself."""

import json

import pytest
import torch

import lab


def images(n=3, size=32):
    return torch.rand(n, 3, size, size, generator=torch.Generator().manual_seed(1))


def create(**knobs):
    return lab.encoders.create("adapted", **({"base": "small_cnn", "dim": 8} | knobs))


@pytest.mark.parametrize("head", ["linear", "mlp"])
def test_features_and_images_come_to_the_same_and_only_the_head_is_trained(head):
    encoder = create(head=head)
    features = encoder.backbone(images())
    assert features.shape == (3, encoder.width) and encoder.dim == 8
    torch.testing.assert_close(encoder(features), encoder(images()))
    encoder(images()).square()[:, 0].sum().backward()
    trained = {name for name, weight in encoder.named_parameters() if weight.grad is not None}
    assert trained and all(name.startswith("head.embed") for name in trained)
    assert not any(part.training for part in encoder.train().backbone.modules())


def test_without_a_width_it_is_the_network_as_it_came():
    encoder = create(dim=None).eval()
    torch.testing.assert_close(encoder(images()), encoder.backbone(images()))
    assert not [one for one in encoder.parameters() if one.requires_grad]


def test_the_encoder_of_a_run_is_given_as_json():
    torch.manual_seed(0)
    choice = {"name": "small_cnn", "dim": 16, "width": 8}
    encoder = create(base=json.dumps(choice))
    assert encoder.width == 16 and encoder.backbone.knobs.width == 8


def test_vectors_are_taken_and_pictures_refused():
    head = lab.encoders.create("adapted", width=5, dim=3)
    torch.testing.assert_close(head(torch.rand(4, 5)).norm(dim=1), torch.ones(4))
    with pytest.raises(ValueError, match="takes vectors of 5 numbers .* without the network"):
        head(images())
    with pytest.raises(ValueError, match="takes vectors of 5 numbers"):
        head(torch.rand(4, 6))
