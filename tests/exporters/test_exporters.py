"""What `lab export` writes is read back with the library that it is written for."""

import csv
import json
import tomllib
from pathlib import Path

import faiss
import numpy as np
import pyarrow.parquet as pq
import pytest

from lab import exporters
from lab.__main__ import main
from lab.exporters import ExportRows


@pytest.fixture
def export(run, tmp_path, capsys):
    def call(name: str, *words: str):
        place = tmp_path / "out" / f"it{exporters.get(name).suffix}"
        assert main(["export", str(run.path), "--to", name, "--output", str(place), *words]) == 0
        assert capsys.readouterr().out.strip() == str(place)
        assert [one.name for one in place.parent.iterdir()] == [place.name], (
            "nothing else is left beside it"
        )
        return place

    return call


@pytest.fixture
def of_test(run):
    images, found = run.dataset(), run.embeddings("test")
    return (
        found,
        [images.keys[i] for i in found.items],
        [images.class_names[i] for i in found.labels],
    )


def test_parquet_holds_every_split(export, run):
    table = pq.read_table(export("parquet"))
    rows = table.to_pydict()
    images = run.dataset()
    for split in ("test", "validation"):
        mine, found = np.array(rows["split"]) == split, run.embeddings(split)
        np.testing.assert_array_equal(np.array(rows["vector"], np.float32)[mine], found.vectors)
        assert np.array(rows["key"])[mine].tolist() == [images.keys[i] for i in found.items]
        assert np.array(rows["label"])[mine].tolist() == found.labels.tolist()
    assert set(rows["part"]) == {"query"} and set(rows["class"]) <= set(images.class_names)
    about = json.loads(table.schema.metadata[b"rankscope"])
    assert (
        about["run"] == run.name and about["data"] == "emoji7" and "step 2" in about["of"]["test"]
    )


def test_csv_reads_back_to_the_same_numbers(export, of_test):
    found, keys, classes = of_test
    with open(export("csv", "--export.splits", "test"), newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    vectors = np.array(
        [[row[f"v{i}"] for i in range(found.vectors.shape[1])] for row in rows], np.float32
    )
    np.testing.assert_array_equal(vectors, found.vectors)
    assert [row["key"] for row in rows] == keys and [row["class"] for row in rows] == classes


def test_no_cell_of_a_csv_is_a_formula(tmp_path, monkeypatch):
    names, one = ["=1+1", "cat"], np.ones(2)
    rows = ExportRows(
        one[:, None], one.astype(int), names, names, ["test"] * 2, ["query"] * 2, {}, {}
    )
    monkeypatch.setattr("lab.exporters.csv.rows_of", lambda *_: rows)
    exporters.create("csv").write(None, tmp_path / "it.csv")
    with open(tmp_path / "it.csv", newline="", encoding="utf-8") as file:
        assert [(row["key"], row["class"]) for row in csv.DictReader(file)] == [
            ("'=1+1", "'=1+1"),
            ("cat", "cat"),
        ]


def test_places_on_a_kept_map_are_columns(export, run, tmp_path):
    from lab.maps.kept import Chart, Map

    chart = Chart(run, "test", "umap")
    kept = run.embeddings("test")
    flat = np.random.default_rng(0).normal(size=(1, len(kept), 2)).astype(np.float32)
    honesty = {name: np.ones(1) for name in ("trustworthiness", "agreement", "chance")}
    chart.keep(Map(np.array([-1]), flat, honesty), chart.fingerprint)
    try:
        rows = pq.read_table(export("parquet")).to_pydict()
        mine = np.array(rows["split"]) == "test"
        for axis, name in enumerate(("umap_x", "umap_y")):
            np.testing.assert_array_equal(
                np.array(rows[name], float)[mine].astype(np.float32), flat[0, :, axis]
            )
            assert not any(
                place is not None for place, here in zip(rows[name], mine, strict=True) if not here
            )
        path = exporters.create("csv").export(run, tmp_path / "it.csv")
        with open(path, newline="", encoding="utf-8") as file:
            (first, *_) = [row for row in csv.DictReader(file) if row["split"] == "test"]
        assert np.float32(first["umap_x"]) == flat[0, 0, 0] and list(first)[5:8] == [
            "umap_x",
            "umap_y",
            "v0",
        ]
        chart.keep(Map(np.array([-1]), flat, honesty), "of other embeddings")
        assert (
            "umap_x"
            not in pq.read_table(
                exporters.create("parquet").export(run, tmp_path / "it")
            ).column_names
        )
    finally:
        chart._file.unlink()


@pytest.mark.parametrize("kind", ["flat", "hnsw"])
def test_faiss_finds_each_image_and_its_key(export, of_test, kind):
    found, keys, _ = of_test
    folder = export("faiss", "--export.kind", kind)
    index, told = (
        faiss.read_index(str(folder / "index.faiss")),
        json.loads((folder / "keys.json").read_text()),
    )
    assert index.ntotal == len(found) and index.metric_type == faiss.METRIC_INNER_PRODUCT
    scores, places = index.search(found.vectors, 1)
    assert told["keys"] == keys and told["labels"] == found.labels.tolist()
    np.testing.assert_allclose(scores[:, 0], 1, atol=1e-5)
    # images may be equal, and the graph may miss
    assert (places[:, 0] == np.arange(len(found))).mean() > 0.95


@pytest.mark.parametrize("name", [name for name in exporters.names() if exporters.get(name).extra])
def test_a_missing_library_is_named_with_the_line_that_installs_it(
    run, tmp_path, monkeypatch, capsys, name
):
    monkeypatch.setattr("lab.core.explain.find_spec", lambda module: None)
    extras = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert main(["export", str(run.path), "--to", name, "--output", str(tmp_path / "it")]) == 2
    told, extra = capsys.readouterr().err, exporters.get(name).extra
    assert f"An export to {name} needs" in told and f"pip install 'rankscope[{extra}]'." in told
    assert extra in extras["optional-dependencies"] and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--to", "parket"], "There is no exporter 'parket'. Did you mean 'parquet'?"),
        (
            ["--to", "csv", "--export.split", "test"],
            "there is no --export.split here; did you mean --export.splits",
        ),
        (
            ["--to", "csv", "--export.splits", "tset"],
            "holds no embeddings of split 'tset' (it has test, validation)",
        ),
        (
            ["--to", "faiss", "--export.kind", "ivf"],
            "Faiss: kind must satisfy one of flat, hnsw, got 'ivf'",
        ),
        (["--to"], "--to"),
        ([], "--to"),
    ],
)
def test_a_mistake_is_one_sentence_and_leaves_nothing(run, tmp_path, capsys, words, sentence):
    try:
        assert main(["export", str(run.path), *words, "--output", str(tmp_path / "it")]) == 2
    except SystemExit as ended:
        assert ended.code == 2
    told = capsys.readouterr().err
    assert sentence in told and told.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten_and_a_failure_leaves_nothing(run, tmp_path, monkeypatch):
    place = tmp_path / "it"
    place.mkdir()
    with pytest.raises(ValueError, match="is there already; name another place"):
        exporters.create("faiss").export(run, place)
    place.rmdir()

    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr("lab.exporters.faiss.write_json", full)
    with pytest.raises(OSError, match="No space"):
        exporters.create("faiss").export(run, place)
    assert not list(tmp_path.iterdir())
