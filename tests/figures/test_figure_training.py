"""Figures drawn in a process of their own: the same picture, one after the other, and a stop that stops."""

import json
import threading

import pytest

import lab.figures
from lab.figures import background

SMALL = {"steps": 6}
LONG = {"steps": 150, "seeds": 3}


def test_figures_are_drawn_one_after_the_other_and_can_be_stopped(monkeypatch):
    """One process draws them all, but for the one that is stopped while it trains."""
    monkeypatch.setattr(background, "_places", threading.BoundedSemaphore(1))
    figure, seen = lab.figures.create("distance_histogram", **SMALL), []
    training = background.FigureTraining(figure, lambda one: seen.append(one.progress))
    assert json.loads(training.figure().to_json(validate=False)) == json.loads(
        figure.figure().to_json()
    )
    assert training.over and seen[-1] == 1 and not training.stopped

    with pytest.raises(ValueError, match="losses must be among"):
        background.FigureTraining(
            lab.figures.create("train_test_paths", losses=("nothing",))
        ).figure()

    begun = threading.Event()
    long = background.FigureTraining(
        lab.figures.create("anchor_ablation", **LONG), lambda one: begun.set()
    )
    assert begun.wait(600)
    second, third = (
        background.FigureTraining(lab.figures.create("distance_histogram", **SMALL))
        for _ in range(2)
    )
    second.stop()
    assert second.over and second.refused == "Stopped." and not second.progress and not long.over
    assert third.waiting, "the only place is taken"
    long.stop()
    assert long.over and long.stopped and 0 < long.progress < 1
    with pytest.raises(ValueError, match="Stopped"):
        long.figure()
    assert third.figure().data and not third.stopped
