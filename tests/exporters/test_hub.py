"""Published folders are opened with transformers, timm and lab.load, and embed as the run does."""

import json
import re
import runpy

import numpy as np
import pytest
import timm
import torch
from PIL import Image
from transformers import AutoConfig, AutoImageProcessor, AutoModel

import lab
from lab import exporters
from lab.__main__ import main
from lab.runs.building.trained import open_trained

BACKBONE = {
    "name": "timm_model",
    "backbone": "test_resnet",
    "pretrained": False,
    "dim": 8,
    "image_size": 32,
}
ENCODERS = {
    "small": {
        "name": "small_cnn",
        "dim": 8,
        "width": 4,
        "layer_norm": True,
        "layer_norm_affine": True,
    },
    "timm": BACKBONE,
    "mixed": {**BACKBONE, "pooling": "mixed", "normalise": False},
    "gem": {
        **BACKBONE,
        "pooling": "gem",
        "layer_norm": True,
        "projector": True,
        "projector_width": 16,
    },
    "features": {**BACKBONE, "dim": None, "unit_features": True},
    "transformer": {
        **BACKBONE,
        "backbone": "test_vit",
        "pooling": "avg",
        "image_size": 96,
        "lora": 2,
    },
}


@pytest.fixture(scope="module", params=ENCODERS)
def published(request, tmp_path_factory, train_tiny):
    root = tmp_path_factory.mktemp(request.param)
    side = ENCODERS[request.param].get("image_size", 32)
    run = train_tiny(
        root,
        "run",
        encoder=ENCODERS[request.param],
        augmentation={"size": side},
        training={"steps": 1},
    )
    folder = exporters.create("huggingface").export(run, root / "model")
    stored, images = run.embeddings("test"), run.dataset()
    for name, item in zip(("a.png", "b.png"), stored.items, strict=False):
        images.load(int(item)).resize((90, 70)).save(folder / name)
    return run, folder


def expected_of(run, folder):
    """What the run itself makes of the two pictures, before unit length, and the pixels that it sees."""
    trained = open_trained(run)
    seen = lab.load(run).encoder.transform
    pixels = torch.stack([seen(Image.open(folder / name)) for name in ("a.png", "b.png")])
    with torch.no_grad():
        return trained.encoder, pixels, trained.encoder(pixels)


def test_transformers_opens_it(published, tmp_path):
    run, folder = published
    _, pixels, expected = expected_of(run, folder)
    assert AutoConfig.from_pretrained(folder, trust_remote_code=True).rankscope["step"] == 1
    model = AutoModel.from_pretrained(folder, trust_remote_code=True)
    with torch.no_grad():
        torch.testing.assert_close(model(pixels).pooler_output, expected, atol=1e-5, rtol=1e-4)
    processor = AutoImageProcessor.from_pretrained(folder)
    prepared = processor([Image.open(folder / "a.png")], return_tensors="pt")["pixel_values"]
    assert (prepared - pixels[:1]).abs().max() < 0.05  # levels of 1/255, in units of the deviation
    model.save_pretrained(tmp_path)  # as somebody does who trained it on
    again = AutoModel.from_pretrained(tmp_path, trust_remote_code=True)
    with torch.no_grad():
        torch.testing.assert_close(again(pixels).pooler_output, expected, atol=1e-5, rtol=1e-4)
    half = AutoModel.from_pretrained(folder, trust_remote_code=True, dtype=torch.bfloat16)
    assert next(half.parameters()).dtype == torch.bfloat16


def test_timm_opens_it(published):
    run, folder = published
    encoder, pixels, _ = expected_of(run, folder)
    told = json.loads((folder / "config.json").read_text())
    if "stages" in told["rankscope"]["layout"]:
        assert "architecture" not in told
        return
    model = timm.create_model(f"local-dir:{folder}", pretrained=True).eval()
    with torch.no_grad():
        part = getattr(encoder.backbone, "model", encoder.backbone)
        torch.testing.assert_close(model(pixels), part(pixels), atol=1e-5, rtol=1e-4)
    prepare = timm.data.create_transform(**timm.data.resolve_model_data_config(model))
    seen = prepare(Image.open(folder / "a.png"))
    torch.testing.assert_close(seen, pixels[0], atol=1e-5, rtol=1e-5)


