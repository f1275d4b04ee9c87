"""The gap by plain loops, and the bounds against every interleaving of perfectly ranked batches."""

from contextlib import contextmanager
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lab import metrics
from lab.metrics import decomposability_gap
from lab.metrics.decomposability_gap import (
    BatchCounts,
    batches,
    bound_8,
    bound_9,
    largest_bound_8,
    largest_bound_9,
)


def average_precision(similarity, positive):
    order = np.argsort(-similarity, kind="stable")
    hits = positive[order]
    return (np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits].mean() if hits.any() else np.nan


@pytest.mark.parametrize("batch_size", [5, 16, 60])
def test_gap_by_loops(batch_size, make_random):
    evidence = make_random(n=60, classes=6, seed=4)
    vectors, labels = evidence.query.vectors, evidence.query.labels
    members = batches(60, batch_size, seed=3)
    found = metrics.create("decomposability_gap", batch_size=batch_size, seed=3)(
        evidence
    ).per_query["DG"]
    similarity = vectors @ vectors.T
    for i in range(60):
        others = np.arange(60) != i
        whole = average_precision(similarity[i][others], labels[others] == labels[i])
        parts = []
        for batch in members:
            inside = batch[(batch >= 0) & (batch != i)]
            parts.append(average_precision(similarity[i][inside], labels[inside] == labels[i]))
        assert found[i] == pytest.approx(np.nanmean(parts) - whole, abs=1e-6)


def counts_of(positives, negatives, high_positives=None, high_negatives=None):
    rows = [
        np.array([row])
        for row in (positives, negatives, high_positives or positives, high_negatives or negatives)
    ]
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


@settings(max_examples=40)
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
    worst = 1 - lowest_precision(tuple(positives), tuple(negatives))
    with every_way_of_looking() as ways:
        for way in ways:
            assert largest_bound_8(counts)[0] == pytest.approx(worst), way


@contextmanager
def every_way_of_looking():
    """By all orders of the batches, and by each positive, which is meant for many batches."""
    with pytest.MonkeyPatch.context() as patch:

        def ways():
            for most in (decomposability_gap.ORDERED, 0):
                patch.setattr(decomposability_gap, "ORDERED", most)
                yield f"at most {most} batches by orders"

        yield ways()


def batches_ranked_perfectly():
    """Two to five batches of scores for one query, of any sizes, all positives of a batch above its negatives."""
    scores = st.lists(st.integers(0, 20), max_size=5)
    batch = st.tuples(scores, scores).map(
        lambda b: ([p + max(b[1], default=-1) + 1 for p in b[0]], b[1])
    )
    return st.lists(batch, min_size=2, max_size=5)


@settings(max_examples=300)
@given(batches_ranked_perfectly(), st.integers(0, 40), st.integers(0, 40))
def test_no_gap_of_perfect_batches_exceeds_what_is_called_a_bound(lists, one, other):
    assume(any(positives for positives, _ in lists))
    beta, alpha = sorted((one, other))
    assume(beta < alpha)
    counts = BatchCounts(
        *(
            np.array([[measure(*batch) for batch in lists]])
            for measure in (
                lambda p, n: len(p),
                lambda p, n: len(n),
                lambda p, n: 1.0 if p else np.nan,
                lambda p, n: sum(s >= alpha for s in p),
                lambda p, n: sum(s > beta for s in n),
            )
        )
    )
    positives = [s for p, _ in lists for s in p]
    negatives = [s for _, n in lists for s in n]
    ahead = [(sum(t >= s for t in positives), sum(t >= s for t in negatives)) for s in positives]
    gap = 1 - np.mean([p / (p + n) for p, n in ahead])
    with every_way_of_looking() as ways:
        for way in ways:
            assert gap <= largest_bound_8(counts)[0] + 1e-12, way
            assert gap <= largest_bound_9(counts)[0] + 1e-12, way
