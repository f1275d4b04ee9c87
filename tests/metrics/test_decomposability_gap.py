"""The gap by plain loops, and the bounds against every interleaving of perfectly ranked batches."""

from functools import lru_cache
from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lab import metrics
from lab.metrics.decomposability_gap import BatchCounts, batch_counts, batches, bound_8, bound_9


def average_precision(similarity, positive):
    order = np.argsort(-similarity, kind="stable")
    hits = positive[order]
    return (np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits].mean() if hits.any() else np.nan


@pytest.mark.parametrize("batch_size", [5, 16, 60])
def test_gap_by_loops(batch_size, make_random):
    evidence = make_random(n=60, classes=6, seed=4)
    vectors, labels = evidence.query.vectors, evidence.query.labels
    members = batches(60, batch_size, seed=3)
    found = metrics.create("decomposability_gap", batch_size=batch_size, seed=3)(evidence).per_query["DG"]
    similarity = vectors @ vectors.T
    for i in range(60):
        others = np.arange(60) != i
        whole = average_precision(similarity[i][others], labels[others] == labels[i])
        parts = []
        for batch in members:
            inside = batch[(batch >= 0) & (batch != i)]
            parts.append(average_precision(similarity[i][inside], labels[inside] == labels[i]))
        assert found[i] == pytest.approx(np.nanmean(parts) - whole, abs=1e-6)


def test_one_batch_has_no_gap(make_random):
    found = metrics.create("decomposability_gap", batch_size=60)(make_random(n=60))
    assert found.values["DG"] == pytest.approx(0, abs=1e-12)


def test_counts_by_loops(make_random):
    evidence = make_random(n=40, classes=5, seed=6)
    vectors, labels = evidence.query.vectors, evidence.query.labels
    members = batches(40, 16, seed=0)
    counts = batch_counts(vectors, vectors, evidence.ranking, members, alpha=0.5, beta=0.2)
    similarity = vectors @ vectors.T
    for i in range(40):
        for b, batch in enumerate(members):
            inside = batch[(batch >= 0) & (batch != i)]
            positive, near = labels[inside] == labels[i], similarity[i][inside]
            assert counts.positives[i, b] == positive.sum()
            assert counts.negatives[i, b] == (~positive).sum()
            assert counts.high_positives[i, b] == (near[positive] >= 0.5).sum()
            assert counts.high_negatives[i, b] == (near[~positive] > 0.2).sum()


def counts_of(positives, negatives, high_positives=None, high_negatives=None):
    rows = [np.array([row]) for row in (positives, negatives, high_positives or positives, high_negatives or negatives)]
    return BatchCounts(rows[0], rows[1], np.ones((1, len(positives))), rows[2], rows[3])


def test_bounds_by_hand():
    # Batch 1: one positive, three negatives; batch 2: two positives. Juxtaposed: + - - - + +
    counts = counts_of([1, 2], [3, 0], high_positives=[1, 1], high_negatives=[1, 0])
    assert bound_8(counts)[0] == pytest.approx(1 - (1 + 2 / 5 + 3 / 6) / 3)
    # Eq. 9: the calibrated positive of batch 2 follows only the one high negative: + - + and then, last of all, +.
    assert bound_9(counts)[0] == pytest.approx(1 - (1 + 2 / 3 + 3 / 6) / 3)


def lowest_precision(positives, negatives):
    """Least average precision of any interleaving that keeps each batch perfectly ranked, by dynamic programming."""

    @lru_cache(None)
    def rest(taken):
        above = sum(min(t, p) for t, p in zip(taken, positives, strict=True))
        between = sum(taken) - above
        options = []
        for b, (t, p, n) in enumerate(zip(taken, positives, negatives, strict=True)):
            if t < p + n:
                gain = (above + 1) / (above + 1 + between) if t < p else 0
                options.append(gain + rest((*taken[:b], t + 1, *taken[b + 1 :])))
        return min(options, default=0)

    return rest((0,) * len(positives)) / sum(positives)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 5).flatmap(
        lambda size: st.lists(st.integers(0, size), min_size=2, max_size=3).map(lambda p: (size, p))
    )
)
def test_bound_8_is_the_worst_case_over_all_interleavings(case):
    size, positives = case
    assume(sum(positives))
    negatives = [size - p for p in positives]
    counts = counts_of(positives, negatives)
    worst = bound_8(counts.worst_first())[0]
    assert worst == pytest.approx(1 - lowest_precision(tuple(positives), tuple(negatives)))
    for order in permutations(range(len(positives))):
        numbered = counts_of([positives[b] for b in order], [negatives[b] for b in order])
        assert bound_8(numbered)[0] <= worst + 1e-12


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 4)] * 4), min_size=1, max_size=4))
def test_bound_9_meets_bound_8_without_calibration_and_vanishes_with_it(cells):
    positives, negatives = [max(p, h) for p, _, h, _ in cells], [max(n, h) for _, n, _, h in cells]
    assume(sum(positives))
    high = [h for _, _, h, _ in cells], [h for *_, h in cells]
    calibrated = counts_of(positives, negatives, *map(list, high))
    nothing_calibrated = BatchCounts(
        calibrated.positives, calibrated.negatives, calibrated.precision, 0 * calibrated.positives, calibrated.negatives
    )
    assert bound_9(nothing_calibrated)[0] == pytest.approx(bound_8(calibrated)[0])
    all_calibrated = BatchCounts(
        calibrated.positives, calibrated.negatives, calibrated.precision, calibrated.positives, 0 * calibrated.negatives
    )
    assert bound_9(all_calibrated)[0] == pytest.approx(0)


def test_the_gap_keeps_below_the_bound_where_the_premise_holds(make_random):
    held = 0
    for seed in range(4):
        evidence = make_random(n=48, d=3, classes=30, seed=seed)
        found = metrics.create("decomposability_gap", batch_size=6, seed=seed)(evidence).per_query
        holds = found["DG premise"] == 1
        held += holds.sum()
        assert (found["DG"][holds] <= found["DG bound (eq. 8)"][holds] + 1e-9).all()
        assert (found["DG"][holds] >= -1e-9).all()
    assert held > 5


def test_beta_above_alpha_is_refused():
    with pytest.raises(ValueError, match="beta must be at most alpha"):
        metrics.create("decomposability_gap", alpha=0.2, beta=0.6)
