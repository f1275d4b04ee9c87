"""Stored vectors: libraries' and a naive float64 transcription's values of every ranking metric."""

from pathlib import Path

import numpy as np
import pytest

from lab import metrics, search
from lab.core.results import EmbeddingSet, Evidence

FILES = sorted((Path(__file__).parents[1] / "golden" / "metrics").glob("*.npz"))


def evidence(file):
    stored = np.load(file)
    query = EmbeddingSet(stored["query"], stored["query_labels"], np.arange(len(stored["query"])))
    gallery = EmbeddingSet(
        stored["reference"], stored["reference_labels"], np.arange(len(stored["reference"]))
    )
    ranking = search.create("exact", k=16).build(gallery).rank(query, bool(stored["same_source"]))
    return stored, Evidence(ranking, query, gallery)


def test_there_are_golden_files():
    assert len(FILES) == 7


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_ranking_metrics(file):
    stored, given = evidence(file)
    ks = tuple(int(k) for k in stored["ks"])
    hits = metrics.create("hit_rate_at_k", k=ks)(given)
    recall = metrics.create("recall_at_k", k=ks)(given)
    for k in ks:
        assert hits.values[f"r@{k}"] == pytest.approx(
            stored[f"naive_hit_at_{k}_nonlone"], rel=1e-12
        )
        assert recall.values[f"recall@{k}"] == pytest.approx(
            stored[f"naive_recall_eq1_at_{k}"], rel=1e-12
        )
        every_query = np.nan_to_num(hits.per_query[f"r@{k}"]).mean()
        assert every_query == pytest.approx(stored[f"naive_hit_at_{k}_all_queries"], rel=1e-12)
    assert hits.excluded == stored["naive_lone"].sum()
    for name, column, key in (
        ("r_precision", "R-precision", "r_precision"),
        ("map_at_r", "MAP@R", "map_at_r"),
        ("mean_average_precision", "mAP", "ap"),
    ):
        found = metrics.create(name)(given)
        lone = stored["naive_lone"]
        assert found.values[column] == pytest.approx(
            stored[f"naive_{key}".replace("_ap", "_map")], rel=1e-12
        )
        np.testing.assert_allclose(
            found.per_query[column][~lone], stored[f"naive_per_query_{key}"][~lone], rtol=1e-12
        )
        assert np.isnan(found.per_query[column][lone]).all()
    trapezoid = metrics.create("revisited_map")(given).values["mAP-M"]
    assert trapezoid == pytest.approx(stored["naive_map_trapezoid_revisited"], rel=1e-12)


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_clusters(file):
    stored = np.load(file)
    labels, found = stored["query_labels"], stored["cluster_labels"]
    assert metrics.create("nmi").score(labels, found) == pytest.approx(
        stored["nmi_arithmetic"], rel=1e-9
    )
    assert metrics.create("nmi").score(labels, found) == pytest.approx(stored["pml_NMI"], rel=1e-9)
    assert metrics.create("ami").score(labels, found) == pytest.approx(
        stored["pml_AMI"], rel=1e-9, abs=1e-12
    )
