"""A folder of pictures becomes a run, by any encoder."""

import json
import re
import shutil

import numpy as np
import pytest
import torch

import lab
from lab.__main__ import main
from lab.core.streams import result_of
from lab.runs.check import check

NET = """
import torch

class Net(torch.nn.Module):
    input_size = 16

    def forward(self, images):
        return torch.nn.functional.adaptive_avg_pool2d(images, 4).flatten(1)

def build():
    return Net()

def flat():
    return lambda images: images

def nan():
    return lambda images: images.flatten(1) * float("nan")
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "nets_of_mine.py").write_text(NET)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def net():
    from nets_of_mine import build

    return build()


def saved(kind, path):
    images = torch.zeros(2, 3, 16, 16)
    if kind == "function":
        return "nets_of_mine:build"
    if kind == "torchscript":
        torch.jit.save(torch.jit.trace(net(), images), path / "net.pt")
        return str(path / "net.pt")
    if kind == "exported":
        free = {"images": {0: torch.export.Dim("n", min=1)}}
        torch.export.save(
            torch.export.export(net(), (images,), dynamic_shapes=free), path / "net.pt2"
        )
        return str(path / "net.pt2")
    pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    size = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("AveragePool", ["images"], ["small"], kernel_shape=[4, 4], strides=[4, 4]),
         onnx.helper.make_node("Flatten", ["small"], ["features"])],
        "net", [size("images", 1, ["n", 3, 16, 16])], [size("features", 1, ["n", 48])],
    )  # fmt: skip
    model = onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9
    )
    onnx.save(model, str(path / "net.onnx"))
    return str(path / "net.onnx")


@pytest.mark.parametrize("kind", ["function", "torchscript", "exported", "onnx"])
def test_a_model_of_ones_own(here, pictures, kind, capsys):
    words = [
        "embed",
        str(pictures),
        "--encoder",
        saved(kind, here),
        "--name",
        "it",
        "--runs",
        "runs",
        "--size",
        "16",
    ]
    assert main([*words, "--quiet", "--json"]) == 0
    told, run = json.loads(capsys.readouterr().out), lab.runs.open("it", "runs")
    assert told["queries"] == {"test": 64} and told["scores"]["test"]["r@1"] > 0.3
    assert run.embeddings().vectors.shape == (64, 48) and not check(run)
    images = run.dataset()
    assert (
        images.keys[5] == "class01/1.png"
        and images.class_names[1] == "class01"
        and images.load(5).size == (20, 20)
    )


def embedded(here, pictures, encoder, weights, **seen):
    records = lab.runs.embed_folder(
        pictures / "class00", encoder, weights=weights, runs=here / "runs", **seen
    )
    return result_of(records)


def test_weights_as_torchvision_saves_them(here, pictures):
    """Of a model that timm has by the same names, and of one whose layers are called otherwise."""
    import torchvision.models

    from lab.data.images import transforms
    from lab.encoders.foreign import Seen

    torch.manual_seed(0)
    for name, suffix in (("resnet18", "pth"), ("mobilenet_v3_small", "pt")):
        model = torchvision.models.get_model(name, weights=None).eval()
        torch.save(model.state_dict(), here / f"{name}.{suffix}")
        if name == "resnet18":
            run = embedded(here, pictures, name, f"{name}.{suffix}", seen=Seen(size=64))
            model.fc = torch.nn.Identity()
            own = lab.encoders.create("timm_model", backbone=name, pretrained=False).preprocessing
            prepare = transforms.testing(64, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225), own=own)
            with torch.no_grad():
                expected = model(
                    prepare.finish(prepare.batch([run.dataset().load(i) for i in range(4)]))
                )
            expected = torch.nn.functional.normalize(expected, dim=1)
            np.testing.assert_allclose(run.embeddings().vectors, expected, atol=2e-3)
    with pytest.raises(
        ValueError, match="is a file of weights.* name it, with --weights resnet18.pth"
    ):
        embedded(here, pictures, "resnet18.pth", None)
    with pytest.raises(
        ValueError, match="not a TorchScript program.* --weights mobilenet_v3_small.pt"
    ):
        embedded(here, pictures, "mobilenet_v3_small.pt", None)
    with pytest.raises(ValueError, match="mobilenet_v3_small.pt do not fit 'resnet18'"):
        embedded(here, pictures, "resnet18", "mobilenet_v3_small.pt")
    with pytest.raises(ValueError, match="brings its own weights"):
        embedded(here, pictures, "nets_of_mine:flat", "resnet18.pth")
    with pytest.raises(ValueError, match="small_cnn takes no file of weights"):
        embedded(here, pictures, "small_cnn", "resnet18.pth")
    assert len(list((here / "runs").iterdir())) == 1


def test_a_trained_run_embeds_as_it_did(tmp_path, tiny, pictures, capsys):
    trained = lab.runs.create(lab.runs.RunConfig.of(tiny), tmp_path, "trained")
    for _ in lab.runs.execute(trained):
        pass
    folder = shutil.copytree(pictures, tmp_path / "photos")
    (folder / "class00" / "broken.png").write_bytes(b"no picture")
    assert (
        main(
            [
                "embed",
                str(folder),
                "--encoder",
                "trained",
                "--name",
                "again",
                "--runs",
                str(tmp_path),
            ]
        )
        == 0
    )
    told = capsys.readouterr()
    said = told.err + told.out
    assert "Left out of the data: " in said and "broken.png is not an image" in said
    assert "Classes are the folders class00, class01," in said
    assert (
        main(["embed", str(folder), "--encoder", "trained", "--size", "8", "--runs", str(tmp_path)])
        == 2
    )
    assert "as it was trained to; leave out weights, size" in capsys.readouterr().err
    run, stored = lab.runs.open("again", tmp_path), trained.embeddings()
    row = {key: at for at, key in enumerate(run.dataset().keys)}
    with pytest.raises(ValueError, match="holds vectors of trained, but no encoder"):
        result_of(lab.runs.embed_folder(folder, "again", runs=tmp_path))
    mine = [row[trained.dataset().keys[item]] for item in stored.items]
    np.testing.assert_allclose(run.embeddings().vectors[mine], stored.vectors, atol=1e-5)


@pytest.mark.parametrize(
    "encoder, sentence",
    [
        ("resnet81", "no run, no encoder of Rankscope's and no model of timm. Similar: resnet18"),
        ("nets_of_mine:nothing", "cannot be called"),
        ("nets_of_mine:flat", r"makes features \[n d\]"),
        ("nets_of_mine:nan", "Row 0 of the vectors holds NaN"),
        ("missing.pt2", "There is no file"),
        ("noise.pt", "not a TorchScript"),
        ("noise.pt2", "not a program of torch.export"),
        ("noise.onnx", "not an ONNX|pip install"),
    ],
)
def test_what_is_no_encoder_is_one_sentence_and_leaves_nothing(
    here, pictures, encoder, sentence, capsys
):
    for suffix in (".pt", ".pt2", ".onnx"):
        (here / f"noise{suffix}").write_bytes(b"noise" * 20)
    with pytest.raises(ValueError, match=sentence):
        for _ in lab.runs.embed_folder(pictures, encoder, runs=here / "runs"):
            pass
    assert (
        main(
            ["embed", str(pictures), "--encoder", encoder, "--runs", str(here / "runs"), "--quiet"]
        )
        != 0
    )
    assert len(capsys.readouterr().err.strip().splitlines()) == 1 and not any((here).glob("runs/*"))


def test_random_weights_are_told_and_a_deprecation_of_torch_is_not(here, pictures, capsys):
    words = ["embed", str(pictures), "--runs", "runs", "--size", "16", "--encoder"]
    assert main([*words, "small_cnn"]) == 0
    assert "small_cnn comes without trained weights" in capsys.readouterr().err
    assert main([*words, saved("torchscript", here)]) == 0
    assert not re.search("deprecated|without trained", capsys.readouterr().err)


def test_encoders_are_told_apart_by_their_weights_and_programs(here):
    from lab.encoders.foreign import encoder_of
    from lab.runs.building.fingerprints import fingerprint

    torch.manual_seed(0)
    small = [encoder_of("small_cnn"), encoder_of("small_cnn")]
    assert len({fingerprint(one) for one in small}) == 2
    small[0].load_state_dict(small[1].state_dict())
    assert len({fingerprint(one) for one in small}) == 1
    file = saved("onnx", here)
    first = fingerprint(encoder_of(file))
    (here / "net.onnx").write_bytes((here / "net.onnx").read_bytes().replace(b"small", b"tiny_"))
    assert first != fingerprint(encoder_of(file))


def test_folders_embedded_at_two_times_are_joined_by_what_the_pictures_hold(tmp_path):
    from PIL import Image

    import lab
    from lab.core.streams import result_of

    photos = tmp_path / "photos"
    for kind in ("cats", "dogs"):
        (photos / kind).mkdir(parents=True)
        for number in range(4):
            shade = 30 * number + (15 if kind == "dogs" else 0)
            Image.new("RGB", (32, 32), (shade, 255 - shade, 40 * number)).save(
                photos / kind / f"{number}.png"
            )
    first = result_of(lab.runs.embed_folder(photos, "small_cnn", name="first", runs=tmp_path))
    (photos / "cats" / "0.png").rename(photos / "cats" / "renamed.png")
    one, other = photos / "dogs" / "1.png", photos / "dogs" / "2.png"
    one.rename(tmp_path / "kept.png")
    other.rename(one)
    (tmp_path / "kept.png").rename(other)
    Image.new("RGB", (32, 32), "red").save(photos / "cats" / "3.png")
    second = result_of(lab.runs.embed_folder(photos, "small_cnn", name="second", runs=tmp_path))

    joined = lab.runs.join([first, second])
    assert len(joined) == 7, "all but the picture that was replaced"
    pictures = [run.pictures() for run in (first, second)]
    for a, b in joined.items.T.tolist():
        contents = [
            table.of_items(np.array([item])).contents[0]
            for table, item in zip(pictures, (a, b), strict=True)
        ]
        assert contents[0] == contents[1] != 0
    assert (
        first.scores()["values"] is not None
        and first.header("test")["images"] != second.header("test")["images"]
    )
