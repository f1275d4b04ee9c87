"""Exported programs embed as the run does, cropped or pictures of any size; their lines run as printed."""

import json
import re

import numpy as np
import onnxruntime
import pytest
import torch
from PIL import Image

from lab import exporters
from lab.data.images import transforms
from lab.exporters._preparation import Geometry, Preparation
from lab.runs.building import parts
from lab.runs.building.trained import FromPixels, open_trained

SIZES = [(300, 500), (501, 300), (252, 252), (40, 50), (17, 1000), (1000, 17), (1203, 1600)]


@pytest.mark.parametrize("squash", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_preparation_is_pillows_within_one_level(size, squash):
    picture = Image.fromarray(np.random.default_rng(0).integers(0, 256, (*size, 3), dtype=np.uint8))
    seen = transforms.testing(224, squash=squash)
    pixels = torch.from_numpy(np.array(picture)).permute(2, 0, 1)[None]
    found, expected = Preparation(Geometry.of(seen))(pixels)[0], seen.geometry(picture).float()
    off = (found - expected).abs()
    assert off.max() <= 1 and (off > 0).float().mean() < 0.3
    assert found.min() >= 0 and found.max() <= 255


def embedding(name, path):
    """A function from uint8 pixels [n 3 h w] to embeddings, by the library that the file is for; and what it tells."""
    if name == "torch":
        extra = {"rankscope.json": "", "README.md": ""}
        program = torch.export.load(path, extra_files=extra).module()
        return (
            (lambda x: program(torch.from_numpy(x)).detach().numpy()),
            extra["rankscope.json"],
            extra["README.md"],
        )
    session = onnxruntime.InferenceSession(path)
    meta = session.get_modelmeta()
    return (
        (lambda x: session.run(None, {"images": x})[0]),
        meta.custom_metadata_map["rankscope"],
        meta.description,
    )


@pytest.mark.parametrize("name", ["torch", "onnx"])
@pytest.mark.parametrize("raw", [False, True])
def test_a_program_embeds_as_the_run_and_its_lines_run(run, tmp_path, monkeypatch, name, raw):
    place = exporters.create(name, raw=raw).export(
        run, tmp_path / f"it{exporters.get(name).suffix}"
    )
    text = (tmp_path / f"{place.name}.md").read_text()
    embed, told, within = embedding(name, place)
    told = json.loads(told)
    assert (
        told == json.loads(re.search(r"```json\n(.*?)```", text, re.DOTALL)[1])
        and within.replace("FILE", place.name) == text
    )
    assert (told["size"], told["step"], told["dim"], told["similarity"]) == (32, 2, 128, "cosine")
    trained, stored, images = open_trained(run), run.embeddings("test"), run.dataset()
    seen = parts.testing_transform(run.config, trained.encoder)
    # and another way round, beside the run's own size
    big = images.load(int(stored.items[0])).resize((75, 52))
    sizes = [
        [big] * 3,
        [big.rotate(90, expand=True)],
        [images.load(int(item)) for item in stored.items[:7]],
    ]
    for pictures in sizes:
        pixels = np.stack(
            [np.asarray(one).transpose(2, 0, 1) if raw else seen.geometry(one) for one in pictures]
        )
        with torch.no_grad():
            expected = trained.encoder(torch.stack([seen(one) for one in pictures])).numpy()
        np.testing.assert_allclose(embed(pixels), expected, atol=5e-3 if raw else 1e-4)
    big.save(tmp_path / "a.png")
    big.rotate(90, expand=True).save(tmp_path / "b.png")
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], names)
    with torch.no_grad():
        expected = trained.encoder(
            torch.stack([seen(big), seen(big.rotate(90, expand=True))])
        ).numpy()
    np.testing.assert_allclose(names["vectors"], expected, atol=5e-3 if raw else 1e-5)


@pytest.mark.filterwarnings("error:No complete tensor")
@pytest.mark.parametrize("raw", [False, True])
def test_a_program_that_embeds_otherwise_is_not_written(run, tmp_path, monkeypatch, raw):
    monkeypatch.setattr(
        FromPixels, "forward", lambda self, images: self.encoder(images.float() / 255)
    )
    with pytest.raises(
        ValueError, match="embeds otherwise than the encoder, by up to .* nothing was written"
    ):
        exporters.create("torch", raw=raw).export(run, tmp_path / "it.pt2")
    assert not list(tmp_path.iterdir())
