"""The demo's two trainings at once; tests/install/test_distribution.py runs all of it, a short one, and
tests/browser/test_in_browser_first_minute.py with its dashboard."""

import os

import pytest

import lab.runs
from lab.cli import demo
from lab.runs.launching import detached


@pytest.fixture
def runs(tmp_path):
    return [lab.runs.create(lab.runs.RunConfig.of({}), tmp_path, name) for name in ("one", "two")]


@pytest.fixture
def told(monkeypatch):
    """What is asked of processes in the background."""
    told = []
    monkeypatch.setattr(detached, "launch", lambda run, variables: told.append(("launch", run.name, variables)))
    monkeypatch.setattr(detached, "stop", lambda run: told.append(("stop", run.name)))
    return told


@pytest.mark.parametrize("cores", [1, 2, 16])
def test_as_many_train_side_by_side_as_there_are_cores(runs, told, cores):
    one, two = (("launch", name, {"OMP_NUM_THREADS": "1"}) for name in ("one", "two"))
    with demo._at_work(runs, cores) as begin:
        assert told == [one, two][:cores]
        for run in runs:
            begin(run)
        assert told == [one, two], "each once"


def test_when_the_first_ends_badly_those_that_have_begun_are_asked_to_stop(runs, told):
    with pytest.raises(KeyboardInterrupt), demo._at_work(runs, 2):
        raise KeyboardInterrupt
    assert [words[:2] for words in told] == [("launch", "one"), ("launch", "two"), ("stop", "one"), ("stop", "two")]


def test_a_training_is_followed_to_its_scores_or_its_sentence(tmp_path, train_tiny, runs, capsys):
    finished = train_tiny(tmp_path, "finished")
    row = demo._followed("contrastive", finished)
    assert row["model"] == "contrastive" and row["r@1"] == round(finished.scores("test")["values"]["r@1"], 4)
    assert 0 < row["seconds"] < 600 and row["run"] == os.fspath(finished.path)
    with lab.runs.Writer(runs[1]) as writer:
        writer.status("failed", sentence="There was no room.")
    with pytest.raises(SystemExit):
        demo._followed("contrastive", runs[1])
    assert "There was no room. Go on with `lab train --resume" in capsys.readouterr().err
