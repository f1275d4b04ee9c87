"""Galleries in shards: written whole or not at all, read as one, searched and measured as in memory."""

import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

import lab
from lab.__main__ import main
from lab.core import arrays
from lab.core.arrays import Damaged
from lab.core.results import EmbeddingSet
from lab.core.streams import result_of
from lab.evaluation.scores import evaluate, evaluate_streamed
from lab.integrations.importing import shards as embedding
from lab.search.galleries import shards
from lab.search.galleries.rows import LabelRows, Rows

PERMITTED = [name for name in lab.metrics.names() if lab.metrics.get(name).needs == "ranking"]


def queries_of(images, rows):
    return EmbeddingSet(images.vectors[rows], images.labels[rows], images.items[rows])


def test_rows_are_addressed_as_one():
    whole = np.arange(30).reshape(10, 3)
    rows = Rows([whole[:4], whole[4:5], whole[5:]])
    for wanted in (
        slice(2, 9),
        slice(None),
        slice(9, 2),
        slice(1, 10, 3),
        [7, 0, 7, 4],
        [[1, -1], [5, 4]],
    ):
        np.testing.assert_array_equal(rows[wanted], whole[wanted])
    np.testing.assert_array_equal(np.asarray(rows), whole)
    assert (
        rows.shape == (10, 3)
        and rows[3].tolist() == [9, 10, 11]
        and int(Rows([whole[:, 0]])[2]) == 6
    )


def test_parts_of_different_types_keep_their_numbers():
    parts = [np.array([1, 2], np.uint8), np.array([300, -1], np.int64)]
    assert Rows(parts)[:].tolist() == [1, 2, 300, -1]
    assert LabelRows(parts)[:3].tolist() == [1, 2, 300] and LabelRows(parts)[3] < -1
    unsigned = LabelRows(parts[:1])
    assert (
        unsigned[:].tolist() == [1, 2]
        and unsigned[1] == 2
        and np.asarray(unsigned).dtype == np.int64
    )


def test_shards_hold_what_was_written_and_find_damage(clustered, in_shards):
    gallery = in_shards(clustered)
    np.testing.assert_array_equal(gallery.vectors[:], clustered.vectors)
    assert (
        gallery.name(599) == "599.png"
        and gallery.name(250) == "250.png"
        and gallery.class_name(3) == "class 3"
    )
    assert pickle.loads(pickle.dumps(gallery)).digest == gallery.digest
    path = gallery.folder / shards.shard_name(1)
    content = bytearray(path.read_bytes())
    path.write_bytes(content[:5000])
    with pytest.raises(Damaged, match="shard-00001"):
        shards.open_gallery(gallery.folder)


@pytest.mark.parametrize("similarity", ["cosine", "euclidean"])
@pytest.mark.parametrize("same_source", [True, False])
def test_streamed_metrics_are_those_in_memory_bit_for_bit(
    same_source, similarity, clustered, in_shards, monkeypatch
):
    # tiles that end within shards, and cross them
    monkeypatch.setattr("lab.search._ranking.ITEM_ROWS", 100)
    monkeypatch.setattr("lab.search._ranking.COLUMN", 70)
    scale = 1 + np.arange(600, dtype=np.float32)[:, None] / 600  # rows of any length
    images = EmbeddingSet(clustered.vectors * scale, clustered.labels, clustered.items)
    gallery, query = in_shards(images), queries_of(images, np.arange(3, 600, 5))
    if not same_source:
        query = EmbeddingSet(query.vectors + np.float32(0.01), query.labels, query.items)
    metrics = {name: lab.metrics.create(name) for name in [*PERMITTED, "nmi"]}
    expected = result_of(
        evaluate(query, images, metrics, k=30, similarity=similarity)
        if not same_source
        else _among(query, images, metrics, similarity)
    )
    given = dict(k=30, similarity=similarity, same_source=same_source)
    found = result_of(evaluate_streamed(query, gallery, metrics, **given))
    assert found.values == expected.values and found.values
    for name in (
        "neighbours",
        "scores",
        "positive_items",
        "positive_ranks",
        "retrieved",
        "self_index",
    ):
        np.testing.assert_array_equal(
            getattr(found.ranking, name), getattr(expected.ranking, name), name
        )


def _among(query, images, metrics, similarity):
    """Some images of a set among all of it, which `evaluate` does for all alone."""
    from lab.core.results import Evidence
    from lab.evaluation.scores import Evaluation

    index = lab.search.create("exact", k=30, similarity=similarity, ties="shuffled").build(images)
    ranking = index.rank(query, True)
    evidence = Evidence(ranking, query, images, similarity=similarity)
    yield
    return Evaluation(ranking, {name: metric(evidence) for name, metric in metrics.items()}, 0.0)


def test_an_index_on_disk_is_found_again(clustered, in_shards, tmp_path, monkeypatch):
    gallery, folder = in_shards(clustered), tmp_path / "index"
    knobs = dict(k=5, lists=8, probes=8, bytes=4, folder=str(folder))
    whole = lab.search.create("faiss_ivf_pq", **{**knobs, "folder": None}).build(gallery)
    built = lab.search.create("faiss_ivf_pq", **knobs).build(gallery)
    monkeypatch.setattr("lab.search.faiss_ivf_pq.FaissIvfPq._filled", None)
    again = lab.search.create("faiss_ivf_pq", **knobs).build(gallery)
    for index in (built, again):
        for mine, yours in zip(
            index.neighbours(clustered.vectors), whole.neighbours(clustered.vectors), strict=True
        ):
            np.testing.assert_array_equal(mine, yours)
    assert 0.9 < lab.search.recall(again, gallery) <= 1
    with pytest.raises(ValueError, match="index of another gallery or with other knobs"):
        lab.search.create("faiss_ivf_pq", **{**knobs, "lists": 4}).build(gallery)


