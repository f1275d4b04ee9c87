"""The journal of a run as curves."""

from __future__ import annotations

import json

import pytest

from lab.core.arrays import read as tensors
from lab.core.results import EmbeddingSet, Evidence
from lab.report import curves as run_curves


def test_the_gap_is_the_metric_of_each_frame(train_tiny, tmp_path):
    import lab.metrics
    import lab.search

    run = train_tiny(tmp_path, "recall")
    curves = run_curves.gaps(run)
    assert len(run.frames()) == 3 and curves
    for at, path in enumerate(run.frames().values()):
        arrays = tensors(path)
        embedded = EmbeddingSet(arrays["vectors"], arrays["labels"], arrays["items"])
        ranking = lab.search.create("exact", k=1).build(embedded).rank(embedded, same_source=True)
        expected = lab.metrics.create("decomposability_gap")(
            Evidence(ranking, embedded, embedded)
        ).values
        assert set(run_curves.GAP_WORDS) == set(expected), "each quantity has its words"
        named = {run_curves.GAP_WORDS.get(name, name): value for name, value in expected.items()}
        assert {name: values[at] for name, (_, values) in curves.items()} == pytest.approx(named)


def step(number: int, **values) -> str:
    return (
        json.dumps({"kind": "stepped", "step": number, "loss": 1 / number, "lr": 0.1, **values})
        + "\n"
    )
