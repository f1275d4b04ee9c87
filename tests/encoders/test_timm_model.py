import pytest
import torch
from safetensors.torch import save_file

import lab


def create(backbone, **knobs):
    return lab.encoders.create(
        "timm_model", backbone=backbone, **({"pretrained": False, "dim": 8} | knobs)
    )


@pytest.mark.parametrize(
    ("backbone", "pooling", "size"),
    [
        ("resnet10t", "gem", 64),
        ("vit_tiny_patch16_224", "native", 32),
        ("vit_tiny_patch16_224", "avg", 32),
        ("swin_tiny_patch4_window7_224", "max", 224),
        ("convnext_atto", "mixed", 64),
        ("mobilenetv3_small_050", "avg", 64),
    ],
)
def test_any_kind_of_backbone(backbone, pooling, size):
    encoder = create(backbone, pooling=pooling, image_size=size).eval()
    assert encoder.input_size == size
    with torch.no_grad():
        assert encoder(torch.rand(2, 3, size, size)).shape == (2, 8)


def test_native_pooling_is_timms_own():
    import timm

    torch.manual_seed(0)
    encoder = create("vit_tiny_patch16_224", dim=None, image_size=32, normalise=False).eval()
    own = timm.create_model("vit_tiny_patch16_224", num_classes=0, img_size=32).eval()
    own.load_state_dict(encoder.backbone.state_dict())
    images = torch.rand(2, 3, 32, 32)
    torch.testing.assert_close(encoder(images), own(images))


def test_weights_are_read_from_a_file_and_freeze_batchnorm(tmp_path):
    import timm

    torch.manual_seed(3)
    donor = timm.create_model("resnet10t")
    save_file(donor.state_dict(), tmp_path / "weights.safetensors")
    torch.save({"state_dict": donor.state_dict()}, tmp_path / "weights.pth")
    for file in ("weights.safetensors", "weights.pth"):
        encoder = create("resnet10t", weights=str(tmp_path / file), pretrained=True)
        assert encoder.batchnorm_frozen
        loaded = encoder.backbone.state_dict()
        assert len(loaded) > 50 and loaded.keys() <= donor.state_dict().keys()
        assert all(torch.equal(value, donor.state_dict()[key]) for key, value in loaded.items())
    assert not create("resnet10t").batchnorm_frozen


def test_without_a_network_the_message_says_which_file_to_put_where(monkeypatch, tmp_path):
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda *_, **__: None)
    with pytest.raises(
        ValueError,
        match=r"model\.safetensors of .*'timm/resnet18\.a1_in1k'.*--encoder\.weights FILE",
    ):
        create("resnet18", pretrained=True)


@pytest.mark.parametrize(
    ("backbone", "knobs", "sentence"),
    [
        ("resnet8000", {}, "timm has no model 'resnet8000'. Similar: resnet"),
        ("resnet10t", {"image_size": 4}, "16 <= image_size"),
        ("resmlp_12_224", {"image_size": 64}, "does not take images of 64 x 64"),
        (
            "deit_tiny_distilled_patch16_224",
            {"pooling": "gem"},
            "with this pooling; native always works",
        ),
        ("resnet10t", {"pooling": "median"}, "one of native, avg, max, mixed, gem"),
        (
            "resnet10t",
            {"lora": 4},
            "lora changes attn.qkv, which resnet10t lacks; take a transformer",
        ),
    ],
)
def test_bad_input_gets_a_sentence(backbone, knobs, sentence):
    with pytest.raises(ValueError, match=sentence):
        create(backbone, **knobs)


@pytest.mark.parametrize(
    ("knobs", "learning"),
    [
        ({"frozen_blocks": 4}, {"blocks.3", "blocks.4", "blocks.5", "norm", "embed"}),
        ({"frozen_blocks": 99}, {"embed"}),
        ({"lora": 2}, {"lora_A", "lora_B", "embed"}),
    ],
)
def test_only_what_is_not_frozen_learns(knobs, learning):
    torch.manual_seed(0)
    whole = create("test_vit", image_size=32)
    torch.manual_seed(0)
    encoder, images = create("test_vit", image_size=32, **knobs), torch.rand(4, 3, 32, 32)
    encoder.head.load_state_dict(whole.head.state_dict())  # other layers draw other random numbers
    torch.testing.assert_close(encoder(images), whole(images))  # LoRA begins at zero
    before = {name: value.detach().clone() for name, value in encoder.named_parameters()}
    optimiser = torch.optim.SGD(encoder.parameters(), 1.0)
    for _ in range(2):  # the first step leaves LoRA's A as it is, for B is zero
        encoder(images).square()[:, 0].sum().backward()
        optimiser.step()
        optimiser.zero_grad()
    moved = {
        name for name, value in encoder.named_parameters() if not torch.equal(value, before[name])
    }
    assert all(any(part in name for part in learning) for name in moved)
    assert all(any(part in name for name in moved) for part in learning)


class Evil:
    def __reduce__(self):
        return print, ("this ran",)


def test_a_file_of_more_than_plain_weights_is_refused(tmp_path, capsys):
    torch.save({"state_dict": Evil()}, tmp_path / "evil.pth")
    with pytest.raises(ValueError, match="more than plain tensors"):
        create("resnet10t", weights=str(tmp_path / "evil.pth"))
    assert "this ran" not in capsys.readouterr().out
