"""FiftyOne's format, read by its own importer where it is installed (it takes 1 GB), else by its documentation."""

import json
from importlib.util import find_spec
from pathlib import Path

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


def read_back(place) -> dict[str, dict]:
    """The label of each picture file, with its attributes."""
    if find_spec("fiftyone") is None:  # as FiftyOneImageClassificationDataset is documented
        told = json.loads((place / "labels.json").read_text())
        assert told["classes"] is None
        return {str(place / "data" / f"{name}.png"): one for name, one in told["labels"].items()}
    from fiftyone.utils.data.importers import FiftyOneImageClassificationDatasetImporter

    importer = FiftyOneImageClassificationDatasetImporter(dataset_dir=str(place))
    with importer:
        read = {path: label for path, _, label in importer}
    names = ("split", "part", "key")
    return {path: {"label": one.label, "attributes": {name: one[name] for name in names}} for path, one in read.items()}


def test_its_importer_finds_every_picture_with_its_label(run, tmp_path):
    place = exporters.create("fiftyone", splits=("test",)).export(run, tmp_path / "it")
    images, stored, read = run.dataset(), run.embeddings("test"), read_back(place)
    assert len(read) == len(stored)
    pairs = zip(stored.items, stored.labels, strict=True)
    classes = {images.keys[item]: images.class_names[label] for item, label in pairs}
    for path, told in read.items():
        assert Path(path).is_file()
        assert classes.pop(told["attributes"]["key"]) == told["label"] and told["attributes"]["split"] == "test"
    assert not classes


def test_files_are_copied_as_they_are(tiny, pictures, tmp_path):
    run = create(RunConfig.of(tiny), tmp_path, "files")
    list(execute(run))
    place = exporters.create("fiftyone", splits=("test",)).export(run, tmp_path / "it")
    for name, told in json.loads((place / "labels.json").read_text())["labels"].items():
        assert (place / "data" / f"{name}.png").read_bytes() == (pictures / told["attributes"]["key"]).read_bytes()
