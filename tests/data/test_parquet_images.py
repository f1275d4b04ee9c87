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
    table = pa.table(
        {
            "image": [path.read_bytes() for path in paths],
            "label": [path.parent.name for path in paths],
        }
    )
    pq.write_table(table, folder / "images.parquet", row_group_size=5)
    return lab.data.create("parquet_images", root=str(folder))


@pytest.fixture(autouse=True)
def caches(tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "caches"))


def test_what_datasets_writes_has_its_class_names(tmp_path):
    datasets = pytest.importorskip("datasets")
    pictures = [Image.new("RGB", (8, 8), (10 * i, 0, 0)) for i in range(12)]
    features = datasets.Features(
        {"image": datasets.Image(), "label": datasets.ClassLabel(names=["ant", "bee"])}
    )
    written = datasets.Dataset.from_dict(
        {"image": pictures, "label": [i % 2 for i in range(12)]}, features=features
    )
    written.to_parquet(str(tmp_path / "train.parquet"))
    images = lab.data.create("parquet_images", root=str(tmp_path), test=0)
    assert images.class_names == ["ant", "bee"] and len(images) == 12
    reds = [np.asarray(images.load(i))[0, 0, 0] // 10 for i in range(12)]
    assert sorted(reds) == list(range(12)) and [red % 2 for red in reds] == images.labels.tolist()


def test_rows_without_a_label_are_of_no_class(tmp_path):
    """`datasets` writes -1 for them, which in Python is the last of the names."""
    features = {"info": {"features": {"label": {"names": ["ant", "bee"], "_type": "ClassLabel"}}}}

    def write(labels):
        table = pa.table(
            {"image": [bytes([i]) for i in range(len(labels))], "label": pa.array(labels)}
        )
        table = table.replace_schema_metadata({"huggingface": json.dumps(features)})
        pq.write_table(table, tmp_path / f"{len(labels)}.parquet")
        return lab.data.create(
            "parquet_images", root=str(tmp_path / f"{len(labels)}.parquet"), test=0
        )

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
    pq.write_table(
        pa.table({"image": [b""] * 2000, "label": labels}),
        tmp_path / "flipped.parquet",
        compression="gzip",
    )
    whole = bytearray((tmp_path / "flipped.parquet").read_bytes())
    column = pq.ParquetFile(tmp_path / "flipped.parquet").metadata.row_group(0).column(1)
    whole[column.data_page_offset : column.data_page_offset + 40] = bytes(40)
    (tmp_path / "flipped.parquet").write_bytes(whole)
    with pytest.raises(ValueError, match="flipped.parquet is damaged and cannot be read"):
        lab.data.create("parquet_images", root=str(tmp_path / "flipped.parquet"))


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (pa.array(["01", "1", "01", "", None, " 1 "]), ["01", "1", "01", "", "", "1"]),
        (pa.array([1.0, 2.0, None, 1.0, float("nan"), 2.0]), ["1", "2", "", "1", "", "2"]),
        (pa.array([3, -1, None, 3, 4, 4]), ["3", "", "", "3", "4", "4"]),
        (
            pa.array([2**60, 2**60 + 1, None, 2**60, 5, 5]),
            [str(2**60), str(2**60 + 1), "", str(2**60), "5", "5"],
        ),
        (pa.array([b"a", b"b", b"a", b"", None, b"b"]), ["a", "b", "a", "", "", "b"]),
    ],
)
def test_a_cell_is_the_class_that_it_is_in_every_table(tmp_path, labels, names):
    pq.write_table(pa.table({"image": [b""] * 6, "label": labels}), tmp_path / "it.parquet")
    images = lab.data.create("parquet_images", root=str(tmp_path), test=0)
    rows = [int(key.rpartition("/")[2]) for key in images.keys]
    found = dict(zip(rows, map(images.class_name, images.labels), strict=True))
    assert found == {row: name for row, name in enumerate(names) if name}
    without = names.count("")
    assert (
        f"{without} row{'s' * (without > 1)} of" in images.problems[0]
        and "without a class" in images.problems[0]
    )
    assert images.classes_sentence.startswith("Classes are the names in the files: ")


def test_labels_that_were_rounded_are_refused(tmp_path):
    pq.write_table(
        pa.table({"image": [b""] * 2, "label": pa.array([1e17, 1.0])}), tmp_path / "it.parquet"
    )
    with pytest.raises(ValueError, match="several names may have become one"):
        lab.data.create("parquet_images", root=str(tmp_path), test=0)
