"""The journal of a run as curves."""

from __future__ import annotations

import json

import pytest

from lab.core.arrays import read as tensors
from lab.core.results import EmbeddingSet, Evidence
from lab.report import curves as run_curves
from lab.report.curves import Journal


def test_the_gap_is_the_metric_of_each_frame(train_tiny, tmp_path):
    import lab.metrics
    import lab.search

    run = train_tiny(tmp_path, "recall")
    curves = run_curves.gaps(run)
    assert len(run.frames()) == 2 and curves
    for at, path in enumerate(run.frames().values()):
        arrays = tensors(path)
        embedded = EmbeddingSet(arrays["vectors"], arrays["labels"], arrays["items"])
        ranking = lab.search.create("exact", k=1).build(embedded).rank(embedded, same_source=True)
        expected = lab.metrics.create("decomposability_gap")(Evidence(ranking, embedded, embedded)).values
        assert set(run_curves.GAP_WORDS) == set(expected), "each quantity has its words"
        named = {run_curves.GAP_WORDS.get(name, name): value for name, value in expected.items()}
        assert {name: values[at] for name, (_, values) in curves.items()} == pytest.approx(named)


def step(number: int, **values) -> str:
    return json.dumps({"kind": "stepped", "step": number, "loss": 1 / number, "lr": 0.1, **values}) + "\n"


def test_the_journal_reads_on_and_leaves_a_torn_line_for_later(tmp_path):
    file = tmp_path / "metrics.jsonl"
    assert Journal(file).read_on().names == []
    file.write_text(step(1, spent={"encoder": 2.0, "loss": 0.5}) + step(2)[:10])
    kept = Journal(file).read_on()
    assert kept.steps == [1]
    with open(file, "a") as more:
        more.write(step(2, gradient_norm=4.0, spent={"encoder": 2.0})[10:] + step(3))
    assert kept.read_on().steps == [1, 2, 3] and kept.spent == {"encoder": 4.0, "loss": 0.5}
    assert kept.curve("loss") == ([1, 2, 3], [1.0, 0.5, pytest.approx(1 / 3)])
    assert kept.curve("gradient_norm") == ([1, 2, 3], [None, 4.0, None])
    (tmp_path / "new").write_text("".join(step(n) for n in range(1, 10_001)))
    (tmp_path / "new").replace(file)
    steps, values = kept.read_on().curve("loss")
    assert len(steps) < 2_000 and steps[0] == 1 and steps[-1] == 10_000, "it began anew, and long curves are thinned"
    assert values == [pytest.approx(1 / n) for n in steps]
