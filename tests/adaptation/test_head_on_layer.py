"""Layers measured and taken: by the command, in heads, and through whatever hands an encoder on."""

from __future__ import annotations

import io
import json

import faiss
import numpy as np
import pytest
import torch
from PIL import Image

import lab
from lab.__main__ import main
from lab.adaptation import baseline_of, layers_steps, measure_layers, plan_head, seconds
from lab.core.streams import result_of
from lab.data.images import loading
from lab.data.images.features import FOLDER
from lab.encoders import OUTPUT

TRAINING = {"device": "cpu", "steps": 4, "keep_frames": 0}
CHOICE = {"base": "small_cnn", "layer": 2, "whiten": 8}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def made(pictures, root):
    return lab.adapt(pictures, encoder=CHOICE, dim=6, runs=root, training=TRAINING, name="by-layer")


@pytest.fixture(scope="module")
def picture(made):
    return made.run.dataset().load(5)


def test_a_head_on_a_layer_is_compared_with_the_network_as_it_came(made, pictures, root):
    knobs, before = made.run.config.encoder.knobs, made.baseline.config.encoder.knobs
    assert (knobs.layer, knobs.whiten, knobs.dim) == (2, 8, 6)
    assert (before.layer, before.whiten, before.dim) == (None, None, None)
    assert made.baseline.name == f"{pictures.name}-as-it-came"
    assert baseline_of(made.run, [made.baseline]) == made.baseline
    assert len(list((root / FOLDER).glob("*.safetensors"))) == 2, (
        "features of the output and of the layer"
    )
    other = lab.adapt(pictures, encoder=CHOICE, head="none", runs=root, training={"device": "cpu"})
    assert (
        other.baseline.name == made.baseline.name
        and other.run.name == f"{pictures.name}-layer2-whitened8"
    )
    assert other.run.status["steps"] == 0


def test_other_data_are_measured_by_the_features_of_each_run(pictures, root, made):
    both = lab.adaptation.compare_on(made.baseline, made.run, str(pictures))
    elsewhere = result_of(both)
    every = [lab.load(run).embed(pictures) for run in (made.baseline, made.run)]
    classes = np.repeat(np.arange(16), 4)
    found = [lab.evaluate(rows, classes).values[elsewhere.column] for rows in every]
    np.testing.assert_allclose([elsewhere.before, elsewhere.after], found, atol=1e-6)


def test_the_time_of_a_whitened_head_is_told(pictures, root):
    plan = plan_head(pictures, encoder=CHOICE, runs=root, training={"device": "cpu"})
    assert np.isfinite(seconds(plan)) and seconds(plan) > 0


def test_both_runs_embed_each_image_once(pictures, tmp_path, monkeypatch):
    seen = []
    batches = loading.Loader.batches

    def counted(self, items, *rest, **options):
        for batch in batches(self, items, *rest, **options):
            seen.extend(batch.items.tolist())
            yield batch

    monkeypatch.setattr(loading.Loader, "batches", counted)
    lab.adapt(pictures, encoder=CHOICE, dim=6, runs=tmp_path, training=TRAINING)
    assert sorted(seen) == list(range(64))


def test_the_whitening_of_a_run_is_that_of_its_training_images(pictures, root, made):
    run = lab.adapt(
        pictures, encoder=CHOICE, head="none", runs=root, training={"device": "cpu"}
    ).run
    network = lab.encoders.create("adapted", base="small_cnn", layer=2, dim=None).eval()
    model = lab.load(run)
    network.backbone.load_state_dict(model._evaluator.trained.encoder.backbone.state_dict())
    images = run.dataset()
    with torch.no_grad():
        seen = model.encoder.transform.batch([images.load(item) for item in range(len(images))])
        rows = network((seen.float() / 255 - 0.5) / 0.5).double().numpy()
    train = images.splits["train"].items
    mean = rows[train].mean(axis=0)
    values, directions = np.linalg.eigh(np.cov(rows[train].T, bias=True))
    values = 0.9 * values + 0.1 * values.mean()
    expected = ((rows - mean) @ directions[:, -8:]) / np.sqrt(values[-8:])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    found = run.embeddings("test")
    np.testing.assert_allclose(
        found.vectors @ found.vectors.T, expected[found.items] @ expected[found.items].T, atol=1e-4
    )


