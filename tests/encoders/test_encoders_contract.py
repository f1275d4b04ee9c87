"""What holds for every encoder, built small and without pretrained weights."""

import pytest
import torch

import lab

# its network keeps its weights: test_adapted.py
NAMES = [name for name in lab.encoders.names() if name != "adapted"]
SMALL = {
    "timm_model": {"backbone": "resnet18", "pretrained": False, "image_size": 32},
    "efficientnet_lite0": {"pretrained": False},
}


def create(name, **knobs):
    torch.manual_seed(0)
    return lab.encoders.create(name, **(SMALL.get(name, {}) | {"dim": 16} | knobs))


def images(n=4, size=32):
    return torch.rand(n, 3, size, size, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("name", NAMES)
def test_embeddings_are_unit_rows_and_train_every_weight(name):
    encoder = create(name)
    assert encoder.training and encoder.dim == 16 and len(encoder.mean) == len(encoder.std) == 3
    embeddings = encoder(images())
    assert embeddings.shape == (4, 16)
    torch.testing.assert_close(embeddings.norm(dim=1), torch.ones(4))
    (embeddings @ torch.randn(16, 1)).sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in encoder.parameters())


@pytest.mark.parametrize("name", NAMES)
def test_weights_travel_through_a_state_dict(name):
    one, other = create(name, pooling="gem"), create(name, pooling="gem")
    one(images())
    other.load_state_dict(one.state_dict())
    torch.testing.assert_close(one.eval()(images()), other.eval()(images()))


@pytest.mark.parametrize("name", NAMES)
def test_the_encoder_without_a_head(name):
    encoder = create(name, pooling="mixed", dim=None, layer_norm=True).eval()
    assert encoder(images()).shape == (4, encoder.dim) and encoder.dim > 16


@pytest.mark.parametrize("name", NAMES)
def test_the_projector_is_left_out_of_evaluation(name):
    encoder = create(name, projector=True, freeze_batchnorm=True)
    trained = encoder(images())
    assert not torch.allclose(trained, encoder.eval()(images()))
    plain = create(name, freeze_batchnorm=True).eval()
    plain.load_state_dict(encoder.state_dict(), strict=False)
    torch.testing.assert_close(plain(images()), encoder(images()))

    wide = create(name, projector=True, projector_width=40, dim=8, freeze_batchnorm=True)
    assert (
        wide.trained_dim == 40
        and wide(images()).shape == (4, 40)
        and wide.head.projector.bias is None
    )
    assert wide.eval()(images()).shape == (4, 8) and wide.dim == 8
    torch.testing.assert_close(wide.train()(images()).norm(dim=1), torch.ones(4))


@pytest.mark.parametrize("name", NAMES)
def test_frozen_batchnorm_stays_frozen_in_training(name):
    encoder = create(name, freeze_batchnorm=True, freeze_affine=True)
    layers = [m for m in encoder.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
    before = [layer.running_mean.clone() for layer in layers]
    for mode in (True, False, True):
        encoder.train(mode)
        encoder(images())
        assert not any(layer.training or layer.weight.requires_grad for layer in layers)
    assert encoder.training
    for layer, mean in zip(layers, before, strict=True):
        torch.testing.assert_close(layer.running_mean, mean, rtol=0, atol=0)


def test_what_stands_before_the_last_layer(name="small_cnn"):
    assert create(name, layer_norm=True, layer_norm_affine=True).head.norm.weight.requires_grad
    assert create(name, layer_norm=True).head.norm.weight is None
    unit = create(name, unit_features=True).head.norm(torch.tensor([[3.0, 4.0]]))
    torch.testing.assert_close(unit, torch.tensor([[0.6, 0.8]]))
    with pytest.raises(ValueError, match="layer_norm or by unit_features"):
        create(name, unit_features=True, layer_norm=True)


def test_images_of_another_shape_get_a_sentence():
    for shape in ((3, 32, 32), (2, 32, 32, 3)):
        with pytest.raises(ValueError, match=r"needs images \[n 3 h w\], got"):
            create("small_cnn")(torch.zeros(shape))


@pytest.mark.parametrize("name", NAMES)
def test_autocast_keeps_unit_rows(name):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        embeddings = create(name).eval()(images())
    torch.testing.assert_close(embeddings.float().norm(dim=1), torch.ones(4), atol=1e-2, rtol=0)
