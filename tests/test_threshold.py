"""A threshold: its rates against plain loops over pairs, what is kept of it, and what it answers."""

import json
import math

import numpy as np
import pytest

import lab
from lab import exporters, threshold
from lab.__main__ import main
from lab.core import arrays
from lab.core.results import EmbeddingSet

LABELS = [0, 0, 0, 1, 1, 2, 2, 2, 2, 3]


def images(labels=LABELS, seed=0, n=None):
    rows = np.random.default_rng(seed).normal(size=(n or len(labels), 3)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return EmbeddingSet(rows, np.array(labels), np.arange(len(labels)))


def plain_rates(query, gallery, value):
    """Each rate, pair by pair."""
    same_source = gallery is None
    whole = query if same_source else gallery
    accepted = {True: [], False: []}
    reached = {True: [], False: []}
    for i in range(len(query)):
        mine = {True: [], False: []}
        for j in range(len(whole)):
            if same_source and i == j:
                continue
            product = sum(
                float(a) * float(b) for a, b in zip(query.vectors[i], whole.vectors[j], strict=True)
            )
            mine[bool(query.labels[i] == whole.labels[j])].append(np.float32(product) >= value)
        for kind, of in mine.items():
            accepted[kind] += of
            reached[kind] += [any(of)] if of else []
    let = sum(accepted[True]) + sum(accepted[False])
    return {
        "false accepts": np.mean(accepted[False]),
        "false rejects": 1 - np.mean(accepted[True]),
        "precision": sum(accepted[True]) / let if let else math.nan,
        "strangers rejected": 1 - np.mean(reached[False]),
        "known found": np.mean(reached[True]),
    }


@pytest.mark.parametrize("gallery", [None, images([0, 1, 1, 2, 4, 4], seed=1)])
@pytest.mark.parametrize("wanted", [-0.9, 0.0, 0.45, 0.9])
def test_the_rates_are_those_of_a_plain_loop(gallery, wanted):
    query = images()
    pairs = threshold.compare(query, gallery)
    column = pairs.column(wanted)
    value = pairs.counts.thresholds[column]
    assert abs(value - wanted) < 0.003
    found = pairs.rates(column)
    plain = plain_rates(query, gallery, value)
    assert {name: row.value for name, row in found.items()} == pytest.approx(plain, nan_ok=True)


def test_the_lowest_threshold_is_chosen_that_lets_no_more_through():
    pairs = threshold.compare(images(np.arange(60) // 6, n=60))
    column = pairs.let_through(0.05)
    assert pairs.counts.far[column] <= 0.05 < pairs.counts.far[column - 1]


def test_the_worst_served_class_comes_first_and_the_classes_add_up():
    query = images(np.arange(60) // 6, n=60)
    # the first five are compact
    query.vectors[:30] = query.vectors[:30:6].repeat(6, 0) + 0.05 * query.vectors[30:]
    pairs = threshold.compare(query)
    found = pairs.classes(pairs.column(0.8))
    assert set(found.labels[:5]) == {5, 6, 7, 8, 9} and (np.diff(found.utility) >= 0).all()
    assert found.false_accepts.mean() == pytest.approx(
        pairs.rates(pairs.column(0.8))["false accepts"].value
    )
    assert pairs.opis > 0.01


def test_histograms_and_probability():
    query = images(np.arange(200) // 20, n=200)
    query.vectors[:] = query.vectors[::20].repeat(20, 0) + 0.4 * query.vectors
    query.vectors[:] /= np.linalg.norm(query.vectors, axis=1, keepdims=True)
    pairs = threshold.compare(query)
    cosines = (query.vectors.astype(np.float64) @ query.vectors.T)[~np.eye(200, dtype=bool)]
    same = (query.labels[:, None] == query.labels)[~np.eye(200, dtype=bool)]
    edges, alike, apart = pairs.histogram(20)
    assert alike.sum() == pytest.approx(1) and apart.sum() == pytest.approx(1)
    counted = np.histogram(cosines[same].astype(np.float32), np.append(edges[:-1], 2))[0]
    assert alike == pytest.approx(counted / same.sum())
    x, y = pairs.probability()
    assert (np.diff(y) >= 0).all() and y[0] < 0.05 and y[-1] > 0.9
    of_class = pairs.of_class(3).histogram(20)[1]
    assert of_class.sum() == pytest.approx(1) and not np.allclose(of_class, alike)


def test_too_many_pairs_are_sampled_always_alike(monkeypatch):
    query = images(np.arange(120) // 4, n=120)
    whole = threshold.compare(query)
    monkeypatch.setattr(threshold, "MOST_PAIRS", 120 * 50)
    monkeypatch.setattr(threshold, "LEAST_QUERIES", 10)
    some, again = threshold.compare(query), threshold.compare(query)
    assert (len(some.labels), some.of, len(whole.labels)) == (50, 120, 120)
    assert (some.counts.same == again.counts.same).all()
    far = [pairs.rates(whole.column(0.3))["false accepts"].value for pairs in (some, whole)]
    assert far[0] == pytest.approx(far[1], abs=0.05)


@pytest.mark.parametrize(
    ("labels", "spoil", "sentence"),
    [
        ([], None, "No image here has a class"),
        (range(6), None, "No class has two images here"),
        ([0] * 6, None, "All images here are of one class"),
        ([0, 0, 1, 1, 2, 2], np.nan, "Row 3 of the embeddings holds NaN or infinity"),
        ([0, 0, 1, 1, 2, 2], 0.0, "Row 3 of the .* vectors is zero"),
    ],
)
def test_what_cannot_be_told_is_a_sentence(labels, spoil, sentence):
    query = images(list(labels))
    if spoil is not None:
        query.vectors[3] = spoil
    with pytest.raises(ValueError, match=sentence):
        threshold.compare(query)


def test_distances_have_a_threshold_too():
    query = images(np.arange(60) // 4, n=60)
    lengths = EmbeddingSet(7 * query.vectors, query.labels, query.items)
    pairs, unit = threshold.compare(lengths, similarity="euclidean"), threshold.compare(query)
    column = pairs.column(-20.0)
    cosine = 1 + pairs.counts.thresholds[column] / 98
    for name, rate in unit.rates(unit.column(cosine)).items():
        found = pairs.rates(column)[name]
        assert (found.value, found.low, found.high) == pytest.approx(
            (rate.value, rate.low, rate.high), abs=0.02
        ), name


@pytest.fixture(scope="module")
def run(train_tiny, tmp_path_factory):
    return train_tiny(
        tmp_path_factory.mktemp("runs"), "one", loss={"name": "contrastive"}, training={"steps": 2}
    )


def told(capsys, *words):
    status = main(list(map(str, words)))
    shown = capsys.readouterr()
    return status, shown.out, shown.err.strip()


def test_a_run_without_one_says_what_to_do(run, capsys):
    (run.path / "threshold.json").unlink(missing_ok=True)
    with pytest.raises(
        ValueError, match="has no threshold yet, so nothing can be unknown; run: lab threshold"
    ):
        lab.load(run).search(lab.load(run).gallery.vectors[0], unknown=True)
    assert threshold.exported(run) == {}


def test_the_command_chooses_it_and_the_query_answers_unknown(run, capsys, tmp_path):
    status, out, _ = told(capsys, "threshold", run.path, "--far", 0.2, "--json")
    chosen, stored = json.loads(out), threshold.stored(run)
    assert (
        status == 0
        and chosen["value"] == stored.value
        and chosen["rates"]["false accepts"][0] <= 0.2
    )
    assert len(chosen["worst classes"]) >= 2 and 0 <= chosen["opis"] <= 0.25
    model, vectors = lab.load(run), run.embeddings("test").vectors
    found, listed = model.search(vectors[0], k=50, unknown=True), model.search(vectors[0], k=50)
    assert [one.key for one in found] == [
        one.key for one in listed if one.score >= stored.value
    ] and len(found) >= 1
    assert all(0 <= one.same <= 1 for one in found) and all(one.same is None for one in listed)
    assert model.search(-vectors.mean(0), unknown=True) == []
    status, out, words = told(capsys, "threshold", run.path, "--at", 1)
    assert (
        status == 0 and "false accepts" in out and "Threshold of one: cosine 1, chosen on" in words
    )
    run.dataset().load(0).rotate(45).save(tmp_path / "turned.png")
    status, out, _ = told(capsys, "query", run.path, tmp_path / "turned.png", "--unknown", "--json")
    assert json.loads(out) == [
        {"rank": None, "score": None, "same": None, "class": "unknown", "image": None}
    ]


def test_it_is_exported_and_forgotten_with_other_embeddings(run, capsys, tmp_path):
    assert told(capsys, "threshold", run.path, "--at", 0.5)[0] == 0
    path = exporters.create("faiss").export(run, tmp_path / "faiss")
    kept = json.loads((path / "keys.json").read_text())["threshold"]
    assert kept["value"] == pytest.approx(0.5, abs=0.002) and kept["split"] == "test"
    assert exporters.create("onnx").program(run).about["threshold"] == kept
    stored = json.loads((run.path / "threshold.json").read_text())
    (run.path / "threshold.json").write_text(json.dumps(stored | {"step": 1}))
    with pytest.raises(
        ValueError, match="is of other embeddings than those stored now; run: lab threshold"
    ):
        threshold.stored(run)
    (run.path / "threshold.json").write_text(json.dumps(stored))


def test_bad_words_are_one_sentence_each(run, capsys):
    for words, sentence in (
        (("--far", 0.1, "--at", 0.5), "not both"),
        (("--far", 1.5), "must lie between 0 and 1"),
        (("--split", "none"), "holds no embeddings of split 'none'"),
    ):
        status, _, said = told(capsys, "threshold", run.path, *words)
        assert status != 0 and sentence in said and "Traceback" not in said


def test_imported_vectors_have_one(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("LAB_RUNS", str(tmp_path / "runs"))
    query = images(np.arange(40) // 4, n=40)
    arrays.write(tmp_path / "it.safetensors", {"vectors": query.vectors, "labels": query.labels})
    assert told(capsys, "import", tmp_path / "it.safetensors")[0] == 0
    status, out, said = told(capsys, "threshold", "it", "--far", 0.1, "--json")
    assert status == 0 and json.loads(out)["pairs of one class"] == 120, said