def test_a_loaded_run_embeds_as_it_was_measured(made, picture):
    item = int(made.run.embeddings("test").items[0])
    embedded = lab.load(made.run).embed(made.run.dataset().load(item))
    np.testing.assert_allclose(embedded[0], made.run.embeddings("test").vectors[0], atol=1e-5)


def test_a_run_of_another_account_is_opened_after_its_layer_was_checked(made, picture, monkeypatch):
    monkeypatch.setattr("lab.runs.building.trained.ownership.is_own", lambda *_: False)
    np.testing.assert_allclose(
        lab.load(made.run.path).embed(picture), lab.load(made.run).embed(picture), atol=1e-6
    )


@pytest.mark.parametrize("kind", ["onnx", "torch"])
def test_a_program_makes_the_same_embeddings(kind, made, picture, tmp_path):
    if kind == "onnx":
        onnxruntime = pytest.importorskip("onnxruntime")
    path = lab.exporters.create(kind, raw=True).export(made.run, tmp_path / f"program.{kind}")
    pixels = np.asarray(picture).transpose(2, 0, 1)[None]
    if kind == "onnx":
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        (found,) = session.run(None, {"images": pixels})
    else:
        found = torch.export.load(path).module()(torch.from_numpy(pixels.copy())).detach().numpy()
    np.testing.assert_allclose(found, lab.load(made.run).embed(picture), atol=1e-5)


def test_a_model_folder_makes_the_same_embeddings(made, picture, tmp_path):
    path = lab.exporters.create("huggingface").export(made.run, tmp_path / "folder")
    np.testing.assert_allclose(
        lab.load(path).embed(picture), lab.load(made.run).embed(picture), atol=1e-5
    )


def test_an_index_holds_the_same_embeddings(made, tmp_path):
    path = lab.exporters.create("faiss").export(made.run, tmp_path / "index")
    index, stored = faiss.read_index(str(path / "index.faiss")), made.run.embeddings("test")
    np.testing.assert_allclose(index.reconstruct_n(0, index.ntotal), stored.vectors, atol=1e-5)
    item = int(stored.items[0])
    found = lab.load(made.run, index=path).search(made.run.dataset().load(item), k=1)
    assert found[0].score == pytest.approx(1, abs=1e-5)


def test_a_service_finds_by_the_same_embeddings(made, picture):
    from starlette.testclient import TestClient

    from lab.serving import application

    model = lab.load(made.run)
    content = io.BytesIO()
    picture.save(content, "PNG")
    answer = TestClient(application(model)).post("/search?k=3", content=content.getvalue())
    assert answer.status_code == 200, answer.text
    (found,) = answer.json()["results"]
    expected = model.search(picture, k=3)
    assert [one["key"] for one in found] == [one.key for one in expected]
    np.testing.assert_allclose(
        [one["score"] for one in found], [one.score for one in expected], atol=1e-5
    )


def test_the_command_measures_every_layer_once_and_the_figure_shows_it(
    pictures, root, tmp_path, capsys
):
    file = tmp_path / "layers.json"
    words = [
        "layers",
        str(pictures),
        "--encoder",
        "small_cnn",
        "--runs",
        str(root),
        "--device",
        "cpu",
        "--quiet",
    ]
    assert main([*words, "--output", str(file)]) == 0
    told = capsys.readouterr().out
    assert "layer 3" in told and "first answers right" in told
    kept = {path: path.stat().st_mtime_ns for path in (root / FOLDER).glob("*.safetensors")}
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == json.loads(file.read_text())
    assert [row["layer"] for row in found["rows"]] == ["output", "layer 1", "layer 2", "layer 3"]
    assert kept == {
        path: path.stat().st_mtime_ns for path in (root / FOLDER).glob("*.safetensors")
    }, "made once"
    drawn = lab.figures.create("which_layer", file=str(file)).figure()
    assert list(drawn.data[0].y) == ["layer 1", "layer 2", "layer 3", "output"]
    assert drawn.data[0].text[3][0] == f"{found['rows'][0]['scores']['0']:.3f} as it comes"
    assert found["sentence"] in drawn.layout.title.subtitle.text.replace("<br>", " ")


