"""The demo's two trainings at once; tests/install/test_distribution.py runs all of it, a short one."""

import os

import pytest

import lab.runs
from lab.cli import demo
from lab.runs.launching import detached


@pytest.fixture
def runs(tmp_path):
    return {name: lab.runs.create(lab.runs.RunConfig.of({}), tmp_path, name) for name in ("one", "two")}


@pytest.fixture
def told(monkeypatch):
    """What is asked of processes in the background."""
    told = []
    monkeypatch.setattr(detached, "launch", lambda run, variables: told.append(("launch", run.name, variables)))
    monkeypatch.setattr(detached, "stop", lambda run: told.append(("stop", run.name)))
    return told


def test_the_second_training_runs_beside_the_first_where_there_is_a_core(runs, told, monkeypatch):
    monkeypatch.setattr("psutil.Process.cpu_affinity", lambda self: [0, 1])
    with demo._at_once(runs, None) as beside:
        assert beside == [runs["two"]] and told == [("launch", "two", {"OMP_NUM_THREADS": "1"})]
    monkeypatch.setattr("psutil.Process.cpu_affinity", lambda self: [0])
    for cores_and_steps in ((runs, None), (runs, demo.SHORT)):
        with demo._at_once(*cores_and_steps) as beside:
            assert not beside


def test_when_the_first_ends_badly_the_second_is_asked_to_stop(runs, told, monkeypatch):
    monkeypatch.setattr("psutil.Process.cpu_affinity", lambda self: [0, 1, 2])
    with pytest.raises(KeyboardInterrupt), demo._at_once(runs, None):
        raise KeyboardInterrupt
    assert [words[:2] for words in told] == [("launch", "two"), ("stop", "two")]


def test_the_other_one_is_followed_to_its_scores_or_its_sentence(tmp_path, train_tiny, runs, capsys):
    finished = train_tiny(tmp_path, "finished")
    row = demo._trained("contrastive", finished, beside=True)
    assert row["model"] == "contrastive" and row["r@1"] == round(finished.scores("test")["values"]["r@1"], 4)
    assert 0 < row["seconds"] < 600 and row["run"] == os.fspath(finished.path)
    with lab.runs.Writer(runs["two"]) as writer:
        writer.status("failed", sentence="There was no room.")
    with pytest.raises(SystemExit):
        demo._trained("contrastive", runs["two"], beside=True)
    assert "There was no room. Go on with `lab train --resume" in capsys.readouterr().err
