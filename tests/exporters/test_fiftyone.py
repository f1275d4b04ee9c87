"""FiftyOne's format, by its documentation; the real importer was tried by hand, see `docs/exports.md`."""

import json

import numpy as np
import pytest
from PIL import Image

from lab import exporters
from lab.__main__ import main
from lab.runs import RunConfig, create, execute


@pytest.fixture(scope="module")
def run(tmp_path_factory, train_tiny):
    return train_tiny(tmp_path_factory.mktemp("fo"), "tiny", training={"steps": 2})


def test_every_picture_has_its_class_and_its_vector(run, tmp_path):
    place = tmp_path / "it"
    words = ["--export.splits", "test", "--output", str(place)]
    assert main(["export", str(run.path), "--to", "fiftyone", *words]) == 0
    images, stored = run.dataset(), run.embeddings("test")
    labels, rows = json.loads((place / "labels.json").read_text())["labels"], np.load(place / "vectors.npz")
    assert len(list((place / "data").iterdir())) == len(labels) == len(stored)
    np.testing.assert_array_equal(rows["vectors"], stored.vectors)
    for name, item, label in zip(rows["names"].tolist()[::40], stored.items[::40], stored.labels[::40], strict=True):
        told = labels[name]
        assert told["label"] == images.class_names[label] and told["attributes"]["key"] == images.keys[item]
        np.testing.assert_array_equal(np.asarray(Image.open(place / "data" / f"{name}.png")), images.load(int(item)))
    assert "FiftyOneImageClassificationDataset" in (place / "README.txt").read_text()


def test_files_are_copied_as_they_are(tiny, pictures, tmp_path):
    run = create(RunConfig.of(tiny), tmp_path, "files")
    list(execute(run))
    place = exporters.create("fiftyone", splits=("test",)).export(run, tmp_path / "it")
    for name, told in json.loads((place / "labels.json").read_text())["labels"].items():
        assert (place / "data" / f"{name}.png").read_bytes() == (pictures / told["attributes"]["key"]).read_bytes()