def test_a_killed_embedding_goes_on_to_the_same_bits(
    pictures, train_tiny, tmp_path, monkeypatch, capsys
):
    train_tiny(
        tmp_path,
        "net",
        training={"steps": 2},
        loss={"name": "class_anchor_margin", "init": "random"},
    )
    command = [
        "embed",
        str(pictures),
        "--encoder",
        "net",
        "--runs",
        str(tmp_path),
        "--shard-rows",
        "20",
        "--json",
    ]
    assert main([*command, "--shards", str(tmp_path / "whole")]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told[0]["pictures"] == 64 and told[0]["shards"] == 4
    add, added = shards.Writer.add, []

    def killed(self, *rows):
        if len(added) == 2:
            raise KeyboardInterrupt
        added.append(self.shards)
        add(self, *rows)

    monkeypatch.setattr(shards.Writer, "add", killed)
    with pytest.raises(KeyboardInterrupt):
        result_of(
            embedding.embed_shards(pictures, "net", tmp_path / "parts", rows=20, runs=tmp_path)
        )
    monkeypatch.undo()
    assert main([*command, "--shards", str(tmp_path / "parts")]) == 0
    assert "40 of 64 pictures were embedded before" in capsys.readouterr().err
    for number in range(4):
        whole, parts = (
            arrays.read(tmp_path / name / shards.shard_name(number)) for name in ("whole", "parts")
        )
        assert whole.keys() == parts.keys() and all(
            np.array_equal(whole[name], parts[name]) for name in whole
        )
    assert (
        main([*command, "--shards", str(tmp_path / "parts"), "--batch-size", "7", "--name", "x"])
        == 2
    )
    assert "--shards makes no run" in capsys.readouterr().err

    picture = sorted(pictures.glob("*/*.png"))[37]
    query = [
        "query",
        "net",
        str(picture),
        "--runs",
        str(tmp_path),
        "--gallery",
        str(tmp_path / "whole"),
        "--k",
        "3",
    ]
    every = ["faiss_ivf_pq", "--search.probes", "2000"]
    for engine in (["exact"], every, every):
        assert main([*query, "--json", "--search", *engine]) == 0
        shown = capsys.readouterr()
        rows = json.loads(shown.out)
        assert (
            rows[0]["image"] == str(picture)
            and rows[0]["class"] == picture.parent.name
            and len(rows) == 3
        )
        assert ("faiss_ivf_pq under the class anchors finds" in shown.err) == (engine != ["exact"])
    # another index beside the same gallery, under no anchors
    few = [
        "faiss_ivf_pq",
        "--search.lists",
        "2",
    ]
    assert (
        main([*query, "--search", *few]) == 0 and "; faiss_ivf_pq finds" in capsys.readouterr().err
    )
    assert len(list((tmp_path / "whole" / "indexes").glob("faiss_ivf_pq-*"))) == 2
    # it was measured; the gallery is read no more
    monkeypatch.setattr("lab.search._recall.Streamed", None)
    assert (
        main([*query, "--search", *few]) == 0 and "; faiss_ivf_pq finds" in capsys.readouterr().err
    )
    monkeypatch.undo()

    # no row finds itself, however it is said
    itself = [
        "--gallery",
        str(tmp_path / "parts" / ".." / "whole"),
    ]
    assert main(["evaluate", str(tmp_path / "whole"), *itself, "--json"]) == 0
    streamed = {row["metric"]: row["value"] for row in json.loads(capsys.readouterr().out)}
    gallery = shards.open_gallery(tmp_path / "whole")
    assert streamed == lab.evaluate(gallery.vectors[:], gallery.labels[:]).values
    about = tmp_path / "parts" / "gallery.json"
    about.write_text(about.read_text().replace(gallery.about["plan"]["weights"], "others"))
    assert main(["evaluate", str(tmp_path / "whole"), "--gallery", str(tmp_path / "parts")]) == 2
    assert "was embedded by another encoder" in capsys.readouterr().err
    assert main(["evaluate", str(tmp_path / "whole"), *itself, "--evaluation.flip"]) == 2
    assert "--evaluation.flip cannot be had of shards" in capsys.readouterr().err
    assert main(["evaluate", str(tmp_path / "whole"), "--k", "3"]) == 2
    assert "--k is for folders of shards" in capsys.readouterr().err


def test_a_picture_that_was_replaced_in_between_is_not_taken_for_the_old_one(
    pictures, train_tiny, tmp_path
):
    train_tiny(tmp_path, "net", training={"steps": 0})
    photos = Path(shutil.copytree(pictures, tmp_path / "photos"))
    options = {"rows": 20, "runs": tmp_path}
    result_of(embedding.embed_shards(photos, "net", tmp_path / "there", **options))
    again = result_of(embedding.embed_shards(photos, "net", tmp_path / "there", **options))
    assert len(again) == 64
    shutil.copyfile(photos / "class01" / "1.png", photos / "class00" / "1.png")
    with pytest.raises(ValueError, match=r"was made otherwise \(pictures differs\)"):
        result_of(embedding.embed_shards(photos, "net", tmp_path / "there", **options))
