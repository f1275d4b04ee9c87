"""Parquet files of images and labels, plain or as Hugging Face's `datasets` writes them."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import lab


def made(folder):
    """The set; the contract tests take it from here. `folder` holds folders of images."""
    paths = sorted(folder.glob("*/*.png"))
    table = pa.table({"image": [path.read_bytes() for path in paths], "label": [path.parent.name for path in paths]})
    pq.write_table(table, folder / "images.parquet", row_group_size=5)
    return lab.data.create("parquet_images", root=str(folder))


@pytest.fixture(autouse=True)
def caches(tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "caches"))


def test_what_datasets_writes_has_its_class_names(tmp_path):
    datasets = pytest.importorskip("datasets")
    pictures = [Image.new("RGB", (8, 8), (10 * i, 0, 0)) for i in range(12)]
    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=["ant", "bee"])})
    written = datasets.Dataset.from_dict({"image": pictures, "label": [i % 2 for i in range(12)]}, features=features)
    written.to_parquet(str(tmp_path / "train.parquet"))
    images = lab.data.create("parquet_images", root=str(tmp_path), test=0)
    assert images.class_names == ["ant", "bee"] and len(images) == 12
    reds = [np.asarray(images.load(i))[0, 0, 0] // 10 for i in range(12)]
    assert sorted(reds) == list(range(12)) and [red % 2 for red in reds] == images.labels.tolist()


def test_rows_without_a_label_are_of_no_class(tmp_path):
    """`datasets` writes -1 for them, which in Python is the last of the names."""
    features = {"info": {"features": {"label": {"names": ["ant", "bee"], "_type": "ClassLabel"}}}}

    def write(labels):
        table = pa.table({"image": [bytes([i]) for i in range(len(labels))], "label": pa.array(labels)})
        table = table.replace_schema_metadata({"huggingface": json.dumps(features)})
        pq.write_table(table, tmp_path / f"{len(labels)}.parquet")
        return lab.data.create("parquet_images", root=str(tmp_path / f"{len(labels)}.parquet"), test=0)

    images = write([0, -1, 1, None])
    assert [(key[-1], images.class_names[label]) for key, label in zip(images.keys, images.labels, strict=True)] == [
        ("0", "ant"), ("2", "bee"),
    ]  # fmt: skip
    with pytest.raises(ValueError, match="has the label 2, but names 2 classes only"):
        write([0, 1, 2])


def test_mistakes_are_sentences(folders, tmp_path):
    made(folders)
    with pytest.raises(ValueError, match="has no column class; it has image, label"):
        lab.data.create("parquet_images", root=str(folders), label="class")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and nothing more")
    with pytest.raises(ValueError, match="bad.parquet cannot be read as Parquet"):
        lab.data.create("parquet_images", root=str(tmp_path / "bad.parquet"))
    labels = [f"class {number % 7}" for number in range(2000)]
    pq.write_table(pa.table({"image": [b""] * 2000, "label": labels}), tmp_path / "flipped.parquet", compression="gzip")
    whole = bytearray((tmp_path / "flipped.parquet").read_bytes())
    column = pq.ParquetFile(tmp_path / "flipped.parquet").metadata.row_group(0).column(1)
    whole[column.data_page_offset : column.data_page_offset + 40] = bytes(40)
    (tmp_path / "flipped.parquet").write_bytes(whole)
    with pytest.raises(ValueError, match="flipped.parquet is damaged and cannot be read"):
        lab.data.create("parquet_images", root=str(tmp_path / "flipped.parquet"))
