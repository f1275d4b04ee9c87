"""`lab query --index`: a saved index, by our command, by Python or by faiss itself, is searched with pictures."""

import json

import faiss
import numpy as np
import pytest

import lab.runs
from lab import exporters, search
from lab.__main__ import main
from lab.core.results import EmbeddingSet


@pytest.fixture(scope="module")
def run(train_tiny, tmp_path_factory):
    return train_tiny(
        tmp_path_factory.mktemp("runs"), "one", loss={"name": "contrastive"}, training={"steps": 2}
    )


@pytest.fixture(scope="module")
def other(train_tiny, run):
    return train_tiny(run.path.parent, "two", loss={"name": "contrastive"}, training={"steps": 3})


@pytest.fixture
def picture(run, tmp_path):
    """A picture of the run's own, which every index of the run has to find first; its key and its class besides."""
    images, stored = run.dataset(), run.embeddings("test")
    item = int(stored.items[5])
    images.load(item).save(tmp_path / "it.png")
    return str(tmp_path / "it.png"), images.keys[item], images.class_names[stored.labels[5]]


def asked(run, picture, index, capsys, *words):
    status = main(
        ["query", str(run.path), picture, "--index", str(index), "--k", "3", "--json", *words]
    )
    told = capsys.readouterr()
    return json.loads(told.out) if status == 0 else status, told.err.strip()


def saved(kind, run, folder):
    """An index of the run's test pictures."""
    if kind in ("flat", "hnsw"):
        return exporters.create("faiss", kind=kind).export(run, folder / f"{run.name}-faiss")
    if kind in search.names():
        return lab.load(run).save_index(folder / "gallery.index", kind)
    index = faiss.IndexFlatIP(run.embeddings("test").vectors.shape[1])
    index.add(run.embeddings("test").vectors)
    faiss.write_index(index, str(folder / "bare.faiss"))
    return folder / "bare.faiss"


@pytest.mark.parametrize("kind", ["flat", "hnsw", "exact", "faiss_ivf"])
def test_a_saved_index_finds_the_picture_by_its_name(run, picture, tmp_path, capsys, kind):
    file, key, class_name = picture
    index = saved(kind, run, tmp_path)
    found, told = asked(run, file, index, capsys)
    assert found[0] == {
        "rank": 1,
        "score": pytest.approx(1, abs=1e-3),
        "class": class_name,
        "image": key,
    }
    assert [row["score"] for row in found] == sorted((row["score"] for row in found), reverse=True)
    assert f"rows of {index}, " in told and "not written down" not in told
    if kind in ("flat", "exact"):
        assert main(["query", str(run.path), file, "--k", "3", "--json"]) == 0
        assert [row["image"] for row in json.loads(capsys.readouterr().out)] == [
            row["image"] for row in found
        ]


def test_a_bare_index_names_rows_and_says_that_its_encoder_is_unknown(
    run, picture, tmp_path, capsys
):
    found, told = asked(run, picture[0], saved("bare", run, tmp_path), capsys)
    assert found[0]["image"] == "number 5" and "class" not in found[0]
    assert "which encoder made it is not written down" in told


def test_an_index_of_ones_own_loop_is_searched_by_item_numbers(run, picture, tmp_path, capsys):
    stored = run.embeddings("test")
    own = EmbeddingSet(stored.vectors, stored.labels, 1000 + np.arange(len(stored)))
    found, told = asked(
        run, picture[0], search.create("exact").build(own).save(tmp_path / "own.index"), capsys
    )
    assert found[0]["image"] == "number 1005" and found[0]["class"] == str(stored.labels[5])
    assert "not written down" in told


@pytest.mark.parametrize("kind", ["flat", "exact"])
def test_an_index_of_another_encoder_is_refused_in_one_sentence(
    run, other, picture, tmp_path, capsys, kind
):
    status, told = asked(run, picture[0], saved(kind, other, tmp_path), capsys)
    assert status == 2 and "\n" not in told
    assert "was embedded by another encoder (run" in told and "embed it again with this one" in told


def test_what_does_not_fit_is_one_sentence(run, picture, tmp_path, capsys):
    bare, folder = saved("bare", run, tmp_path), saved("flat", run, tmp_path)
    wide, far, broken = tmp_path / "wide.faiss", tmp_path / "far.faiss", tmp_path / "broken.faiss"
    faiss.write_index(faiss.IndexFlatIP(7), str(wide))
    faiss.write_index(faiss.IndexFlatL2(128), str(far))
    broken.write_bytes(b"IxZZ" + bytes(50))
    keys = json.loads((folder / "keys.json").read_text())
    (folder / "keys.json").write_text(json.dumps({**keys, "keys": keys["keys"][:3]}))
    for index, words, sentence in (
        (
            wide,
            (),
            "The query vectors have 128 dimensions, the index 7; embed both with the same model.",
        ),
        (far, (), "compares by distance, but one by cosine, so they do not belong together"),
        (broken, (), "is no index that faiss can read"),
        (folder, (), "holds 3 keys for an index of"),
        (tmp_path / "nowhere", (), "nowhere cannot be read: No such file"),
        (tmp_path, (), "is no index of Rankscope: it is a folder."),
        (run.path, (), "is no index of Rankscope: it is the folder of a run."),
        (picture[0], (), "it.png is no index of Rankscope: it is an image."),
        (bare, ("--gallery", "photos"), "leave out --gallery photos."),
        (bare, ("--search", "exact"), "leave out --search exact."),
    ):
        status, told = asked(run, picture[0], index, capsys, *words)
        assert status and sentence in told and "\n" not in told, told


def test_python_opens_the_folder_of_an_exported_index_and_nothing_else_of_a_folder(run, tmp_path):
    path, rows = saved("flat", run, tmp_path), run.embeddings("test")
    opened = search.open(path)
    assert isinstance(opened, search.FaissFile) and len(opened.names) == len(rows)
    scores, places = opened.neighbours(rows.vectors[:3], 1)
    assert places.ravel().tolist() == [0, 1, 2] and scores == pytest.approx(1, abs=1e-5)
    (path / "keys.json").write_text('{"keys": 7}')
    with pytest.raises(ValueError, match="keys.json is damaged: keys must be a list, got 7"):
        search.open(path)
    with pytest.raises(ValueError, match="is no index of Rankscope: it is the folder of a run"):
        search.open(run.path)
