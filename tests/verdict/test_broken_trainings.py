"""A few trainings that are broken on purpose, and one that is not.

`scripts/studies/verdict_trials.py` tries 22 ways.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import lab.runs
from lab.__main__ import main
from lab.report.curves import verdict as of_journal

HEALTHY = {
    "training": {"steps": 24, "validate_every": 8, "keep_frames": 0}, "optimiser": {"name": "adamw", "lr": 0.003},
    "loss": {"name": "smooth_ap", "tau": 0.05},
}  # fmt: skip
BROKEN = {
    "rate too high": {"optimiser": {"name": "adamw", "lr": 1.0}},
    "rate too low": {"optimiser": {"name": "adamw", "lr": 1e-8}},
    "no positives": {"sampler": {"name": "m_per_class", "batch_size": 4, "per_class": 1}},
    "out of the temperature's reach": {
        "loss": {"name": "smooth_ap", "tau": 1e-4},
        "sampler": {"name": "m_per_class", "batch_size": 12, "per_class": 2},
    },
    "temperature too wide": {"loss": {"name": "normalized_softmax", "temperature": 100.0}},
    "a batch that cannot teach": {
        "sampler": {"name": "m_per_class", "batch_size": 4, "per_class": 4}
    },
}


@pytest.fixture
def broken(tiny, tmp_path):
    def train(name: str, **changes) -> lab.runs.Run:
        sections = {**tiny, **HEALTHY, **changes}
        sections["training"] = {**tiny["training"], **HEALTHY["training"]}
        run = lab.runs.create(lab.runs.RunConfig.of(sections), tmp_path, name)
        for _ in lab.runs.execute(run):
            pass
        return run

    return train


@pytest.mark.parametrize("cause", BROKEN)
@pytest.mark.filterwarnings("ignore:.*no two examples")
def test_the_cause_is_named_first(cause, broken):
    run = broken("broken", **BROKEN[cause])
    found = lab.verdict.diagnose(run)
    assert found[0].name == cause, [one.name for one in found]
    assert [one.name for one in of_journal(run)] == [one.name for one in found]


def test_nothing_is_wrong_with_a_healthy_training(broken, capsys):
    run = broken("healthy")
    assert [one.name for one in lab.verdict.diagnose(run) if not one.note] == []
    assert {one["about"] for one in run.metrics("checkup")} == {
        "data",
        "untrained",
        "pixels",
        "batch",
        "validation",
    }
    assert main(["runs", "verdict", str(run.path), "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == ["healthy"]


def test_checkups_change_nothing_of_a_training(tiny, tmp_path, monkeypatch):
    from lab.training.checkups import Checkups

    losses = []
    for name in ("with", "without"):
        run = lab.runs.create(lab.runs.RunConfig.of(tiny), tmp_path, name)
        list(lab.runs.execute(run))
        losses.append([one["loss"] for one in run.metrics("stepped")])
        monkeypatch.setattr(Checkups, "due", lambda self, step: False)
        monkeypatch.setattr(Checkups, "before", lambda self, untrained: iter(()))
    assert losses[0] == losses[1] and run.metrics("checkup")[0]["about"] != "batch"


def test_watching_and_reports_say_what_is_wrong(broken, capsys, tmp_path):
    import lab.report
    from lab.report import page

    run = broken("fast", **BROKEN["rate too high"])
    assert main(["runs", "watch", str(run.path)]) == 0
    assert "rate too high: A step changes the weights by" in capsys.readouterr().err
    table = lab.report.report([run], split="validation")
    assert any("rate too high" in note for note in table.notes)
    assert "rate too high" in page.render([run], table) and "optimiser.lr" in page.render(
        [run], table
    )


def test_a_loop_of_ones_own_is_told(tmp_path):
    told, labels = [], ["a", "b", "c", "d"] * 6
    vectors = np.random.default_rng(0).normal(size=(24, 4))
    with lab.runs.record(
        "own", runs=tmp_path, rank=0, normalise=True, on_finding=told.append
    ) as run:
        run.embeddings(0, vectors, labels, measure=False)
        for step in (16, 20):
            run.log(step, loss=0.2)
            run.embeddings(step, np.ones((24, 4)) + 1e-4 * vectors, labels, measure=False)
            run.batch(np.ones((24, 4)) + 1e-4 * vectors, [0, 1, 2, 3] * 6, range(24), loss=0.2)
        assert run.verdict()[0].name == "collapsed"
    assert [one.name for one in told if not one.note] == ["collapsed"]
