"""Sweeps: what a plan is, which runs it makes, and that a second call makes only what is missing."""

from __future__ import annotations

import json

import pytest
import yaml

import lab.launchers
import lab.runs
import lab.sweeps
from lab.__main__ import main
from lab.launchers._base import Launcher
from lab.launchers._work import train_here
from lab.runs import management
from lab.sweeps import Plan


class Here(Launcher):
    """Trains in this process, one run after the other."""

    def __init__(self):
        self.waiting, self.trained = [], []

    def submit(self, runs):
        self.waiting += runs

    def ended(self):
        while self.waiting:
            run = self.waiting.pop(0)
            yield None
            train_here(str(run.path), 1)
            self.trained.append(run.name)
            yield run


@pytest.fixture
def base(tiny):
    return {**tiny, "training": {**tiny["training"], "steps": 4, "device": "cpu"}}


def test_a_grid_is_every_combination_in_order():
    plan = Plan.of({"name": "g", "vary": {"loss.tau2": [0.01, 0.1], "training.seed": [0, 1, 2]}})
    settings = list(plan.settings())
    assert plan.size == len(settings) == 6
    assert settings[:2] == [
        {"loss.tau2": 0.01, "training.seed": 0},
        {"loss.tau2": 0.01, "training.seed": 1},
    ]


def test_random_settings_lie_in_their_spans_and_repeat_with_the_seed():
    vary = {
        "optimiser.lr": {"low": 1e-4, "high": 1e-2, "log": True},
        "training.seed": {"low": 0, "high": 3},
    }
    plan = Plan.of({"name": "r", "vary": vary, "search": "random", "trials": 200, "seed": 7})
    settings = list(plan.settings())
    rates = [one["optimiser.lr"] for one in settings]
    assert all(1e-4 <= rate <= 1e-2 for rate in rates) and settings == list(plan.settings())
    assert 60 < sum(rate < 1e-3 for rate in rates) < 140  # even over the logarithm
    assert {one["training.seed"] for one in settings} == {0, 1, 2, 3}


@pytest.mark.parametrize(
    "change, words",
    [
        ({"vary": {}}, "A sweep needs vary"),
        ({"vary": {"loss.tau": [1]}}, "tau"),
        ({"vary": {"loss.tau2": []}}, "must be a list of values or a span"),
        ({"vary": {"loss.tau2": {"low": 1, "high": 0}}}, "low below high"),
        ({"vary": {"loss.tau2": {"low": 0.01, "high": 0.1}}}, "is a span, and a grid needs a list"),
        ({"vary": {"loss.tau2": [-1]}}, "tau2"),
        ({"trials": 3}, "A grid tries every combination"),
        ({"search": "random"}, "needs trials"),
        ({"search": "guess"}, "search must satisfy one of grid, random, tpe"),
        ({"colour": 1}, "has no knob 'colour'"),
        ({"name": "../x"}, "A run's name"),
        ({"vary": {"training.seed": list(range(101)), "loss.tau2": [0.1] * 100}}, "at most 10,000"),
    ],
)
def test_a_plan_that_cannot_be_is_one_sentence(change, words):
    with pytest.raises(ValueError, match=words.replace(".", r"\.")) as caught:
        Plan.of({"name": "s", "vary": {"training.seed": [0]}, **change})
    assert "\n" not in str(caught.value)


def test_a_sweep_begun_again_makes_what_is_missing(base, tmp_path):
    plan = Plan.of({"name": "s", "config": base, "vary": {"training.seed": [0, 1]}})
    first = Here()
    done = [trial for trial in lab.sweeps.carry_out(plan, tmp_path, first) if trial]
    assert first.trained == ["s-1", "s-2"] and all(
        trial.new and trial.score is not None for trial in done
    )
    assert {management.notes(trial.run)["group"] for trial in done} == {"s"}
    longer = Plan.of({"name": "s", "config": base, "vary": {"training.seed": [0, 1, 2]}})
    second = Here()
    again = [trial for trial in lab.sweeps.carry_out(longer, tmp_path, second) if trial]
    assert second.trained == ["s-3"] and [trial.new for trial in again] == [False, False, True]
    other = Plan.of({"name": "s", "config": base, "vary": {"training.seed": [5]}})
    with pytest.raises(
        ValueError, match="There is a run .*s-1 already, with training.seed 0 and not 5"
    ):
        list(lab.sweeps.carry_out(other, tmp_path, Here()))


