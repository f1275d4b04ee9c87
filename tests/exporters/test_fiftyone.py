"""FiftyOne's format, read by its own importer where it is installed (it takes 1 GB), else by its documentation."""

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from PIL import Image

from lab import exporters
from lab.runs import RunConfig, create, execute


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
    return {
        path: {"label": one.label, "attributes": {name: one[name] for name in names}}
        for path, one in read.items()
    }


def test_every_picture_has_its_class_and_its_vector(run, tmp_path):
    place = exporters.create("fiftyone", splits=("test",)).export(run, tmp_path / "it")
    images, stored, rows = run.dataset(), run.embeddings("test"), np.load(place / "vectors.npz")
    read = {Path(path): label for path, label in read_back(place).items()}
    np.testing.assert_array_equal(rows["vectors"], stored.vectors)
    assert len(read) == len(stored) == len(list((place / "data").iterdir()))
    for name, item, label in zip(rows["names"].tolist(), stored.items, stored.labels, strict=True):
        found = read[file := place / "data" / f"{name}.png"]
        assert found["label"] == images.class_names[label]
        assert (
            found["attributes"]["key"] == images.keys[item]
            and found["attributes"]["split"] == "test"
        )
        if int(name) % 40 == 0:
            np.testing.assert_array_equal(np.asarray(Image.open(file)), images.load(int(item)))
    assert "FiftyOneImageClassificationDataset" in (place / "README.txt").read_text()


def test_files_are_copied_as_they_are(tiny, pictures, tmp_path):
    run = create(RunConfig.of(tiny), tmp_path, "files")
    list(execute(run))
    place = exporters.create("fiftyone", splits=("test",)).export(run, tmp_path / "it")
    for name, told in json.loads((place / "labels.json").read_text())["labels"].items():
        assert (place / "data" / f"{name}.png").read_bytes() == (
            pictures / told["attributes"]["key"]
        ).read_bytes()
