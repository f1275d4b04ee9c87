"""Bounds against metrics and the decomposability gap, against loops and brute force."""

import itertools

import numpy as np
import pytest
import torch
from torch import nn

from lab.inspect import (
    average_precision,
    decomposability,
    gap_bound,
    metric_bound,
    refined_gap_bound,
)
from lab.inspect.against_metrics import exact
from lab.surrogates import HMinus, LinearTail, Sigmoid


class SoftAP(nn.Module):
    """1 - AP with a surrogate for the step among negatives, by plain loops: the shape of 001, eq. 5."""

    def __init__(self, step):
        super().__init__()
        self.step = step

    def per_query(self, embeddings, labels):
        s = embeddings @ embeddings.T
        values = []
        for q in range(len(labels)):
            positives = [k for k in range(len(labels)) if labels[k] == labels[q] and k != q]
            negatives = [k for k in range(len(labels)) if labels[k] != labels[q]]
            terms = []
            for k in positives:
                plus = 1 + sum((s[q, j] >= s[q, k]).double() for j in positives if j != k)
                minus = self.step.value(torch.stack([s[q, j] - s[q, k] for j in negatives])).sum()
                terms.append(plus / (plus + minus))
            values.append(
                1 - torch.stack(terms).mean() if terms else torch.tensor(torch.nan, dtype=s.dtype)
            )
        return torch.stack(values)

    def forward(self, embeddings, labels):
        return self.per_query(embeddings, labels).nanmean()


TIED = torch.nn.functional.normalize(
    torch.tensor(
        [[1.0, 0, 0], [0.6, 0.8, 0], [0.6, 0, 0.8], [-1, 0.1, 0], [-0.9, 0.2, 0.1], [-0.9, 0.3, 0]]
    ),
    dim=1,
).double()
TIED_LABELS = torch.tensor([0, 0, 1, 1, 2, 2])


def ap_by_loop(scores, relevant):
    total = []
    for k in np.flatnonzero(relevant):
        plus = 1 + sum(scores[j] >= scores[k] for j in np.flatnonzero(relevant) if j != k)
        minus = sum(scores[j] >= scores[k] for j in np.flatnonzero(~relevant))
        total.append(plus / (plus + minus))
    return np.mean(total)


@pytest.mark.parametrize("include_self", [False, True])
def test_exact_metrics_equal_loops(make, include_self):
    vectors, labels = make(spread=2.0)
    vectors[3] = vectors[9]
    s, y = (vectors @ vectors.T).numpy(), labels.numpy()
    found = exact.average_precision(s, y, include_self)
    recall = exact.recall_at_k(s, y, 4, include_self)
    for q in range(len(y)):
        ranked = np.ones(len(y), dtype=bool)
        ranked[q] = include_self
        relevant = y == y[q]
        assert found[q] == pytest.approx(ap_by_loop(s[q, ranked], relevant[ranked]))
        positives = [k for k in np.flatnonzero(relevant) if k != q]
        ranks = [
            1 + sum(s[q, z] >= s[q, k] for z in np.flatnonzero(ranked) if z != k) for k in positives
        ]
        assert recall[q] == pytest.approx(
            min(4, sum(r <= 4 for r in ranks)) / min(4, len(positives))
        )


def test_bound_badges(make):
    vectors, labels = make(spread=2.0)
    assert metric_bound(SoftAP(LinearTail()), vectors, labels).badge == "holds"
    assert metric_bound(SoftAP(HMinus()), vectors, labels).badge == "holds"
    broken = metric_bound(SoftAP(Sigmoid(0.5)), vectors, labels)
    assert broken.badge == "fails" and len(broken.failing)
    frame = broken.to_frame().set_index("query")
    assert (frame.loc[broken.failing, "slack"] < 0).all()
    assert frame.loc[broken.failing, "slack"].is_monotonic_increasing


def test_h_minus_fails_exactly_at_ties_and_the_linear_tail_does_not():
    found = metric_bound(SoftAP(HMinus()), TIED, TIED_LABELS)
    assert found.badge == "fails at ties"
    assert found.tied[0] and 0 in found.failing
    assert "tied" in found.summary
    assert metric_bound(SoftAP(LinearTail()), TIED, TIED_LABELS).badge == "holds"


def juxtaposed(positives, negatives):
    relevant = np.concatenate(
        [[True] * p + [False] * n for p, n in zip(positives, negatives, strict=True)]
    )
    return average_precision(-np.arange(len(relevant)), relevant)


def test_bound_of_equation_8_is_the_ap_of_the_batches_behind_one_another():
    generator = np.random.default_rng(0)
    for _ in range(50):
        p, n = generator.integers(0, 5, 4), generator.integers(0, 6, 4)
        if p.sum():
            assert gap_bound(p, n) == pytest.approx(1 - juxtaposed(p, n))
    assert np.isnan(gap_bound([0, 0], [1, 2]))


def test_refined_bound_holds_and_is_usually_but_not_always_tighter():
    generator = np.random.default_rng(1)
    alpha, beta = 0.7, 0.4
    tighter, looser = 0, 0
    for _ in range(300):
        lists = []
        for _ in range(3):
            scores = np.sort(generator.uniform(0, 1, 6))[::-1] ** generator.uniform(0.3, 1.5)
            lists.append((scores, np.arange(6) < 2))
        whole = average_precision(*(np.concatenate(x) for x in zip(*lists, strict=True)))
        counts = [
            np.array([f(s, r).sum() for s, r in lists])
            for f in (
                lambda s, r: r & (s >= alpha), lambda s, r: r & (s < alpha), lambda s, r: ~r & (s > beta),
                lambda s, r: ~r,
            )
        ]  # fmt: skip
        refined = max(
            refined_gap_bound(*(c[list(order)] for c in counts))
            for order in itertools.permutations(range(3))
        )
        plain = gap_bound([2, 2, 2], [4, 4, 4])
        assert 1 - whole <= min(refined, plain) + 1e-12
        tighter += refined < plain - 1e-9
        looser += refined > plain + 1e-9
    assert tighter > looser > 0
    assert refined_gap_bound([2, 2], [0, 0], [0, 0], [4, 4]) == 0


def test_gap_equals_a_brute_force_computation(make):
    vectors, labels = make(spread=2.0, n=24)
    found = decomposability(vectors, labels, batch_sizes=(6, 24), splits=2, seed=5)
    s, y = (vectors @ vectors.T).numpy(), labels.numpy()
    generator = np.random.default_rng(5)
    split = generator.permutation(24)
    batch_of = np.empty(24, dtype=int)
    batch_of[split] = np.arange(24) // 6
    means, whole = [], []
    for q in range(24):
        others = np.arange(24) != q
        whole.append(average_precision(s[q, others], (y == y[q])[others]))
        each = [
            average_precision(s[q, m], (y == y[q])[m])
            for b in range(4)
            for m in [others & (batch_of == b)]
        ]
        means.append(np.nanmean(each))
    assert found.batch_ap[0, 0] == pytest.approx(np.mean(means))
    assert found.global_ap == pytest.approx(np.mean(whole))
    assert found.gap[0, 0] == pytest.approx(np.mean(means) - np.mean(whole))
    assert np.allclose(found.gap[1], 0), "one batch of everything has no gap"
    assert found.gap[0].mean() > 0.05