def test_a_picture_that_cannot_be_read_is_left_out_and_told(tmp_path):
    random = np.random.default_rng(0)
    for number in range(24):
        folder = tmp_path / "photos" / f"class {number // 3}"
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(random.integers(0, 255, (20, 20, 3), np.uint8)).save(
            folder / f"{number}.png"
        )
    content = (folder / "23.png").read_bytes()
    (folder / "23.png").write_bytes(content[: len(content) // 2])
    told = []
    steps = layers_steps(tmp_path / "photos", encoder="small_cnn", runs=tmp_path, device="cpu")
    found = result_of(steps, told.append)
    assert len(found.scores.labels) == 23
    assert "Left out: 1 image of 24 that cannot be read." in [
        one.sentence for one in told if one.kind == "note"
    ]


def test_parts_of_the_images_give_the_same_scores(pictures, tmp_path, monkeypatch):
    whole = measure_layers(pictures, encoder="small_cnn", runs=tmp_path / "whole", device="cpu")
    monkeypatch.setattr("lab.runs.building.layer_features.PART", 10)
    parted = measure_layers(pictures, encoder="small_cnn", runs=tmp_path / "parted", device="cpu")
    np.testing.assert_array_equal(whole.scores.right, parted.scores.right)
    assert [one.layer for one in whole.scores.settings][0] == OUTPUT
    assert not [
        path for path in (tmp_path / "parted" / FOLDER).iterdir() if path.suffix != ".safetensors"
    ]


def test_what_has_no_layers_is_refused_in_a_sentence(pictures, root, tmp_path, capsys):
    rows = np.random.default_rng(0).normal(size=(24, 8)).astype(np.float32)
    lab.runs.from_embeddings(
        rows, [f"kind {one // 2}" for one in range(24)], normalise=True, name="brought", runs=root
    )
    for words, sentence in (
        (["brought"], "holds vectors without the network that made them"),
        ([str(tmp_path)], "no images"),
        ([str(pictures), "--encoder", "small_cnn", "--split", "night"], "has no split 'night'"),
        ([str(pictures), "--output", "table.csv"], "must end in .json"),
    ):
        assert main(["layers", *words, "--runs", str(root), "--device", "cpu", "--quiet"]) != 0
        told = capsys.readouterr().err
        assert sentence in told and "Traceback" not in told
    with pytest.raises(
        ValueError, match="encoder takes base, layer, token, whiten, shrinkage; got depth"
    ):
        lab.adapt(pictures, encoder={"base": "small_cnn", "depth": 2}, runs=root)
    before = {run.name for run in lab.runs.list(root)}
    with pytest.raises(ValueError, match="whiten keeps at most the 8 numbers of a feature, got 9"):
        lab.adapt("brought", encoder={"whiten": 9}, runs=root)
    with pytest.raises(
        ValueError, match="layer must be from 1 to 3, the layers of this network; got 4"
    ):
        lab.adapt(pictures, encoder={"base": "small_cnn", "layer": 4}, runs=root)
    assert {run.name for run in lab.runs.list(root)} == before
    with pytest.raises(ValueError, match="head none changes nothing on its own"):
        lab.adapt(pictures, encoder="small_cnn", head="none", runs=root)
    with pytest.raises(ValueError, match="no file of `lab layers --output`"):
        file = tmp_path / "no.json"
        file.write_text(json.dumps({"source": "x", "rows": []}))
        lab.figures.create("which_layer", file=str(file)).figure()
