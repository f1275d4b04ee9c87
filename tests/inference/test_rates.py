"""Intervals of rates over classes: against plain recomputation, and what they cover where the truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from lab import threshold
from lab.core.results import EmbeddingSet
from lab.inference.pair_rates import TAKEN_AWAY, PairRates
from lab.inference.rates import FEWEST, Jackknife, effective, rate
from lab.kernels.class_reach import class_reach


def draw(chance, sizes, dim=6):
    """Unit vectors of new classes: compact and scattered ones, some near a common direction."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    means = chance.normal(size=(len(sizes), dim))
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    means[:, 0] += 0.5 * chance.random(len(sizes))
    spread = 0.3 * np.exp(0.5 * chance.normal(size=len(sizes)))
    rows = means[labels] + spread[labels, None] * chance.normal(size=(len(labels), dim))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return EmbeddingSet(rows.astype(np.float32), labels, np.arange(len(labels)))


def without(images, label):
    return images.take(np.flatnonzero(images.labels != label))


@pytest.mark.parametrize("own_gallery", [True, False])
@pytest.mark.parametrize("at", [0.3, 0.8])
def test_each_class_is_left_out_of_both_sides(own_gallery, at):
    chance = np.random.default_rng(3)
    query = draw(chance, [5, 2, 7, 3, 4, 6])
    gallery = query if own_gallery else draw(chance, [3, 4, 2, 6, 5, 2, 4])

    def found(query, gallery):
        own = np.arange(len(query)) if own_gallery else np.full(len(query), -1)
        similarities = query.vectors.astype(np.float64) @ gallery.vectors.T
        same = query.labels[:, None] == gallery.labels
        real = np.ones_like(same)
        real[np.flatnonzero(own >= 0), own[own >= 0]] = False
        let = (similarities.astype(np.float32) >= np.float32(at)) & real
        far = (let & ~same).sum() / (real & ~same).sum()
        frr = 1 - (let & same).sum() / (real & same).sum()
        has = (real & same).any(1)
        return far, frr, 1 - (let & ~same).any(1).mean(), (let & same).any(1)[has].mean()

    self_index = np.arange(len(query)) if own_gallery else np.full(len(query), -1)
    reach = PairRates(class_reach(query, gallery, "cosine", self_index, at))
    everything = np.ones(len(query), bool)
    own = (query.vectors @ gallery.vectors.T >= at) & (query.labels[:, None] == gallery.labels)
    if own_gallery:
        np.fill_diagonal(own, False)
    counted = (
        reach.false_accepts(),
        reach.false_rejects(),
        reach.strangers(everything),
        reach.known(own.any(1), everything),
    )
    assert [one.value for one in counted] == pytest.approx(found(query, gallery))
    for label in range(6):
        plain = found(without(query, label), without(gallery, label))
        assert [one.without[label] for one in counted] == pytest.approx(plain)


def test_precision_keeps_the_mix_of_pairs():
    images = draw(np.random.default_rng(4), np.full(12, 5))
    pairs = threshold.compare(images)
    found = PairRates(class_reach(images, images, "cosine", np.arange(60), 0.6))
    far, frr, precision = found.false_accepts(), found.false_rejects(), found.precision()
    right, wrong = (1 - frr.value) * 12 * 20, far.value * (60 * 59 - 12 * 20)
    assert precision.value == pytest.approx(right / (right + wrong))
    right, wrong = (1 - frr.without) * 12 * 20, far.without * (60 * 59 - 12 * 20)
    assert precision.without == pytest.approx(right / (right + wrong))
    assert pairs.rates(pairs.column(0.6))["precision"].value == pytest.approx(
        precision.value, abs=0.01
    )


def test_pairs_of_classes_are_summed_as_a_plain_loop_sums_them():
    images = draw(np.random.default_rng(5), [4, 3, 6, 2, 5])
    found = PairRates(class_reach(images, images, "cosine", np.arange(20), 0.5)).false_accepts()
    let = images.vectors @ images.vectors.T >= 0.5
    total = 0.0
    for a in range(5):
        for b in range(a):
            between = let[np.ix_(images.labels == a, images.labels == b)]
            total += (2 * (between.sum() - found.value * between.size)) ** 2
    whole = sum(len(images) - (images.labels == label).sum() for label in images.labels)
    assert found.too_much == pytest.approx(TAKEN_AWAY * total / whole**2)


