"""Small trainings: how many steps they say they take, and figures drawn in a process of their own."""

import json
import threading
import time

import pytest

import lab.figures
from lab.core.knobs import describe
from lab.figures import _toy, apart

SMALL = {"steps": 6, "seeds": 1, "snapshot": 6, "every": 2}
TRAINS = [name for name in lab.figures.names() if lab.figures.create(name).training_steps()]


def small(name):
    knobs = {knob.name: knob for knob in describe(lab.figures.get(name).Knobs)}
    return lab.figures.create(name, **{k: max(v, knobs[k].ge or v) for k, v in SMALL.items() if k in knobs})


@pytest.mark.parametrize("name", TRAINS)
def test_a_figure_takes_the_steps_that_it_says(name):
    figure, taken = small(name), []
    token = _toy.on_step.set(lambda: taken.append(1))
    try:
        figure.numbers()
    finally:
        _toy.on_step.reset(token)
    assert len(taken) == figure.training_steps() > 0


def test_every_figure_that_trains_a_toy_says_how_long():
    toys = {name for name in lab.figures.names() if lab.figures.get(name).tier == "toy_training"}
    assert toys - set(TRAINS) == {"disagreeing_neighbours"}, "that one looks at a toy and trains none"
    assert lab.figures.create("tau1_sweep", data="Emoji-7").training_steps() == 0


def test_a_process_of_its_own_draws_the_same_and_can_be_stopped():
    figure, seen = small("distance_histogram"), []
    training = apart.Training(figure, lambda one: seen.append(one.progress))
    drawn, here = training.figure(), figure.figure()
    assert json.loads(drawn.to_json(validate=False)) == json.loads(here.to_json())
    assert training.over and seen[-1] == 1 and not training.stopped
    long = apart.Training(lab.figures.create("anchor_ablation", steps=150, seeds=3))
    until = time.monotonic() + 300
    while not long.progress and time.monotonic() < until:
        time.sleep(0.02)
    long.stop()
    assert long.over and long.stopped and 0 < long.progress < 1
    with pytest.raises(ValueError, match="Stopped"):
        long.figure()


def test_trainings_wait_for_each_other_and_can_be_stopped_while_they_wait(monkeypatch):
    monkeypatch.setattr(apart, "_places", threading.BoundedSemaphore(1))
    first = apart.Training(lab.figures.create("anchor_ablation", steps=150, seeds=3))
    until = time.monotonic() + 300
    while not first.progress and time.monotonic() < until:
        time.sleep(0.02)
    second, third = (apart.Training(small("distance_histogram")) for _ in range(2))
    second.stop()
    assert second.over and second.refused == "Stopped." and not second.progress and not first.over
    assert not third.progress, "the only place is taken"
    first.stop()
    assert third.figure().data and not third.stopped


def test_knobs_that_contradict_each_other_are_refused_in_a_sentence():
    training = apart.Training(lab.figures.create("train_test_paths", losses=("nothing",)))
    with pytest.raises(ValueError, match="losses must be among"):
        training.figure()
