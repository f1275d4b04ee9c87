"""`lab.evaluate` and its torchmetrics adapter, against the longer way."""

import numpy as np
import pytest
import torch

import lab
from lab.core.results import EmbeddingSet, Evidence


def made(n=60, seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(n, 8)).astype(np.float32), random.integers(0, 6, n)


def the_long_way(vectors, labels, name):
    images = EmbeddingSet(vectors, labels, np.arange(len(labels)))
    ranking = lab.search.create("exact").build(images).rank(images, same_source=True)
    return lab.metrics.create(name)(Evidence(ranking, images, images))


@pytest.mark.parametrize("form", [lambda x: x, torch.from_numpy, lambda x: x.tolist()])
def test_it_measures_what_the_long_way_measures(form):
    vectors, labels = made()
    found = lab.evaluate(
        form(vectors), form(labels), ["map_at_r", lab.metrics.create("hit_rate_at_k", k=(1, 3))]
    )
    expected = the_long_way(vectors, labels, "map_at_r")
    assert found.values["MAP@R"] == pytest.approx(expected.values["MAP@R"], abs=1e-12)
    np.testing.assert_allclose(found.per_query["MAP@R"], expected.per_query["MAP@R"])
    assert set(found.values) == {"MAP@R", "r@1", "r@3"}


def test_names_as_labels_and_a_gallery():
    vectors, labels = made()
    names = np.array([f"class {label}" for label in labels])
    gallery, others = made(40, seed=1)
    found = lab.evaluate(
        vectors, names, gallery=gallery, gallery_labels=[f"class {label}" for label in others]
    )
    similar = vectors @ gallery.T / np.linalg.norm(gallery, axis=1)
    assert found.values["r@1"] == pytest.approx((others[similar.argmax(1)] == labels).mean())
    assert lab.evaluate(vectors, names).values == lab.evaluate(vectors, labels).values


def test_bfloat16_with_a_graph():
    vectors, labels = made()
    half = torch.from_numpy(vectors).bfloat16().requires_grad_()
    expected = lab.evaluate(half.detach().float(), labels)
    assert lab.evaluate(half, torch.from_numpy(labels)).values == expected.values


BAD = {
    "labels of shape|labels must be": lambda v, y: lab.evaluate(v, y[:, None]),
    "60 vectors but labels of shape": lambda v, y: lab.evaluate(v, y[:-1]),
    "whole numbers or names, got float64": lambda v, y: lab.evaluate(v, y / 2),
    "must be a float array": lambda v, y: lab.evaluate(y[:, None], y),
    "holds NaN": lambda v, y: lab.evaluate(np.where(v > 1, np.nan, v), y),
    "There is no metric 'map_at_x'": lambda v, y: lab.evaluate(v, y, "map_at_x"),
    "needs class anchors beside": lambda v, y: lab.evaluate(v, y, "nearest_anchor_accuracy"),
    "needs a classifier beside": lambda v, y: lab.evaluate(v, y, "classifier_accuracy"),
    "None of the labels names a class": lambda v, y: lab.evaluate(v, [None, "", float("nan")] * 20),
    "needs super-classes beside": lambda v, y: lab.evaluate(v, y, "hierarchical_ap"),
    "give both, or neither": lambda v, y: lab.evaluate(v, y, gallery=v),
}


@pytest.mark.parametrize("told", BAD)
def test_bad_input_is_told(told):
    with pytest.raises(ValueError, match=told):
        BAD[told](*made())


def test_torchmetrics_collects_batches():
    vectors, labels = made()
    metric = lab.evaluation.for_torchmetrics(["map_at_r", "hit_rate_at_k"], k=10)
    for rows, classes in zip(np.array_split(vectors, 4), np.array_split(labels, 4), strict=True):
        metric.update(torch.from_numpy(rows), torch.from_numpy(classes))
    found = {name: float(value) for name, value in metric.compute().items()}
    assert found == pytest.approx(lab.evaluate(vectors, labels).values, abs=1e-6)
    metric.reset()
    with pytest.raises(ValueError, match=r"call update\(embeddings, labels\) first"):
        metric.compute()


