"""A slice of the campaign of scripts/soak/damaged_files.py: damaged files end in answers or in one sentence."""

from __future__ import annotations

import json

import numpy as np
import pytest
import yaml
from safetensors.numpy import load, save

import lab.runs
from lab.core import arrays
from lab.runs.building.trained import open_trained
from lab.training import checkpoint
from scripts.soak import damaged_files


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return damaged_files.make(tmp_path_factory.mktemp("damaged"))


def test_every_reader_answers_or_says_one_sentence(folders):
    assert list(damaged_files.campaign(folders, trials=60, seed=1, most_readers=3)) == []


SEEN = {
    "model/config.json": {"rankscope": []},
    "runs/marks.json": {
        "marks": [{"content": "a", "size": 1, "key": {"x": 1}, "repeated": False, "mark": {}}]
    },
    "runs/run/images.json": {"data": []},
    "runs/run/status.json": {"state": "running", "step": {}, "updated": "now"},
    "runs/run/meta.json": {"started": "x", "made_by": {"words": 1}},
    "runs/run/threshold.json": {"value": "x"},
    "runs/run/scores/validation.json": {"values": {}, "warnings": [["x"]]},
    "runs/.queue.json": {"waiting": [None], "worker": 3},
    "gallery/gallery.json": {"plan": {}, "shards": [10**30]},
    "index/keys.json": {"keys": 3},
}


@pytest.mark.parametrize("file", SEEN)
def test_what_was_seen_to_end_in_words_of_python(folders, file):
    path = folders.root.parent / file
    whole = path.read_bytes()
    path.write_text(json.dumps(SEEN[file]))
    try:
        for name, read in damaged_files.readers(folders, path).items():
            assert damaged_files.trouble(read) == "", name
    finally:
        path.write_bytes(whole)


@pytest.mark.parametrize(
    "record",
    [{"kind": "validated", "values": []}, {"kind": "checkup", "step": 1, "about": "batch", "values": {"images": {}}},
     {"kind": "checkup", "step": 1, "about": "validation", "values": {"precisions": ["../..", 1.0], "classes": [0, 1]}},
     {"kind": "checkup", "step": 1, "about": "pixels", "values": {"precisions": [1.0], "classes": -1}},
     {"kind": "stepped", "step": "x", "loss": []}, {"kind": []}],
)  # fmt: skip
def test_a_record_that_does_not_fit_is_left_out(folders, record):
    path = folders.run / "metrics.jsonl"
    whole = path.read_bytes()
    path.write_bytes(json.dumps(record).encode() + b"\n" + whole)
    try:
        for name, read in damaged_files.readers(folders, path).items():
            assert damaged_files.trouble(read) == "", name
    finally:
        path.write_bytes(whole)


@pytest.mark.parametrize(
    ("file", "knob"), [("model/config.yaml", "dim"), ("model/config.yaml", "width")]
)
def test_a_size_that_no_machine_holds_is_refused_by_its_bound(folders, file, knob):
    path = folders.root.parent / file
    whole = path.read_bytes()
    config = yaml.safe_load(whole)
    config["encoder"][knob] = 10**12
    path.write_text(yaml.safe_dump(config))
    try:
        for name, read in damaged_files.readers(folders, path).items():
            assert damaged_files.trouble(read) == "", name
        with pytest.raises(ValueError, match=rf"{knob} <= [\d,]+, got 1000000000000"):
            damaged_files.readers(folders, path)["load"]()
    finally:
        path.write_bytes(whole)


def test_a_list_of_images_without_a_folder_is_a_sentence(folders):
    path = folders.run / "images.json"
    whole = path.read_bytes()
    path.write_text(json.dumps({**json.loads(whole), "root": None}))
    try:
        for name, read in damaged_files.readers(folders, path).items():
            assert damaged_files.trouble(read) == "", name
        with pytest.raises(
            ValueError, match="has no folder of images: the list of the run is damaged"
        ):
            damaged_files.readers(folders, path)["images"]()
    finally:
        path.write_bytes(whole)


@pytest.mark.parametrize("part", ["encoder", "loss"])
def test_weights_that_are_no_tensors_are_a_sentence(folders, part):
    run = lab.runs.Run(folders.run)
    path = run.checkpoint("best")
    whole, state = path.read_bytes(), checkpoint.load(path)
    state[part]["odd"] = {"a": 1}
    try:
        checkpoint.save(path, state)
        with pytest.raises(
            ValueError,
            match="best checkpoint of run does not fit its config.yaml: odd is no tensor",
        ):
            open_trained(run, "best")
    finally:
        path.write_bytes(whole)


def test_a_checkpoint_whose_step_is_no_number_is_a_sentence(folders):
    run = lab.runs.Run(folders.run)
    path = run.checkpoint("best")
    whole, state = path.read_bytes(), checkpoint.load(path)
    try:
        checkpoint.save(path, {**state, "progress": {"step": []}})
        with pytest.raises(
            ValueError, match=r"does not fit its config.yaml: its step is \[\], no whole number"
        ):
            open_trained(run, "best")
    finally:
        path.write_bytes(whole)


def test_a_listing_shows_a_run_whose_corrections_are_no_path(folders):
    path = folders.run / "config.yaml"
    whole = path.read_bytes()
    config = yaml.safe_load(whole)
    config["data"]["corrections"] = {"a": {}}
    path.write_text(yaml.safe_dump(config))
    try:
        for name, read in damaged_files.readers(folders, path).items():
            assert damaged_files.trouble(read) == "", name
    finally:
        path.write_bytes(whole)


def test_labels_of_another_whole_type_are_read(folders):
    path, run = folders.run / "embeddings" / "test.safetensors", lab.runs.Run(folders.run)
    whole, before = path.read_bytes(), run.embeddings("test").labels
    arrays = load(whole)
    labels = next(name for name in arrays if name.endswith("query.labels"))
    size = int.from_bytes(whole[:8], "little")
    metadata = json.loads(whole[8 : 8 + size])["__metadata__"]
    metadata.pop("crc32", None)
    path.write_bytes(save({**arrays, labels: arrays[labels].astype(np.uint8)}, metadata))
    try:
        assert run.embeddings("test").labels.tolist() == before.tolist()
        for name, read in damaged_files.readers(folders, path).items():
            assert damaged_files.trouble(read) == "", name
    finally:
        path.write_bytes(whole)


@pytest.mark.parametrize("name", ["query.contents", "class_name_ends", "query.keys"])
@pytest.mark.parametrize("change", ["lacking", "halved", "of fractions"])
def test_names_beside_embeddings_that_do_not_fit_are_refused_in_one_sentence(folders, name, change):
    path, run = folders.run / "embeddings" / "test.safetensors", lab.runs.Run(folders.run)
    whole = path.read_bytes()
    held, header = arrays.read(path), arrays.header(path)
    array = held.pop(name)
    # fewer letters or fewer classes are no damage
    if change == "halved" and name == "query.contents":
        held[name] = array[: len(array) // 2]
    if change == "of fractions":
        held[name] = array.astype(np.float32)
    arrays.write(path, held, header)
    try:
        with pytest.raises(
            ValueError,
            match=rf"test.safetensors cannot be read, it is damaged \((it lacks )?{name}",
        ):
            run.pictures("test")
    finally:
        path.write_bytes(whole)
