"""Layers of networks with random weights: one pass gives what separate passes give."""

import json

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import lab
from lab.encoders import OUTPUT, AtLayer, EveryLayer, Layer, layers_in
from lab.encoders.foreign import ForeignEncoder
from lab.runs.building.fingerprints import fingerprint

NETWORKS = {
    "efficientnet_lite0": 64,
    "small_cnn": 32,
    "resnet18": 64,
    "convnext_atto": 64,
    "vit_tiny_patch16_224": 224,
    "swin_tiny_patch4_window7_224": 224,
    "deit_tiny_distilled_patch16_224": 224,
}


def network(name: str):
    torch.manual_seed(0)
    if name == "small_cnn":
        return lab.encoders.create(name, dim=None).eval()
    if name == "efficientnet_lite0":
        return lab.encoders.create(name, dim=None, pretrained=False).eval()
    return lab.encoders.create("timm_model", backbone=name, dim=None, pretrained=False).eval()


def images(side: int) -> torch.Tensor:
    return torch.randn(2, 3, side, side, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("name", NETWORKS)
def test_one_pass_gives_what_separate_passes_give(name):
    encoder, side = network(name), NETWORKS[name]
    layers = (OUTPUT, *layers_in(encoder, side))
    with torch.no_grad():
        together = EveryLayer(encoder, layers, side)
        parts = together(images(side)).split(together.widths, dim=1)
        torch.testing.assert_close(parts[0], encoder(images(side)), atol=1e-5, rtol=0)
        for layer, rows in zip(layers[1:], parts[1:], strict=True):
            torch.testing.assert_close(
                AtLayer(encoder, layer, side)(images(side)), rows, atol=1e-5, rtol=0
            )
            torch.testing.assert_close(rows.norm(dim=1), torch.ones(2))


def test_stages_of_a_convolutional_network_are_means_of_their_maps():
    encoder = network("efficientnet_lite0")
    features, means = images(64), []
    model = encoder.backbone.model
    with torch.no_grad():
        features = model.bn1(model.conv_stem(features))
        for block in model.blocks:
            features = block(features)
            means.append(F.normalize(features.mean(dim=(2, 3)), dim=1))
        for number, mean in enumerate(means, start=1):
            torch.testing.assert_close(
                AtLayer(encoder, Layer(number), 64)(images(64)), mean, atol=1e-5, rtol=0
            )
    assert len(layers_in(encoder, 64)) == len(means) == 7


def test_tokens_of_a_transformer():
    encoder = network("vit_tiny_patch16_224")
    model = encoder.backbone
    with torch.no_grad():
        tokens = model.norm_pre(model.patch_drop(model._pos_embed(model.patch_embed(images(224)))))
        for block in model.blocks[:5]:
            tokens = block(tokens)
        tokens = model.norm(tokens)
        first, mean = (
            F.normalize(tokens[:, 0], dim=1),
            F.normalize(tokens[:, 1:].mean(dim=1), dim=1),
        )
        expected = {"cls": first, "mean": mean, "both": torch.cat([first, mean], dim=1) / 2**0.5}
        for token, rows in expected.items():
            found = AtLayer(encoder, Layer(5, token), 224)(images(224))
            torch.testing.assert_close(found, rows, atol=1e-5, rtol=0)
        last = AtLayer(encoder, Layer(12, "cls"), 224)(images(224))
        torch.testing.assert_close(last, encoder(images(224)), atol=1e-5, rtol=0)


def test_what_a_network_does_not_have_is_refused():
    encoder = network("small_cnn")
    with pytest.raises(
        ValueError, match="layer must be from 1 to 3, the layers of this network; got 9"
    ):
        AtLayer(encoder, Layer(9), 32)
    with pytest.raises(
        ValueError, match="token cls needs a class token, which this network has not"
    ):
        AtLayer(encoder, Layer(1, "cls"), 32)
    with pytest.raises(ValueError, match="does not give its layers"):
        AtLayer(ForeignEncoder(torch.nn.Flatten()), Layer(1), 32)


def adapted(**knobs):
    torch.manual_seed(0)
    return lab.encoders.create("adapted", **({"base": "small_cnn", "dim": None} | knobs))


def test_a_whitened_layer_is_the_layer_and_then_the_whitening():
    encoder = adapted(layer=2, whiten=5).eval()
    with pytest.raises(ValueError, match="was not fitted"):
        encoder(images(32))
    mean, projection = np.arange(64) / 64, np.random.default_rng(0).normal(size=(64, 5))
    encoder.whitening.fit(mean, projection)
    layer = AtLayer(encoder.whole_network, Layer(2), 32)(images(32)).double()
    expected = F.normalize((layer - torch.from_numpy(mean)) @ torch.from_numpy(projection), dim=1)
    torch.testing.assert_close(encoder(images(32)).double(), expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(
        encoder(encoder.backbone(images(32))).double(), expected, atol=1e-5, rtol=0
    )
    assert not [one for one in encoder.parameters() if one.requires_grad] and encoder.dim == 5

    again = adapted(layer=2, whiten=5).eval()
    again.load_state_dict(encoder.state_dict())
    torch.testing.assert_close(again(images(32)), encoder(images(32)))


def test_the_network_of_a_run_gives_its_layers():
    encoder = adapted(base=json.dumps({"name": "small_cnn", "dim": 16, "width": 8}), layer=1)
    assert encoder.width == 8 and encoder(images(32)).shape == (2, 8)


@pytest.mark.parametrize(
    ("knobs", "sentence"),
    [
        ({"layer": 0}, "1 <= layer <= 1,000"),
        ({"layer": 4}, "layer must be from 1 to 3"),
        ({"layer": 10**9}, "1 <= layer <= 1,000"),
        ({"layer": 1, "token": "cls"}, "token cls needs a class token"),
        ({"token": "both"}, "token is of a layer"),
        ({"layer": 1, "whiten": 33}, "whiten keeps at most the 32 numbers"),
        ({"whiten": 10**9}, "1 <= whiten <= 16,384"),
        ({"shrinkage": 1.5}, "0 <= shrinkage <= 1"),
        ({"base": None, "layer": 1}, "layer needs a network"),
    ],
)
def test_settings_that_fit_no_network_are_refused(knobs, sentence):
    with pytest.raises(ValueError, match=sentence):
        adapted(**knobs)


def test_fingerprints_tell_layers_and_whitenings_apart():
    one, other, whole = adapted(layer=1), adapted(layer=2), adapted()
    one.load_state_dict(other.state_dict())
    whitened = adapted(layer=2, whiten=5)
    whitened.whitening.fit(np.zeros(64), np.eye(64)[:, :5])
    found = [fingerprint(encoder) for encoder in (one, other, whole, whitened)]
    assert len(set(found)) == 4
    assert fingerprint(adapted(layer=2)) == found[1]


def test_a_layer_of_a_transformer_runs_as_an_exported_program():
    encoder = adapted(
        base="vit_tiny_patch16_224",
        pretrained=False,
        image_size=64,
        layer=5,
        token="both",
        whiten=9,
    )
    encoder.whitening.fit(np.zeros(384), np.eye(384)[:, :9])
    encoder.eval()
    free = ({0: torch.export.Dim("images", min=1)},)
    with torch.no_grad():
        program = torch.export.export(encoder, (images(64),), dynamic_shapes=free).module()
        three = torch.cat([images(64), images(64)[:1]])
        torch.testing.assert_close(program(three), encoder(three), atol=1e-5, rtol=0)
