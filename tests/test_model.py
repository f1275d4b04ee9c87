"""`lab.load`: a trained run embeds pictures as it embedded its own, and finds them again."""

import shutil

import numpy as np
import pytest
import torch
from PIL import Image

import lab
from lab.runs.folder import Run


@pytest.fixture(scope="module")
def run(tmp_path_factory, train_tiny):
    return train_tiny(tmp_path_factory.mktemp("in_use"), "tiny", training={"steps": 2})


@pytest.fixture(scope="module")
def model(run):
    return lab.load(run.path)


@pytest.fixture(scope="module")
def stored(run):
    return run.embeddings("test")


def test_three_lines_from_a_run_to_neighbours(run, stored, tmp_path):
    images = run.dataset()
    item = int(stored.items[5])
    images.load(item).save(tmp_path / "photo.png")
    found = lab.load(run.name, runs=run.path.parent).search(tmp_path / "photo.png", k=4)
    assert [one.rank for one in found] == [1, 2, 3, 4] and found[0].score == pytest.approx(
        1, abs=1e-3
    )
    assert (
        found[0].key == images.keys[item]
        and found[0].class_name == images.class_names[stored.labels[5]]
    )
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


def test_pictures_of_every_kind_are_embedded_as_the_run_embeds_its_own(model, stored, tmp_path):
    pictures = [model.images.load(int(item)) for item in stored.items[:3]]
    for number, picture in enumerate(pictures):
        picture.save(tmp_path / f"{number}.png")
    arrays = [np.asarray(picture) for picture in pictures]
    tensors = torch.stack([torch.from_numpy(array.copy()).permute(2, 0, 1) for array in arrays])
    files = [str(tmp_path / f"{number}.png") for number in range(3)]
    for given in (pictures, arrays, tensors, list(tensors), files, tmp_path):
        np.testing.assert_allclose(model.embed(given), stored.vectors[:3], atol=0.02)
    np.testing.assert_array_equal(model.embed(files[0]), model.embed(pictures[0]))


def test_the_encoder_prepares_its_pictures_itself(model, stored):
    pictures = [model.images.load(int(item)) for item in stored.items[:3]]
    pixels = torch.from_numpy(np.stack([np.asarray(one) for one in pictures])).permute(0, 3, 1, 2)
    for given in (pixels, list(pixels), pictures):
        found = model.encoder(given)
        assert found.requires_grad
        np.testing.assert_allclose(
            found.detach(), stored.vectors[:3], atol=1e-4 if given is not pictures else 0.02
        )
    wide = Image.new("RGBA", (90, 40), (0, 0, 0, 0))  # transparent: white, as a file would be read
    torch.testing.assert_close(
        model.encoder(wide), model.encoder(Image.new("RGB", (90, 40), "white"))
    )
    assert not model.encoder.training and isinstance(model.encoder, torch.nn.Module)


def test_several_pictures_are_one_query(model, stored):
    pictures = [model.images.load(int(item)) for item in stored.items[:3]]
    assert model.search(stored.take(slice(0, 3)), k=5) == model.search(
        torch.from_numpy(stored.vectors[:3]), k=5
    )
    vectors = model.embed(pictures).astype(np.float64)
    gallery = stored.vectors.astype(np.float64)
    expected = {
        "mean": gallery @ vectors.mean(0) / np.linalg.norm(vectors.mean(0)),
        "best": (gallery @ vectors.T).max(1),
    }
    for together, scores in expected.items():
        found = model.search(pictures, k=5, together=together)
        np.testing.assert_allclose(
            [one.score for one in found], np.sort(scores)[::-1][:5], atol=1e-5
        )
        of_item = dict(zip(stored.items.tolist(), scores, strict=True))
        np.testing.assert_allclose(
            [one.score for one in found], [of_item[one.item] for one in found], atol=1e-5
        )


def test_words_are_searched_where_the_encoder_has_a_text_side(model, stored, monkeypatch):
    with pytest.raises(ValueError, match="has no text side"):
        model.search(text="a red cross")
    encoder, directions = (
        model._evaluator.trained.encoder,
        torch.from_numpy(stored.vectors[:2].copy()),
    )
    side = lambda texts: torch.stack([directions[int("second" in text)] for text in texts])  # noqa: E731
    monkeypatch.setattr(encoder, "embed_text", side, raising=False)
    assert model.search(text="the second", k=1)[0].item == stored.items[1]
    assert (
        model.search(model.images.load(int(stored.items[0])), text="the first", k=1)[0].item
        == stored.items[0]
    )
    with pytest.raises(ValueError, match="at least one word"):
        model.embed_text("  ")