def sizes_of(kind, chance, count):
    if kind == "equal":
        return np.full(count, 8)
    return np.maximum(2, np.round(8 * np.exp(chance.normal(size=count) - 0.5))).astype(int)


@pytest.mark.parametrize("kind", ["equal", "log-normal"])
@pytest.mark.parametrize("count", [20, 60])
def test_intervals_hold_what_other_classes_give(kind, count):
    """95 % is promised. Of 150 draws, two standard errors are 3.6 %; docs/threshold.md has the long table."""
    chance = np.random.default_rng(count)
    many = draw(chance, np.full(4_000, 2))
    first, second = many.vectors[::2], many.vectors[1::2]
    same = (first * second).sum(1)
    other = np.sort((first[:2_000] @ second[2_000:].T).ravel())
    held, chosen_held, told = [], [], 0
    for _ in range(150):
        pairs = threshold.compare(draw(chance, sizes_of(kind, chance, count)))
        column, chosen = pairs.column(other[-len(other) // 50]), pairs.let_through(0.02)
        for at, into in ((column, held), (chosen, chosen_held)):
            value, found = pairs.counts.thresholds[at], pairs.rates(at)
            truth = {
                "false accepts": (other >= value).mean(),
                "false rejects": (same < value).mean(),
            }
            for name, true in truth.items():
                if not np.isnan(found[name].low):
                    into.append(found[name].low <= true <= found[name].high)
            told += not np.isnan(found["false accepts"].low)
    assert np.mean(held) >= 0.91 and np.mean(chosen_held) >= 0.91
    assert told > 60, "so that it is not by silence"


def test_of_few_classes_nothing_is_told():
    for count in (FEWEST - 1, FEWEST):
        hits = np.arange(1, count + 1)
        found = rate(Jackknife.of_sums(hits.sum(), 20.0 * count, hits, np.full(int(count), 20.0)))
        assert np.isnan(found.low) == np.isnan(found.high) == (count < FEWEST)
    weights = np.array([1_000.0] + [10.0] * 40)  # one class has most of it
    assert effective(weights) < 2 and np.isnan(
        rate(Jackknife.of_sums(700.0, 1_400.0, weights / 2, weights)).low
    )


def test_a_precision_of_few_pairs_says_little():
    """Twenty classes at right angles; two images of different classes are alike, and nothing else is."""
    vectors = np.eye(40, dtype=np.float32)
    vectors[2] = vectors[0]
    images = EmbeddingSet(vectors, np.arange(40) // 2, np.arange(40))
    found = rate(PairRates(class_reach(images, images, "cosine", np.arange(40), 0.9)).precision())
    assert (found.value, found.low) == (0, 0) and found.high > 0.8


def test_what_never_happened_can_happen_in_another_class():
    sizes = np.full(20, 10.0)
    none = rate(Jackknife.of_sums(0.0, 200.0, 0 * sizes, sizes))
    assert (none.low, none.high) == (0, pytest.approx(1 - 0.025 ** (1 / 20)))
    always = rate(Jackknife.of_sums(200.0, 200.0, sizes, sizes))
    assert (always.low, always.high) == (pytest.approx(0.025 ** (1 / 20)), 1)
    pairs = rate(Jackknife.of_sums(0.0, 200.0, 0 * sizes, sizes, 0.0))
    assert pairs.high == pytest.approx(1 - 0.025 ** (1 / 10)), "a pair takes two classes"
    one = rate(Jackknife.of_sums(5.0, 200.0, 5.0 * (np.arange(20) == 3), sizes))
    assert one.low == 0 and none.high < one.high < 0.5
    # without any class there would be some
    zero = rate(Jackknife(0.0, np.full(20, 0.1), sizes, 0.0, 10.0))
    assert zero.low == 0 and zero.high == pairs.high
