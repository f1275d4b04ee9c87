"""Folds of the training classes, few images a class, and coarser labels."""

import numpy as np
import pytest

import lab.data
from lab.data._splits import fold_of
from tests.data.miniatures import WRITERS


@pytest.mark.parametrize(("classes", "folds"), [(8, 4), (10, 4), (5, 5)])
def test_every_class_validates_in_exactly_one_fold(classes, folds):
    names = np.arange(classes) * 3
    held = [fold_of(np.repeat(names, 2), folds, fold, seed=1) for fold in range(folds)]
    assert sorted(np.concatenate([validate for _, validate in held])) == names.tolist()
    for train, validate in held:
        assert sorted([*train, *validate]) == names.tolist()
        assert len(validate) in (classes // folds, -(-classes // folds))


def test_a_fold_moves_classes_between_train_and_validation_and_leaves_the_test_alone():
    plain = lab.data.create("emoji7", validation=0.0)
    seen = set(plain.labels[plain.splits["train"].items])
    held = []
    for fold in range(3):
        found = lab.data.create("emoji7", folds=3, fold=fold)
        train, validation = (
            set(found.labels[found.splits[name].items]) for name in ("train", "validation")
        )
        assert train | validation == seen and not train & validation
        assert found.splits["test"].items.tolist() == plain.splits["test"].items.tolist()
        held.append(validation)
    assert len(set.union(*held)) == sum(map(len, held)) == len(seen)


def test_levels_are_the_sets_own_or_an_attribute(tmp_path):
    emoji = lab.data.create("emoji7")
    assert list(emoji.levels) == ["middle", "coarse"]
    assert [len(np.unique(labels)) for labels in emoji.levels.values()] == [66, 6]
    middle, coarse = emoji.levels.values()
    assert all(len(np.unique(coarse[middle == one])) == 1 for one in range(66)), (
        "a subgroup lies in one group"
    )
    assert (
        emoji.level("vendor") == np.unique(emoji.attributes["vendor"], return_inverse=True)[1]
    ).all()
    sop = lab.data.create("sop", root=str(WRITERS["sop"](tmp_path)))
    assert (sop.levels["coarse"] == sop.super_labels).all() and (
        sop.level("super_class") == sop.super_labels
    ).all()


@pytest.mark.parametrize(
    ("name", "knobs", "sentence"),
    [
        ("cub200", {"folds": 4}, "has 2 classes that do not test, too few for 4 folds"),
        ("cub200", {"folds": 2, "fold": 2}, r"data.fold must be one of 0\.\.1"),
        ("svhn", {"folds": 2}, "svhn tests on the classes that it trains on"),
    ],
)
def test_folds_that_cannot_be_made_get_a_sentence(tmp_path, name, knobs, sentence):
    with pytest.raises(ValueError, match=sentence):
        lab.data.create(name, root=str(WRITERS[name](tmp_path)), **knobs)


def test_an_unknown_level_lists_the_attributes(tmp_path):
    with pytest.raises(
        ValueError,
        match="no attribute 'family'; it has vendor, group, subgroup, code_points, super_class",
    ):
        lab.data.create("emoji7").level("family")