def test_lab_opens_it_as_a_run(published, tmp_path, capsys):
    run, folder = published
    for name in ("a.png", "b.png"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    model = lab.load(folder, gallery=tmp_path)
    np.testing.assert_allclose(
        model.embed(folder / "a.png"), lab.load(run).embed(folder / "a.png"), atol=1e-6
    )
    assert model.search(folder / "b.png", k=1)[0].key.endswith("b.png")
    with pytest.raises(
        ValueError, match="a published model without its pictures; say which to search, as gallery"
    ):
        lab.load(folder).search(folder / "a.png")
    assert (
        main(["query", str(folder), str(folder / "a.png"), "--gallery", str(tmp_path), "--k", "1"])
        == 0
    )
    assert "a.png" in capsys.readouterr().out


def test_the_lines_of_the_card_run_as_printed(published, monkeypatch):
    run, folder = published
    encoder, _, expected = expected_of(run, folder)
    monkeypatch.chdir(folder)
    blocks = re.findall(r"```python\n(.*?)```", (folder / "README.md").read_text(), re.DOTALL)
    assert len(blocks) == 2 + ("local-dir" in (folder / "README.md").read_text())
    for block in blocks:
        names: dict = {}
        exec(block, names)
        if "vectors" in names:
            np.testing.assert_allclose(
                np.asarray(names["vectors"]), expected.numpy(), atol=0.02 * expected.abs().max()
            )
        else:
            assert names["features"].shape[0] == 2
    assert [found.key for found in names["found"]][0].endswith("a.png")


def test_nothing_of_this_machine_is_published(published):
    _, folder = published
    for name in ("config.yaml", "config.json", "README.md"):
        assert str(folder.parent) not in (folder / name).read_text()
    text = (folder / "modeling_rankscope.py").read_text()
    assert "lab." not in re.sub(r'""".*?"""', "", text, flags=re.DOTALL)
    assert "RankscopeModel" in runpy.run_path(str(folder / "modeling_rankscope.py"))


class Own(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 4)

    def forward(self, images):
        return self.layer(images.mean(dim=(2, 3)))


def test_an_encoder_of_ones_own_comes_as_a_program(tmp_path, pictures, monkeypatch):
    module = Own()
    run = lab.train(
        module, {"name": "class_folders", "root": str(pictures), "validation": 0.5, "test": 0.25}, "contrastive",
        steps=1, runs=tmp_path, name="own", sampler={"batch_size": 8, "per_class": 4}, augmentation={"size": 16},
        training={"device": "cpu"},
    )  # fmt: skip
    folder = exporters.create("huggingface").export(run, tmp_path / "model", encoder=module)
    assert (folder / "encoder.pt2").is_file() and not (folder / "modeling_rankscope.py").exists()
    assert str(pictures) not in (folder / "config.yaml").read_text()
    expected = lab.load(run, encoder=module).embed(pictures / "class00" / "0.png")
    found = lab.load(folder, encoder=Own()).embed(pictures / "class00" / "0.png")
    np.testing.assert_allclose(found, expected, atol=1e-6)
    for name in ("a.png", "b.png"):
        (folder / name).write_bytes((pictures / "class00" / "0.png").read_bytes())
    monkeypatch.chdir(folder)
    names: dict = {}
    exec(re.search(r"```python\n(.*?)```", (folder / "README.md").read_text(), re.DOTALL)[1], names)
    np.testing.assert_allclose(names["vectors"][:1], expected, atol=1e-4)


def test_an_address_on_the_hub_is_fetched_by_its_library(run, tmp_path, monkeypatch):
    import huggingface_hub

    folder, asked = exporters.create("huggingface").export(run, tmp_path / "model"), []

    def snapshot(name, **words):
        asked.append((name, words["revision"]))
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    assert (
        lab.load("hf://me/model@v1").run.path == folder
        and lab.load("hf://me/model").run.path == folder
    )
    assert asked == [("me/model", "v1"), ("me/model", None)]
    (folder / "config.yaml").unlink()
    with pytest.raises(ValueError, match="is no model that `lab export --to huggingface` wrote"):
        lab.load("hf://me/model")


def test_a_folder_is_sent_only_when_it_is_asked_for(run, tmp_path, monkeypatch, capsys):
    import huggingface_hub

    sent: list = []
    monkeypatch.setattr(
        huggingface_hub, "create_repo", lambda name, **words: sent.append((name, words))
    )
    monkeypatch.setattr(huggingface_hub, "upload_folder", lambda **words: sent.append(words))
    exporters.create("huggingface").export(run, tmp_path / "kept")
    assert not sent
    path = exporters.create("huggingface", push="me/model").export(run, tmp_path / "sent")
    assert sent == [
        ("me/model", {"private": True, "exist_ok": True}),
        {"repo_id": "me/model", "folder_path": path},
    ]
    assert "hf://me/model" in (path / "README.md").read_text()
    words = [
        "export",
        str(run.path),
        "--output",
        str(tmp_path / "by-command"),
        "--push",
        "me/other",
        "--to",
    ]
    assert main([*words, "parquet"]) == 2 and len(sent) == 2 and "add it" in capsys.readouterr().err
    assert main([*words, "huggingface"]) == 0 and sent[2][0] == "me/other"
    with pytest.raises(ValueError, match="push is OWNER/NAME"):
        exporters.create("huggingface", push="model").export(run, tmp_path / "none")

    def refuse(*_, **__):
        raise ConnectionError("no network")

    monkeypatch.setattr(huggingface_hub, "create_repo", refuse)
    with pytest.raises(
        ValueError, match="is written, but could not be sent to me/model: no network"
    ):
        exporters.create("huggingface", push="me/model").export(run, tmp_path / "written")
    assert (tmp_path / "written" / "README.md").is_file()
