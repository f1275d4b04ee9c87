"""No class is no class: images without one count in no score, whatever else is measured and however it is searched."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lab
from lab.core.results import EmbeddingSet, Evidence, no_class
from lab.core.streams import result_of
from lab.evaluation.scores import evaluate, evaluate_streamed, left_out_sentence
from lab.inspect import data_checks
from lab.threshold import compare

OF_ANYTHING = [
    name
    for name in lab.metrics.names()
    if lab.metrics.get(name).needs in ("ranking", "embeddings") and name != "revisited_map"
]
OF_RANKINGS = [name for name in OF_ANYTHING if not lab.metrics.get(name).reads_gallery]


def made(classes=12, each=20, width=16, noise=1.6, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(classes), each)
    rows = rng.normal(size=(classes, width))[labels] + noise * rng.normal(size=(len(labels), width))
    return rows.astype(np.float32), labels, rng


def without_some(labels, rng, share=0.5):
    """Which rows keep their label, and labels int64 in which the others have none."""
    known = rng.permutation(len(labels)) < share * len(labels)
    return known, np.where(known, labels, no_class(np.arange(len(labels))))


def same_values(found, wanted):
    assert found.keys() == wanted.keys()
    for column, value in wanted.items():
        assert found[column] == pytest.approx(value, rel=1e-12, nan_ok=True), column


@pytest.mark.parametrize("similarity", ["cosine", "euclidean"])
def test_half_of_the_labels_taken_away_leave_the_scores_of_the_labelled_half(similarity):
    rows, labels, rng = made()
    known, partly = without_some(labels, rng)
    names = [f"class {one}" if there else None for one, there in zip(labels, known, strict=True)]
    wanted = lab.evaluate(rows[known], labels[known], OF_ANYTHING, similarity=similarity)
    found = lab.evaluate(rows, names, OF_ANYTHING, similarity=similarity)
    same_values(found.values, wanted.values)
    assert (found.left_out, found.unlabelled) == (int((~known).sum()),) * 2
    for column, values in wanted.per_query.items():
        np.testing.assert_array_equal(found.per_query[column][known], values)
        assert np.isnan(found.per_query[column][~known]).all()
    assert found.excluded == wanted.excluded + (~known).sum()


@pytest.mark.parametrize("nothing", [None, float("nan"), "", " "])
def test_every_way_to_say_no_class_is_one(nothing):
    rows, labels, rng = made(4, 8)
    known, partly = without_some(labels, rng)
    given_labels = [
        f"{one}" if there else nothing for one, there in zip(labels, known, strict=True)
    ]
    wanted = lab.evaluate(rows[known], labels[known]).values
    same_values(lab.evaluate(rows, given_labels).values, wanted)
    same_values(lab.evaluate(lab.EmbeddingSet(rows, given_labels)).values, wanted)


def test_a_negative_number_is_a_class_for_evaluate():
    rows, labels, _ = made(4, 8)
    assert lab.evaluate(rows, labels - 2).values == lab.evaluate(rows, labels).values


def test_numbers_of_two_types_are_compared_exactly():
    query = np.array([2**60, 2**60 + 1, 7], np.uint64)
    gallery = np.array([2**60 + 1, 2**60 + 2, 8], np.int64)
    found = lab.evaluate(np.eye(3), query, gallery=np.eye(3), gallery_labels=gallery)
    assert found.ranking.num_positives.tolist() == [0, 1, 0]


def test_without_any_class_nothing_is_measured():
    with pytest.raises(ValueError, match="None of the labels names a class"):
        lab.evaluate(np.eye(3), [None, None, ""])


def scores(query, gallery, index, same_source):
    """Every ranking metric, by an index of the catalogue or by one of the two ways of the exact one."""
    metrics = {name: lab.metrics.create(name) for name in OF_RANKINGS}
    if index == "streamed":
        return result_of(evaluate_streamed(query, gallery, metrics, same_source=same_source)).values
    searched = lab.search.create("exact", path=index, device="cpu", k=5).build(gallery)
    evidence = Evidence(searched.rank(query, same_source=same_source), query, gallery)
    measured = [metric(evidence) for metric in metrics.values()]
    return {column: value for one in measured for column, value in one.values.items()}


@settings(max_examples=25, deadline=None, derandomize=True, database=None)
@given(
    seed=st.integers(0, 1000),
    classes=st.integers(2, 5),
    more=st.integers(0, 30),
    own_gallery=st.booleans(),
    index=st.sampled_from(["plain", "compiled", "streamed"]),
)
def test_images_without_a_class_change_no_score(seed, classes, more, own_gallery, index):
    rows, labels, rng = made(classes, 6, 4, 1.0, seed)
    strangers = rng.normal(size=(more, 4)).astype(np.float32)
    order = rng.permutation(len(rows) + more)
    all_labels = np.concatenate([labels, no_class(np.arange(more))])[order]
    whole = EmbeddingSet(np.concatenate([rows, strangers])[order], all_labels)
    values = []
    for images in (whole, whole.take(np.flatnonzero(whole.labelled))):
        asked = images.items % 2 == 0 if own_gallery else np.ones(len(images), bool)
        query = images.take(np.flatnonzero(asked))
        gallery = images.take(np.flatnonzero(~asked)) if own_gallery else query
        if not len(query) or not len(gallery):
            return
        values.append(scores(query, gallery, index, not own_gallery))
    same_values(values[0], values[1])


@pytest.mark.parametrize("name", ["faiss_flat", "two_stage", "streamed", "exact"])
def test_every_index_leaves_them_out_of_the_ranks_and_shows_them(name):
    if name.startswith("faiss"):
        pytest.importorskip("faiss")
    rows, labels, rng = made(6, 10)
    known, partly = without_some(labels, rng)
    anchors = {"anchors": rows[:5]} if name == "two_stage" else {}
    whole, alone = EmbeddingSet(rows, partly), EmbeddingSet(rows[known], labels[known])
    found = (
        lab.search.create(name, k=8, device="cpu")
        .build(whole, **anchors)
        .rank(whole, same_source=True)
    )
    wanted = (
        lab.search.create(name, k=8, device="cpu")
        .build(alone, **anchors)
        .rank(alone, same_source=True)
    )
    np.testing.assert_array_equal(found.positive_ranks, wanted.positive_ranks)
    np.testing.assert_array_equal(
        np.flatnonzero(known)[wanted.positive_items], found.positive_items
    )
    assert (~known[found.neighbours[found.neighbours >= 0]]).any()


@pytest.mark.parametrize("method", lab.reranking.names())
def test_re_ranking_looks_at_images_with_a_class_alone(method):
    rows, labels, rng = made(6, 10)
    known, partly = without_some(labels, rng)
    metrics = {"map_at_r": lab.metrics.create("map_at_r")}
    reranker = lab.reranking.create(method)
    values = [
        result_of(evaluate(images, None, metrics, reranker=reranker)).values
        for images in (EmbeddingSet(rows, partly), EmbeddingSet(rows[known], labels[known]))
    ]
    assert values[0] == values[1]


def plain_scores(rows, labels, known):
    """MAP@R, mean AP and r@1 by loops; every row without a class is a wrong answer to all queries."""
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    found = {"MAP@R": [], "mAP": [], "r@1": []}
    for q in np.flatnonzero(known):
        order = sorted(
            (i for i in range(len(rows)) if i != q), key=lambda i: -float(unit[q] @ unit[i])
        )
        right = [bool(known[i] and labels[i] == labels[q]) for i in order]
        total = sum(right)
        if not total:
            continue
        precision = [sum(right[: at + 1]) / (at + 1) for at in range(len(order))]
        found["mAP"].append(sum(p for p, r in zip(precision, right, strict=True) if r) / total)
        found["MAP@R"].append(sum(precision[at] for at in range(total) if right[at]) / total)
        found["r@1"].append(float(right[0]))
    return {column: float(np.mean(values)) for column, values in found.items()}


@pytest.mark.parametrize("seed", range(3))
def test_distractors_count_as_wrong_answers(seed):
    rows, labels, rng = made(5, 8, 6, 1.5, seed)
    known, partly = without_some(labels, rng, 0.6)
    names = [f"{one}" if there else None for one, there in zip(labels, known, strict=True)]
    metrics = ["map_at_r", "mean_average_precision", lab.metrics.create("hit_rate_at_k", k=(1,))]
    found = lab.evaluate(rows, names, metrics, distractors=True)
    assert found.values == pytest.approx(plain_scores(rows.astype(np.float64), labels, known))
    assert found.left_out == 0 and found.unlabelled == (~known).sum()
    left_out = lab.evaluate(rows, names, metrics).values
    assert all(left_out[column] >= value for column, value in found.values.items())
    opis = lab.metrics.create("opis", low=0.0, high=1.0)
    same_values(
        lab.evaluate(rows, names, opis, distractors=True).values,
        lab.evaluate(rows, names, opis).values,
    )


def test_a_coarse_level_is_judged_where_it_is_known():
    rows, labels, rng = made(6, 6)
    there = np.flatnonzero(np.arange(36) % 3)
    unknown = {"coarse": np.where(np.arange(36) % 3, labels % 2, no_class(np.arange(36)))}
    metric, images = (
        {"hierarchical_ap": lab.metrics.create("hierarchical_ap")},
        EmbeddingSet(rows, labels),
    )
    found = result_of(evaluate(images, None, metric, levels=unknown)).per_query["AP-coarse"]
    part, known = EmbeddingSet(rows[there], labels[there]), {"coarse": (labels % 2)[there]}
    alone = result_of(evaluate(part, None, metric, levels=known)).per_query["AP-coarse"]
    np.testing.assert_allclose(found[there], alone)
    assert np.isnan(np.delete(found, there)).all()


def test_confusions_and_thresholds_are_of_images_with_a_class():
    rows, labels, rng = made(6, 10)
    known, partly = without_some(labels, rng)
    whole, alone = EmbeddingSet(rows, partly), EmbeddingSet(rows[known], labels[known])
    rankings = [
        lab.search.create("exact", k=len(one) - 1).build(one).rank(one, same_source=True)
        for one in (whole, alone)
    ]
    found, wanted = (data_checks.confusion(one, 5) for one in rankings)
    for field in ("label", "other", "count", "share"):
        np.testing.assert_array_equal(getattr(found, field), getattr(wanted, field))
    matrices = [data_checks.confusion_matrix(one, 5, np.arange(6)).counts for one in rankings]
    np.testing.assert_array_equal(*matrices)
    pairs = [compare(one).counts for one in (whole, alone)]
    np.testing.assert_array_equal(pairs[0].same, pairs[1].same)
    np.testing.assert_array_equal(pairs[0].other, pairs[1].other)


def test_a_loss_asks_for_the_class_of_every_row():
    rows, labels, _ = made(4, 4)
    images = EmbeddingSet(rows, ["a", None] * 8)
    with pytest.raises(ValueError, match="Row 1 has no class"):
        lab.inspect.inspect_loss(lab.losses.SmoothAP(), images)
    report = lab.inspect.inspect_loss(lab.losses.SmoothAP(), rows, labels - 2)
    assert (
        report.pairs.value
        == lab.inspect.inspect_loss(lab.losses.SmoothAP(), rows, labels).pairs.value
    )


def test_samplers_draw_images_with_a_class_alone():
    labels = np.where(np.arange(60) % 3 == 0, no_class(np.arange(60)), np.arange(60) // 15)
    for name, knobs in (("uniform", {}), ("m_per_class", {"per_class": 4})):
        sampler = lab.samplers.create(name, batch_size=8, **knobs).bind(labels)
        drawn = np.concatenate([sampler.batch(step) for step in range(20)])
        assert set(drawn.tolist()) <= set(sampler.drawn.tolist()) and (drawn % 3 != 0).all()
        assert sampler.steps_per_epoch == 40 // 8
    named = lab.samplers.create("uniform", batch_size=4).bind(
        ["a", None, "b", "a", "b", float("nan")]
    )
    assert named.drawn.tolist() == [0, 2, 3, 4]


def test_what_is_left_out_is_said():
    assert left_out_sentence(0, 9) == ""
    assert (
        left_out_sentence(1, 9)
        == "1 of 9 gallery images has no class; they are left out of every score."
    )
    assert "count as wrong answers" in left_out_sentence(2, 9, distractors=True)