def test_why_two_are_alike_sums_to_the_stored_similarity(model, stored):
    one, other = (model.images.load(int(item)) for item in stored.items[:2])
    found = model.why_alike(one, other)
    assert found.exact and found.similarity == pytest.approx(
        float(stored.vectors[0] @ stored.vectors[1]), abs=0.02
    )
    assert found.maps[1].sum() + found.left_over[1] == pytest.approx(found.similarity, abs=1e-6)
    assert found.pictures[0].shape == (32, 32, 3) and len(found.figure().data) == 4


def test_a_folder_of_ones_own_is_searched(run, tmp_path):
    for number, colour in enumerate(("red", "green", "blue")):
        Image.new("RGB", (30 + number, 40), colour).save(tmp_path / f"{colour}.png")
    found = lab.load(run, gallery=tmp_path).search(Image.new("RGB", (35, 35), "green"), k=10)
    assert len(found) == 3 and found[0].key.endswith("green.png") and found[0].class_name == ""
    with pytest.raises(ValueError, match="neither a folder of images nor a run"):
        lab.load(run, gallery="nowhere", runs=tmp_path)


def test_evaluation_settings_of_the_stored_embeddings_hold(run, train_tiny, tmp_path):
    flipped = train_tiny(tmp_path, "flipped", training={"steps": 2}, evaluation={"flip": True})
    model, stored = lab.load(flipped), flipped.embeddings("test")
    again = model.embed(model.images.load(int(stored.items[0])))
    np.testing.assert_allclose(again[0], stored.vectors[0], atol=0.02)
    pair = [model.images.load(int(item)) for item in stored.items[:2]]
    rows, found = model.embed(pair), model.why_alike(*pair)
    assert found.exact and found.similarity == pytest.approx(float(rows[0] @ rows[1]), abs=1e-5)
    plain = model.encoder(model.images.load(int(stored.items[0]))).detach().numpy()
    assert np.abs(plain - stored.vectors[0]).max() > np.abs(again - stored.vectors[0]).max()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([], "There is no picture to embed"),
        (torch.zeros(2, 3, 8, 8), "uint8 tensor .3 h w..*got torch.float32 of shape .3, 8, 8."),
        ([np.zeros((3, 8, 8), np.uint8)], "uint8 array .h w 3..*got uint8 of shape .3, 8, 8."),
        ([7], "A picture is a file, a PIL image.*got int"),
        ("nowhere.png", "nowhere.png"),
    ],
)
def test_what_is_no_picture_is_one_sentence(model, given, sentence):
    with pytest.raises(ValueError, match=sentence):
        model.embed(given)


def test_a_damaged_file_among_others_is_refused_by_name(model, tmp_path):
    Image.new("RGB", (30, 30)).save(tmp_path / "good.png")
    (tmp_path / "bad.png").write_bytes(b"no image")
    with pytest.raises(ValueError, match="bad.png"):
        model.embed(tmp_path)
    with pytest.raises(ValueError, match="needs a picture or a text"):
        model.search()
    with pytest.raises(ValueError, match="by their mean or the best of them, got 'worst'"):
        model.search(tmp_path / "good.png", together="worst")
    with pytest.raises(ValueError, match="search: .* 'n'. Its arguments: image, k, text"):
        model.search(tmp_path / "good.png", n=3)
    with pytest.raises(ValueError, match="Exact has no knob 'splt'"):
        lab.load(model.run, splt="test")
    with pytest.raises(
        ValueError, match="k, the number of neighbours, must be a whole number of at least 1, got 0"
    ):
        model.search(tmp_path / "good.png", k=0)


def test_a_run_without_an_encoder_is_told_from_one_that_is_not_trained_yet(run, tmp_path):
    vectors = Run(shutil.copytree(run.path, tmp_path / "vectors"))
    shutil.rmtree(vectors.path / "checkpoints")
    with pytest.raises(
        ValueError, match="holds embeddings but no encoder, so it cannot embed pictures"
    ):
        lab.load(vectors)
    brought = lab.runs.from_embeddings(
        run.embeddings("test").vectors, runs=tmp_path, name="brought"
    )
    with pytest.raises(ValueError, match="holds embeddings but no encoder"):
        lab.load(brought)
    with pytest.raises(ValueError, match="there is no encoder to export"):
        lab.exporters.create("torch").export(brought, tmp_path / "it.pt2")
    waiting = lab.runs.create(run.config, tmp_path, "waiting")
    with pytest.raises(ValueError, match="has no checkpoint yet; train it first"):
        lab.load(waiting)
    with pytest.raises(ValueError, match="There is no run 'nosuch'"):
        lab.load("nosuch", runs=tmp_path)
