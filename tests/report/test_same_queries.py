"""Runs on the same queries: planted errors, corrections, and a comparison on the same corrected images."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path

import numpy as np
import pytest

import lab
from lab.core import arrays
from lab.report import page
from lab.report.same_queries import effect, predecessor, same_queries
from lab.runs import marks
from lab.runs.marks import Mark

STEPS = {"steps": 30, "validate_every": 30, "device": "cpu"}


@pytest.fixture(scope="module")
def planted(pictures, tmp_path_factory, train_tiny):
    """A folder in which the last picture of 6 classes lies in the folder of the next class; runs, the first trained on
    it, the second with the errors marked, the third with as many rightly labelled pictures dropped."""
    own = Path(shutil.copytree(pictures, tmp_path_factory.mktemp("planted") / "own"))
    names = sorted(folder.name for folder in own.iterdir())
    wrong = {}
    for number in (0, 3, 5, 8, 10, 13):
        moved = own / names[number + 1] / f"from-{names[number]}.png"
        shutil.move(own / names[number] / "3.png", moved)
        wrong[f"{names[number + 1]}/{moved.name}"] = names[number]
    root = tmp_path_factory.mktemp("runs of planted")
    data = {"name": "class_folders", "root": str(own), "test": 0.5, "validation": 0.25}
    sections = {"data": data, "training": STEPS, "sampler": {"batch_size": 12, "per_class": 3}}
    first = train_tiny(root, "first", **sections)
    images = first.dataset()
    at = {key: item for item, key in enumerate(images.keys)}
    marks.write(root, images, {at[key]: Mark("relabel", label=name) for key, name in wrong.items()})
    right = [
        item for item in images.splits["test"].items.tolist() if images.keys[item] not in wrong
    ][:6]
    tables = {
        "second": marks.corrections(images, marks.read(root, images)),
        "third": marks.corrections(images, {item: Mark("drop") for item in right}),
    }
    for name, table in tables.items():
        path = marks.save_corrections(root, table)
        train_tiny(root, name, **{**sections, "data": {**data, "corrections": str(path)}})
    return {run.name: run for run in lab.runs.list(root)}


def by_hand(run, items: list[int], labels: list[int]) -> list[float]:
    """r@1 of each image among these images, by a loop."""
    stored = run.embeddings("test")
    vectors = {int(item): vector for item, vector in zip(stored.items, stored.vectors, strict=True)}
    hits = []
    for one, label in zip(items, labels, strict=True):
        others = [
            (float(vectors[one] @ vectors[item]), labels[at])
            for at, item in enumerate(items)
            if item != one
        ]
        hits.append(float(max(others)[1] == label) if label in [of for _, of in others] else np.nan)
    return hits


def test_marked_errors_are_corrected_and_both_runs_measured_on_the_same_images(planted):
    first, second = planted["first"], planted["second"]
    found = same_queries([first, second])
    truth = {key: key.partition("/")[0] for key in second.dataset().keys}
    truth |= {key: Path(key).stem.removeprefix("from-") for key in truth if "from-" in key}
    images = second.dataset()
    assert {
        images.keys[i]: images.class_names[images.labels[i]] for i in range(len(images))
    } == truth
    both = np.intersect1d(first.embeddings().items, second.embeddings().items)
    assert found.items.tolist() == both.tolist() and found.corrected
    for place, run in enumerate((first, second)):
        expected = by_hand(run, found.items.tolist(), images.labels[found.items].tolist())
        np.testing.assert_allclose(found.values["r@1"][place], expected)
    assert np.nanmean(found.values["r@1"][0]) != pytest.approx(first.scores()["values"]["r@1"]), (
        "another ruler"
    )
    assert predecessor(second, lab.runs.list(first.path.parent)).name == "first"
    assert predecessor(first, lab.runs.list(first.path.parent)) is None
    words = effect(first, second)
    assert (
        words.startswith(f"On the same {len(both)} corrected test images")
        and "95 % interval" in words
    )
    assert (
        f"{len(both)} images joined by name and content" in words
        and "first had others for some" in words
    )


def test_marks_on_rightly_labelled_images_of_the_test_show_no_gain(planted):
    """Nothing that trains has changed: whatever the two tables of scores say, there is no difference."""
    first, third = planted["first"], planted["third"]
    assert first.scores()["values"] != third.scores()["values"], "fewer queries, other scores"
    found = same_queries([first, third])
    assert len(found.items) == len(third.embeddings()) == len(first.embeddings()) - 6
    np.testing.assert_array_equal(*found.values["MAP@R"])
    assert (
        "(+0.000, 95 % interval over classes +0.000 to +0.000: no difference can be told on such classes)."
        in effect(first, third)
    )
    assert "(without 6 of first)" in effect(first, third) and "not joined: 6 of first" in effect(
        first, third
    )


def test_a_ruler_of_ones_own_measures_stored_embeddings_anew(planted):
    run = planted["first"]
    ruler = copy.copy(run.dataset())
    items = ruler.splits["test"].items
    ruler.correct(
        {
            ruler.keys[items[0]]: "",
            ruler.keys[items[1]]: ruler.class_names[ruler.labels[items[-1]]],
        },
        "marks",
    )
    found = same_queries([run], ruler=ruler)
    assert found.items.tolist() == items[1:].tolist()
    assert found.class_names[found.labels[0]] == ruler.class_names[ruler.labels[items[-1]]]
    np.testing.assert_allclose(
        found.values["r@1"][0], by_hand(run, found.items.tolist(), found.labels.tolist())
    )


@pytest.fixture
def made_up(tmp_path):
    """Runs of 3 classes of 4 images: two equal ones but for class b, and one that lacks an image of class c."""
    angles = np.repeat([0.0, 2.0, 4.0], 4) + np.linspace(0, 0.1, 12)
    worse = angles + np.array([0, 0, 0, 0, 0, 2, 4, 2, 0, 0, 0, 0])
    runs = []
    for name, used in (("one", worse), ("two", angles)):
        said = {"like": runs[0]} if runs else {"labels": [*"aaaabbbbcccc"]}
        runs.append(
            lab.runs.from_embeddings(
                np.stack([np.cos(used), np.sin(used)], 1), name=name, runs=tmp_path, **said
            )
        )
    shutil.copytree(tmp_path / "two", tmp_path / "less")
    path = tmp_path / "less" / "embeddings" / "test.safetensors"
    arrays.write(path, {name: rows[:11] for name, rows in arrays.read(path).items()})
    return [*runs, lab.runs.open("less", tmp_path)]


def test_queries_classes_and_disagreements_of_several_runs(made_up):
    found = same_queries(made_up)
    assert (
        found.words == "the same 11 test images (without 1 of one, 1 of two)"
        and not found.corrected
    )
    one, two, less = found.values["r@1"]
    assert two.tolist() == less.tolist() and one.mean() < two.mean()
    by_class = found.by_class("r@1", 0, 1)
    assert next(iter(by_class)) == 1 and by_class[1].mean == pytest.approx((two - one)[4:8].mean())
    assert set(found.disagreement("r@1")) == set(np.flatnonzero(two != one)) and len(
        found.disagreement("r@1")
    )
    told = found.helped("MAP@R", 0, 1)
    assert told.startswith("two gains at ") and "b +" in told
    assert found.helped("MAP@R", 1, 2) == "less and two have the same score for every class."


def test_runs_without_a_common_query_are_a_sentence(made_up, planted):
    with pytest.raises(ValueError, match="different data sets"):
        same_queries([made_up[0], planted["first"]])


def test_the_page_to_mail_compares_them_and_names_no_folder(planted):
    made = page.render([planted["first"], planted["second"], planted["third"]])
    assert (
        "first · " in made
        and "with 6 relabelled images" in made
        and "without 6 marked images" in made
    )
    assert "corrected test images" in made and "95 % interval" in made
    folders = {str(path.parent) for run in planted.values() for _, path in run.config.paths()}
    assert folders and not any(folder in made for folder in folders)