def test_tpe_asks_for_the_next_with_the_scores_of_those_before(base, tmp_path):
    pytest.importorskip("optuna")
    vary = {"optimiser.lr": {"low": 1e-5, "high": 1e-1, "log": True}}
    plan = Plan.of({"name": "t", "config": base, "vary": vary, "search": "tpe", "trials": 3})
    trials = [trial for trial in lab.sweeps.carry_out(plan, tmp_path, Here(), at_once=2) if trial]
    assert [trial.run.name for trial in trials] == ["t-1", "t-2", "t-3"] and all(
        trial.new for trial in trials
    )
    for trial in trials:
        assert trial.run.config.optimiser.knobs.lr == trial.values["optimiser.lr"]
    more = Plan.of({"name": "t", "config": base, "vary": vary, "search": "tpe", "trials": 4})
    later = [trial for trial in lab.sweeps.carry_out(more, tmp_path, Here(), at_once=2) if trial]
    assert [trial.new for trial in later] == [False, False, False, True]
    assert later[0].values == pytest.approx(trials[0].values)


def test_the_command_shows_the_runs_trains_them_and_ranks_them(base, tmp_path, capsys, monkeypatch):
    file = tmp_path / "plan.yaml"
    file.write_text(
        yaml.safe_dump({"name": "c", "config": base, "vary": {"training.seed": [0, 1]}})
    )
    assert (
        main(["sweep", str(tmp_path / "none.yaml")]) == 2
        and "cannot be read" in capsys.readouterr().err
    )
    assert main(["sweep", str(file), "--on", "ray", "--no-wait", "--runs", str(tmp_path)]) == 2
    assert "leave --no-wait out" in capsys.readouterr().err
    assert main(["sweep", str(file), "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {"run": 1, "training.seed": 0},
        {"run": 2, "training.seed": 1},
    ]
    monkeypatch.setattr(lab.launchers, "from_address", lambda address, **knobs: Here())
    assert main(["sweep", str(file), "--runs", str(tmp_path / "runs"), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    scores = [row["best validation MAP@R"] for row in rows]
    assert {row["run"] for row in rows} == {"c-1", "c-2"} and scores == sorted(scores, reverse=True)


def test_train_hands_a_run_a_seed_to_a_launcher(base, tmp_path, capsys, monkeypatch):
    file, here = tmp_path / "base.yaml", Here()
    file.write_text(yaml.safe_dump(base))
    monkeypatch.setattr(lab.launchers, "from_address", lambda address, **knobs: here)
    command = ["train", "--config", str(file), "--runs", str(tmp_path / "runs"), "--json"]
    assert main([*command, "--on", "ray", "--seeds", "2", "--name", "t"]) == 0
    assert here.trained == ["t-seed-0", "t-seed-1"]
    assert [row["state"] for row in json.loads(capsys.readouterr().out)] == ["finished", "finished"]
    for flags, words in {
        ("--seeds", "2"): "say where, for instance --on local",
        ("--on", "ray", "--queue"): "leave out --queue",
        ("--on", "ray", "--seeds", "0"): "--seeds must be at least 1",
        ("--on", "ray", "--seeds", "2", "--name", "t"): "There is a run 't-seed-0'",
    }.items():
        assert main([*command, *flags]) == 2
        assert words in capsys.readouterr().err
    assert len(here.trained) == 2
