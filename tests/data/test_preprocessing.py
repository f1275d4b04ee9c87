"""Models of timm see the pixels that their own configuration names; a knob that a person set wins."""

from __future__ import annotations

import numpy as np
import pytest
import timm
import timm.data
import torch
from PIL import Image

import lab.encoders
from lab.core.preprocessing import Preprocessing
from lab.data.images import transforms
from lab.encoders.foreign import ForeignEncoder, Seen, encoder_of
from lab.exporters._preparation import Geometry, Preparation
from lab.runs import RunConfig
from lab.runs.building import parts

# Bicubic with crops of 0.95, 0.875 and 1.0; both sides resized; bilinear.
MODELS = [
    "test_efficientnet.r160_in1k",
    "tf_efficientnet_lite0.in1k",
    "test_vit4.r160_in1k",
    "coat_lite_medium_384",
]
MODELS += ["mobilenetv3_large_075"]


def photographs():
    draw = np.random.default_rng(0)
    for width, height in ((300, 200), (211, 405), (90, 64), (700, 640)):
        small = Image.fromarray(draw.integers(0, 256, (8, 8, 3), dtype=np.uint8))
        yield small.resize((width, height), Image.Resampling.BICUBIC)


def check_rounding(pixels, expected):
    """A level that one direction rounds otherwise becomes two where a cubic of the other enlarges it."""
    difference = (pixels.int() - expected.int()).abs()
    assert difference.max() <= 2 and difference.float().mean() < 0.1


def wanted(config, size=None):
    """What timm makes of an image before it normalises it, uint8 [3 s s]."""
    sides = {**config, "input_size": (3, size, size)} if size else config
    return timm.data.create_transform(**sides, normalize=False)


@pytest.mark.parametrize("name", MODELS)
def test_images_are_those_of_timm(name):
    config = timm.data.resolve_data_config(pretrained_cfg=timm.get_pretrained_cfg(name).to_dict())
    own = Preprocessing.of(timm.get_pretrained_cfg(name).to_dict())
    for size in (config["input_size"][-1], 96):
        mine, theirs = (
            transforms.testing(size, config["mean"], config["std"], own=own),
            wanted(config, size),
        )
        for photo in photographs():
            np.testing.assert_array_equal(
                mine.geometry(photo), theirs(photo), err_msg=f"{name} {size} {photo.size}"
            )
            # decoded before
            pixels = mine.geometry(torch.from_numpy(np.array(photo)).permute(2, 0, 1))
            check_rounding(pixels, theirs(photo))


def test_an_image_with_borders_is_that_of_timm():
    own = Preprocessing(crop_pct=0.9, crop_mode="border")
    config = {
        "crop_pct": 0.9,
        "crop_mode": "border",
        "interpolation": "bicubic",
        "mean": transforms.HALF,
    }
    theirs = wanted({**config, "std": transforms.HALF, "input_size": (3, 64, 64)})
    for photo in photographs():
        np.testing.assert_array_equal(
            transforms.testing(64, own=own).geometry(photo), theirs(photo)
        )


def lite0(**testing):
    return RunConfig.of(
        {"encoder": {"name": "efficientnet_lite0", "pretrained": False}, "testing": testing}
    )


def test_every_way_to_name_a_network_keeps_its_configuration():
    config = timm.data.resolve_model_data_config(
        timm.create_model("test_efficientnet", pretrained=False)
    )
    named = lab.encoders.create("timm_model", backbone="test_efficientnet", pretrained=False)
    made = ForeignEncoder(timm.create_model("test_efficientnet", pretrained=False))
    head = lab.encoders.create("adapted", base="test_efficientnet", pretrained=False, dim=8)
    for encoder in (named, made, head, encoder_of("test_efficientnet", pretrained=False)):
        assert encoder.input_size == config["input_size"][-1] and tuple(encoder.mean) == tuple(
            config["mean"]
        )
        seen = parts.testing_transform(RunConfig.of({}), encoder)
        for photo in photographs():
            np.testing.assert_array_equal(seen.geometry(photo), wanted(config)(photo))
    said = ForeignEncoder(
        timm.create_model("test_efficientnet", pretrained=False), Seen(size=64, mean=(0, 0, 0.1))
    )
    assert said.input_size == 64 and said.mean == (0, 0, 0.1)
    assert lab.encoders.create("small_cnn").preprocessing is None


@pytest.mark.parametrize(
    "testing",
    [{"resize": 240}, {"resize": 240, "squash": True}, {"preprocessing": "protocol"}],
)
def test_what_a_person_set_wins(testing):
    encoder = lite0().encoder.create()
    plain = {name: value for name, value in testing.items() if name != "preprocessing"}
    expected = transforms.testing(224, encoder.mean, encoder.std, **plain)
    for photo in photographs():
        seen = parts.testing_transform(lite0(**testing), encoder).geometry(photo)
        np.testing.assert_array_equal(seen, expected.geometry(photo))


def test_a_stored_configuration_of_0_2_keeps_its_meaning():
    stored = {"size": None, "resize": None, "squash": False}
    assert lite0().testing.knobs.preprocessing == "encoder"
    assert lite0(**stored).testing.knobs.preprocessing == "protocol"
    again = RunConfig.of(lite0().as_dict())
    assert again.testing.knobs.preprocessing == "encoder", "what is stored now says so itself"


@pytest.mark.parametrize("name", MODELS)
def test_an_exported_program_resizes_alike(name):
    own = Preprocessing.of(timm.get_pretrained_cfg(name).to_dict())
    seen = transforms.testing(96, own=own)
    program = Preparation(Geometry.of(seen))
    for photo in photographs():
        pixels = torch.from_numpy(np.array(photo)).permute(2, 0, 1)[None]
        check_rounding(program(pixels)[0], seen.geometry(photo))


def test_what_cannot_be_exported_is_one_sentence():
    with pytest.raises(ValueError, match="--testing.preprocessing protocol"):
        Geometry.of(transforms.testing(64, own=Preprocessing(crop_mode="border")))
