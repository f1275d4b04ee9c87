"""Tables of odd labels give the same classes through every door."""

import csv
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

import lab
from lab.__main__ import main
from lab.integrations.importing import described, reading

ODD = [
    "01",
    "1",
    "001",
    "1.0",
    "1e5",
    "100000",
    "0x10",
    "16",
    "NA",
    "nan",
    "null",
    "None",
    "TRUE",
    "true",
    "2020-01-02",
]
ODD += [
    "12345678901234567890",
    "12345678901234567891",
    "12345678901234567892",
    "1_0",
    "=1",
    "a;b",
    "a,b",
    'a"b',
]
COUNT = 8
SEPARATORS = {"csv": ",", "tsv": "\t"}

labels_lists = st.lists(st.sampled_from([*ODD, ""]), min_size=COUNT, max_size=COUNT)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with COUNT small pictures."""
    root = tmp_path_factory.mktemp("doors")
    for number in range(COUNT):
        Image.new("RGB", (8, 8), (number * 30, 0, 0)).save(root / f"{number}.png")
    return root


def write_rows(path, header, rows, delimiter):
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, delimiter=delimiter)
        out.writerow(header)
        out.writerows(rows)
    return path


def tables_of(folder, labels):
    """The same column of labels as a table of every kind, each with a further column."""
    cells = [one or None for one in labels]
    frame = pd.DataFrame({"label": labels, "at": range(COUNT)})
    yield write_rows(folder / "t.csv", ["label", "at"], zip(labels, range(COUNT), strict=True), ",")
    yield write_rows(
        folder / "t.tsv", ["label", "at"], zip(labels, range(COUNT), strict=True), "\t"
    )
    yield write_rows(
        folder / "semicolon.csv", ["at", "label"], zip(range(COUNT), labels, strict=True), ";"
    )
    yield write_rows(folder / "one.csv", ["label"], zip(labels, strict=True), ",")
    table = pa.table({"label": pa.array(cells, pa.string()), "at": range(COUNT)})
    pyarrow.parquet.write_table(table, folder / "t.parquet")
    yield folder / "t.parquet"
    pyarrow.feather.write_feather(
        pa.table({"label": table["label"].dictionary_encode()}), folder / "t.feather"
    )
    yield folder / "t.feather"
    np.save(folder / "y.npy", np.array(labels))
    yield folder / "y.npy"
    yield frame
    yield frame.assign(label=cells)
    yield frame.assign(label=pd.Categorical(cells))
    yield pa.table({"label": labels})
    yield {"label": cells}


def classes(labels, names):
    """The name of each row's class, empty for a row without one."""
    return [names[label] if label >= 0 else "" for label in labels.tolist()]


@settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(labels=labels_lists)
def test_every_table_gives_the_same_classes(folder, labels):
    for table in tables_of(folder, labels):
        facts = described.assign_columns(reading.table(table), {})
        assert classes(*described.labelled(facts["label"], COUNT)) == labels, str(table)


@settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(labels=labels_lists)
def test_labels_beside_vectors_give_the_same_classes(folder, labels):
    rows = np.random.default_rng(0).normal(size=(COUNT, 3)).astype(np.float32)
    for suffix, delimiter in SEPARATORS.items():
        cells = [[label, *map(str, row)] for label, row in zip(labels, rows, strict=True)]
        write_rows(folder / f"numbers.{suffix}", ["label", "e0", "e1", "e2"], cells, delimiter)
        cells = [[label, json.dumps(row.tolist())] for label, row in zip(labels, rows, strict=True)]
        write_rows(folder / f"lists.{suffix}", ["label", "embedding"], cells, delimiter)
    table = pa.table({"label": labels, "vector": list(rows)})
    pyarrow.parquet.write_table(table, folder / "vectors.parquet")
    np.savez(folder / "vectors.npz", vectors=rows, label=np.array(labels))
    files = [
        "numbers.csv",
        "lists.csv",
        "numbers.tsv",
        "lists.tsv",
        "vectors.parquet",
        "vectors.npz",
    ]
    sources = [reading.read(folder / name) for name in files]
    sources += [reading.of_table(one, "") for one in (table, table.to_pandas())]
    for source in sources:
        np.testing.assert_allclose(source.vectors, rows, rtol=1e-6)
        assert classes(*described.labelled(source.columns["label"], COUNT)) == labels


@settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(labels=labels_lists.filter(any))
def test_manifests_and_corrections_give_the_same_classes(folder, labels):
    paths = [f"{number}.png" for number in range(COUNT)]
    rows = list(zip(paths, labels, ["test"] * COUNT, strict=True))
    header = ["path", "label", "split"]
    write_rows(folder / "m.csv", header, rows, ",")
    write_rows(folder / "s.csv", header, rows, ";")
    pyarrow.parquet.write_table(
        pa.table(dict(zip(header, zip(*rows, strict=True), strict=True))), folder / "m.parquet"
    )
    for name in ("m.csv", "s.csv", "m.parquet"):
        images = lab.data.create("manifest", path=str(folder / name))
        assert classes(images.labels, images.class_names) == labels, name
    # an empty cell leaves an image out
    other = [one or max(labels) for one in labels[1:] + labels[:1]]
    write_rows(folder / "c.csv", ["image", "label"], zip(paths, other, strict=True), ";")
    images = lab.data.create(
        "manifest", path=str(folder / "m.csv"), corrections=str(folder / "c.csv")
    )
    assert classes(images.labels, images.class_names) == other


@pytest.mark.parametrize(
    ("labels", "count", "first"),
    [
        ("01 1 001 1 01 001 1 01", 3, {"01", "1", "001"}),
        (
            "12345678901234567890 12345678901234567891 12345678901234567892 x x x x x",
            4,
            {"12345678901234567891"},
        ),
        ("1 2 3 NA NA 1 2 3", 4, {"NA"}),
    ],
)
def test_the_command_says_what_it_took_for_what(folder, tmp_path, capsys, labels, count, first):
    vectors = np.random.default_rng(0).normal(size=(10, 4))
    np.save(tmp_path / "v.npy", vectors.astype(np.float32))
    rows = [[word, "red"] for word in [*labels.split(), "", ""]]
    write_rows(tmp_path / "t.csv", ["sku", "colour"], rows, ";")
    words = [
        "import",
        str(tmp_path / "v.npy"),
        "--table",
        str(tmp_path / "t.csv"),
        "--label",
        "sku",
        "--normalise",
    ]
    assert main([*words, "--name", "it", "--runs", str(tmp_path / "runs")]) == 0
    told = capsys.readouterr().out
    assert f"label: {count} classes from column `sku`; 2 rows without; metadata: colour" in told
    assert first <= set(lab.runs.open("it", tmp_path / "runs").dataset().class_names)


def test_an_export_to_csv_brings_every_class_back(tmp_path):
    labels = [*ODD, "-1", "'=1"] * 2
    vectors = np.random.default_rng(0).normal(size=(len(labels), 4))
    run = lab.runs.from_embeddings(
        vectors, labels, name="there", normalise=True, measure=False, runs=tmp_path
    )
    place = lab.exporters.create("csv").export(run, tmp_path / "out.csv")
    back = lab.runs.from_embeddings(place, name="back", measure=False, runs=tmp_path).dataset()
    assert classes(back.labels, back.class_names) == labels