def test_one_object_for_vectors_goes_everywhere(tmp_path):
    vectors, labels = made()
    images = lab.EmbeddingSet(torch.from_numpy(vectors), labels.tolist())
    assert lab.evaluate(images).values == lab.evaluate(vectors, labels).values
    among = lab.evaluate(images, gallery=lab.EmbeddingSet(vectors, labels)).values
    assert among == lab.evaluate(vectors, labels, gallery=vectors, gallery_labels=labels).values
    index = lab.search.Exact(k=3).build(images)
    np.testing.assert_array_equal(index.neighbours(images)[1], index.neighbours(vectors)[1])
    alike = (
        lab.search.Exact(k=3)
        .build(vectors[:9], labels[:9])
        .add(vectors[9:], labels[9:])
        .rank(images, True)
    )
    np.testing.assert_array_equal(alike.neighbours, index.rank(images, same_source=True).neighbours)
    np.testing.assert_array_equal(
        index.rank(vectors, same_source=True).neighbours, alike.neighbours
    )
    np.testing.assert_array_equal(lab.maps.project(images), lab.maps.project(vectors))
    of_both, of_set = ((lab.losses.SmoothAP(), *given) for given in ((vectors, labels), (images,)))
    assert lab.inspect.inspect_loss(*of_set).summary == lab.inspect.inspect_loss(*of_both).summary
    score = pytest.approx(lab.evaluate(images).values["MAP@R"])
    run = lab.runs.from_embeddings(images, normalise=True, runs=tmp_path)
    with lab.runs.record("loop", runs=tmp_path, normalise=True) as loop:
        loop.embeddings(1, images)
    unit = lab.EmbeddingSet(run.embeddings().vectors, labels)
    back = lab.runs.from_embeddings(
        lab.exporters.Csv().export(unit, tmp_path / "it.csv"), runs=tmp_path
    )
    assert [one.scores()["values"]["MAP@R"] for one in (run, loop.run, back)] == [score] * 3
    with pytest.raises(ValueError, match="has no split 'tset'; scores are there of: test"):
        run.scores("tset")


def test_what_has_no_labels_matches_nothing():
    vectors, labels = made(6)
    unknown = lab.EmbeddingSet(vectors)
    assert unknown.unlabelled and not lab.EmbeddingSet(vectors, labels).unlabelled
    ranking = lab.search.Exact().build(unknown).rank(lab.EmbeddingSet(vectors), same_source=False)
    assert not ranking.num_positives.any(), "two sets without labels share no class"


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda v, y: lab.evaluate(lab.EmbeddingSet(v)), "needs the class of each vector"),
        (lambda v, y: lab.evaluate(lab.EmbeddingSet(v, y), y), "set has labels of its own"),
        (lambda v, y: lab.search.Exact().build(lab.EmbeddingSet(v, y), y), "labels of its own"),
        (lambda v, y: lab.search.Exact().build(v, anchors=v), "Exact takes no anchors"),
        (
            lambda v, y: lab.metrics.MapAtR()(lab.search.Exact().build(v, y)),
            "measures evidence, .* got Exact",
        ),
        (lambda v, y: lab.metrics.MapAtR()(v, y), "measures evidence, .* got ndarray and ndarray"),
        (lambda v, y: lab.EmbeddingSet(5), r"table \[n d\].* got int"),
        (
            lambda v, y: lab.evaluate(v, y, metric="ami"),
            "evaluate: .* 'metric'. Its arguments: vectors, labels",
        ),
        (lambda v, y: lab.inspect.similarity_histograms(v), "needs the class of each embedding"),
        (
            lambda v, y: lab.losses.SmoothAP()(torch.from_numpy(v)),
            "SmoothAP is called .* missing .* 'labels'",
        ),
        (
            lambda v, y: lab.losses.SmoothAP()(torch.from_numpy(v), torch.from_numpy(y), tua=1),
            "SmoothAP .* 'tua'",
        ),
        (lambda v, y: lab.train(runs=5), "folder of runs is a path"),
        (lambda v, y: lab.train(name=5), "A run's name is"),
        (lambda v, y: lab.load(5), "no run '5'"),
        (lambda v, y: lab.runs.RunConfig.of({"lr": 0.1}), "did you mean the knob lr of optimiser"),
        (
            lambda v, y: lab.runs.RunConfig.of({"step": 1}),
            "did you mean the knob steps of training",
        ),
    ],
)
def test_a_wrong_call_ends_in_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(*made(6))


def test_queries_that_find_themselves_in_the_gallery_are_told():
    vectors, labels = np.random.default_rng(0).normal(size=(20, 4)), np.arange(20) // 4
    alone = lab.evaluate(vectors, labels)
    found = lab.evaluate(vectors, labels, gallery=vectors, gallery_labels=labels)
    assert found.values["r@1"] == 1 > alone.values["r@1"]
    assert "For 100.0% of the queries, the first neighbour is an equal vector." in found.warnings[0]
    assert not alone.warnings
    assert not lab.evaluate(
        vectors, labels, gallery=vectors[::-1] + 0.1, gallery_labels=labels
    ).warnings
