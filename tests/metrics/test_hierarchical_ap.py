"""AP at every level, against a plain loop and against mAP at the fine level."""

from dataclasses import replace

import numpy as np
import pytest

from lab import metrics, search
from lab.core.results import EmbeddingSet, Evidence
from lab.metrics import hierarchical_ap


def loop(
    scores: np.ndarray, query: np.ndarray, gallery: np.ndarray, own: np.ndarray
) -> list[float]:
    found = []
    for i, row in enumerate(scores):
        order = [j for j in np.argsort(-row, kind="stable") if j != own[i]]
        hits, precisions = 0, []
        for rank, j in enumerate(order, 1):
            if gallery[j] == query[i]:
                hits += 1
                precisions.append(hits / rank)
        found.append(float(np.mean(precisions)) if precisions else float("nan"))
    return found


@pytest.mark.parametrize("similarity", ["cosine", "euclidean"])
@pytest.mark.parametrize("cells", [2**23, 100])
def test_every_level_against_a_plain_loop(make_random, monkeypatch, similarity, cells):
    monkeypatch.setattr(hierarchical_ap, "CELLS", cells)
    seen = make_random(n=40, classes=9)
    vectors = seen.query.vectors * (
        1 if similarity == "cosine" else np.linspace(0.5, 2, 40, dtype=np.float32)[:, None]
    )
    query = replace(seen.query, vectors=vectors)
    coarse = query.labels % 3
    coarse[5] = 99  # alone at its level
    evidence = replace(
        seen, query=query, gallery=query, similarity=similarity, levels={"coarse": (coarse, coarse)}
    )
    found = metrics.create("hierarchical_ap")(evidence)
    exact = vectors.astype(np.float64)
    scores = (
        exact @ exact.T
        if similarity == "cosine"
        else -np.square(exact[:, None] - exact[None]).sum(2)
    )
    own = np.arange(40)
    assert found.per_query["AP-fine"] == pytest.approx(
        loop(scores, query.labels, query.labels, own), nan_ok=True
    )
    assert found.per_query["AP-coarse"] == pytest.approx(
        loop(scores, coarse, coarse, own), nan_ok=True
    )
    assert np.isnan(found.per_query["AP-coarse"][5]) and not np.isnan(found.values["AP-coarse"])


def test_fine_is_the_map_of_the_whole_ranking():
    """Also where lengths differ and many items are equally similar."""
    random = np.random.default_rng(0)
    images = EmbeddingSet(
        random.integers(1, 5, (80, 3)).astype(np.float32), random.integers(0, 9, 80), np.arange(80)
    )
    seen = Evidence(
        search.create("exact").build(images).rank(images, same_source=True), images, images
    )
    whole = metrics.create("mean_average_precision")(seen).values["mAP"]
    assert metrics.create("hierarchical_ap")(seen).values == {
        "AP-fine": pytest.approx(whole, abs=1e-12)
    }
