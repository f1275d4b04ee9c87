"""What makes a folder of pictures a run sooner: the same embeddings, and large photos decoded no larger than needed."""

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

import lab.encoders
from lab.data.images.reading import open_rgb
from lab.runs.importing.quick import Quick, quickened


def stirred(encoder):
    """The encoder with statistics and weights of its normalisations that change something."""
    torch.manual_seed(0)
    for module in encoder.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.uniform_(-0.2, 0.2)
            module.running_var.uniform_(0.5, 2)
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.uniform_(module.bias, -0.2, 0.2)
    return encoder.eval()


def test_a_network_of_timm_is_quick_and_embeds_the_same():
    encoder = stirred(lab.encoders.create("efficientnet_lite0", pretrained=False, dim=None))
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    quick = quickened(encoder, 64)
    assert isinstance(quick, Quick) and not any(isinstance(one, nn.BatchNorm2d) for one in quick.modules())
    images = torch.randn(3, 3, 64, 64)
    with torch.inference_mode():
        torch.testing.assert_close(quick(images), encoder(images), atol=1e-5, rtol=1e-4)
    assert all(torch.equal(value, before[name]) for name, value in encoder.state_dict().items()), "the original stays"


class Crossed(nn.Module):
    """Two convolutions and two normalisations, which do not run in the order they stand in."""

    def __init__(self):
        super().__init__()
        self.one, self.of_two = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.two, self.of_one = nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4)

    def forward(self, images):
        return self.of_two(self.two(self.of_one(self.one(images)).relu())).mean((2, 3))


def test_what_would_embed_otherwise_is_left_as_it_is():
    crossed = stirred(Crossed())
    assert quickened(crossed, 16) is crossed
    words = nn.Flatten()
    assert quickened(words, 16) is words


@pytest.mark.parametrize("kind", ["jpeg", "png"])
def test_a_large_photo_is_decoded_as_large_as_needed(tmp_path, kind):
    waves = np.sin(np.linspace(0, 40, 1200))[:, None] + np.cos(np.linspace(0, 30, 1600))[None]
    pixels = np.stack([waves * 60 + 128, waves * -50 + 120, waves * 20 + 90], 2).astype(np.uint8)
    Image.fromarray(pixels).save(tmp_path / "it", kind)
    whole, small = open_rgb(tmp_path / "it"), open_rgb(tmp_path / "it", least=300)
    assert small.size == ((400, 300) if kind == "jpeg" else (1600, 1200)) and whole.size == (1600, 1200)
    assert open_rgb(tmp_path / "it", least=301).size == ((800, 600) if kind == "jpeg" else (1600, 1200))
    seen = [np.asarray(one.resize((120, 90), Image.Resampling.BILINEAR), float) for one in (whole, small)]
    assert np.abs(seen[0] - seen[1]).max() < 6
