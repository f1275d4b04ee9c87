"""Rankings built by the dumbest means: a full stable sort in float64."""

import numpy as np
import pytest

from lab.core.results import EmbeddingSet, Evidence, Ranking


def plain_ranking(
    query, gallery, query_labels, gallery_labels, self_index=None, grades=None, relevant=None
):
    """A `Ranking` by sorting everything; `relevant` overrides equality of labels, as one list a query."""
    similarity = np.asarray(query, np.float64) @ np.asarray(gallery, np.float64).T
    self_index = np.full(len(query), -1) if self_index is None else self_index
    neighbours, positives, ranks, offsets = [], [], [], [0]
    for i in range(len(query)):
        order = [j for j in np.argsort(-similarity[i], kind="stable") if j != self_index[i]]
        mine = [
            j
            for j in order
            if (gallery_labels[j] == query_labels[i] if relevant is None else j in relevant[i])
        ]
        neighbours.append(order + [-1] * (len(gallery) - len(order)))
        positives += mine
        ranks += [order.index(j) + 1 for j in mine]
        offsets.append(len(positives))
    neighbours = np.array(neighbours)
    scores = np.where(
        neighbours >= 0, np.take_along_axis(similarity, neighbours, 1), np.nan
    ).astype(np.float32)
    size = len(gallery) - (self_index >= 0)
    return Ranking(
        neighbours, scores, np.asarray(query_labels), np.asarray(gallery_labels), self_index, np.array(offsets),
        np.array(positives, np.int64), np.array(ranks, np.int64), size, np.full(len(query), len(gallery)),
        None if grades is None else np.array([grades[j] for j in positives], np.int8),
    )  # fmt: skip


def evidence_of(query, query_labels, gallery=None, gallery_labels=None, **more):
    same = gallery is None
    gallery, gallery_labels = (query, query_labels) if same else (gallery, gallery_labels)
    own = np.arange(len(query)) if same else None
    queries = EmbeddingSet(query, np.asarray(query_labels), np.arange(len(query)))
    items = (
        queries
        if same
        else EmbeddingSet(gallery, np.asarray(gallery_labels), np.arange(len(gallery)))
    )
    return Evidence(
        plain_ranking(query, gallery, query_labels, gallery_labels, own), queries, items, **more
    )


def random_evidence(n=60, d=6, classes=9, seed=0, **more):
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n, d))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return evidence_of(vectors.astype(np.float32), rng.integers(0, classes, n), **more)


@pytest.fixture(scope="session")
def make_evidence():
    return evidence_of


@pytest.fixture(scope="session")
def make_ranking():
    return plain_ranking


@pytest.fixture(scope="session")
def make_random():
    return random_evidence
