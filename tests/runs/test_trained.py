"""A trained run is opened once, and what was opened is passed on."""

import pytest

import lab
from lab.runs import Run
from lab.runs.building import trained as building
from lab.runs.building.trained import open_trained
from lab.runs.evaluate import evaluate_run
from lab.runs.writer import Writer


@pytest.fixture(scope="module")
def run(train_tiny, pictures, tmp_path_factory):
    data = {"name": "class_folders", "root": str(pictures), "validation": 0.25, "test": 0.5}
    sampler, training = {"batch_size": 8, "per_class": 2}, {"steps": 2}
    return train_tiny(
        tmp_path_factory.mktemp("runs"),
        "tiny",
        data=data,
        sampler=sampler,
        training=training,
        augmentation={"size": 16},
    )


def test_an_evaluation_reads_checkpoint_and_images_once(run, monkeypatch):
    reads = []
    load, dataset = building.checkpoint.load, Run.dataset
    monkeypatch.setattr(building.checkpoint, "load", lambda path: reads.append(path.name) or load(path))
    monkeypatch.setattr(Run, "dataset", lambda self: reads.append("images") or dataset(self))
    with Writer(run) as writer:
        list(evaluate_run(run, writer, splits=("validation", "test")))
    assert sorted(reads) == ["best.safetensors", "images"]


def test_it_says_whose_weights_it_holds(run):
    opened = open_trained(run, "last")
    assert (opened.run, opened.checkpoint, opened.step) == (run, "last", 2)
    assert opened.loader.image_set is opened.dataset and not opened.encoder.training


def test_other_images_need_none_of_the_runs(run, monkeypatch):
    monkeypatch.setattr(Run, "dataset", lambda self: pytest.fail("the images of the run were read"))
    emoji = lab.data.create("emoji7")
    assert open_trained(run).loader_of(emoji).image_set is emoji


def test_a_run_without_weights_says_so(run, tmp_path):
    with pytest.raises(ValueError, match="has no checkpoint yet"):
        open_trained(lab.runs.create(run.config, tmp_path, "none"))
