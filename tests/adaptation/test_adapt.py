"""Heads on frozen features: against plain torch and scikit-learn, beside the network as it came, and elsewhere."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.decomposition import PCA

import lab
from lab.__main__ import main
from lab.adaptation import baseline_of, compare, plan_head, verdict
from lab.core.streams import result_of
from lab.data.images.features import FOLDER, FeatureLoader
from lab.inference.paired import Difference
from lab.runs.building.on_features import on_features
from lab.runs.building.parts import parts_of
from lab.training.loop import Trainer

QUICK = {"device": "cpu", "steps": 60, "keep_frames": 0}


def vectors(told: slice, kinds: int = 24, seed: int = 0) -> tuple[np.ndarray, list[str]]:
    """Six vectors of 16 numbers of each kind: those in `told` tell it, the others are loud noise."""
    random = np.random.default_rng(seed)
    labels = np.repeat(np.arange(kinds), 6)
    rows = 1.5 * random.normal(size=(len(labels), 16))
    rows[:, told] = random.normal(size=(kinds, 8))[labels] + 0.1 * random.normal(
        size=(len(labels), 8)
    )
    return rows.astype(np.float32), [f"kind {label}" for label in labels]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def mine(root):
    return lab.runs.from_embeddings(*vectors(slice(0, 8)), normalise=True, name="mine", runs=root)


@pytest.fixture(scope="module")
def adapted(mine, root):
    lab.runs.from_embeddings(
        *vectors(slice(8, 16), seed=1), normalise=True, name="other", runs=root
    )
    training = {**QUICK, "steps": 150}
    return lab.adapt(mine, dim=8, also=["other"], runs=root, training=training)


def test_a_head_helps_where_it_was_trained_and_harms_elsewhere(adapted, mine):
    """The noise of the one set is what tells the classes of the other."""
    here, (there,) = adapted.comparison, adapted.others
    assert verdict(here.difference) == "helped" and here.after > here.before + 0.1, here.sentence
    assert verdict(there.difference) == "harmed" and there.after < there.before - 0.05, (
        there.sentence
    )
    both = mine, adapted.run, adapted.baseline
    assert baseline_of(mine, both) is None and baseline_of(adapted.run, both) == adapted.baseline


@pytest.mark.soak
def test_a_head_on_letters_harms_emoji(tmp_path):
    made = lab.adapt("letters", also=["emoji7"], runs=tmp_path, training={"device": "cpu"})
    assert [verdict(one.difference) for one in (made.comparison, *made.others)] == [
        "helped",
        "harmed",
    ]


def test_gained_and_lost_are_the_queries_whose_score_changed(adapted):
    before, after = (run.per_query("test")["MAP@R"] for run in (adapted.baseline, adapted.run))
    items = adapted.run.embeddings("test").items
    change = dict(zip(items.tolist(), (after - before).tolist(), strict=True))
    gained = adapted.comparison.gained.tolist()
    assert set(gained) == {item for item, one in change.items() if one > 0}
    assert set(adapted.comparison.lost.tolist()) == {
        item for item, one in change.items() if one < 0
    }
    assert [change[item] for item in gained] == sorted(
        (change[item] for item in gained), reverse=True
    )
    assert compare(adapted.baseline, adapted.run, "r@1").column == "r@1"
    with pytest.raises(ValueError, match="no score 'nonsense'"):
        compare(adapted.baseline, adapted.run, "nonsense")


def test_no_test_class_was_trained_on_and_both_runs_share_the_queries(adapted):
    data = adapted.run.dataset()
    classes = {name: set(data.labels[split.items]) for name, split in data.splits.items()}
    assert not classes["test"] & classes["train"] and not classes["test"] & classes["validation"]
    assert np.array_equal(
        adapted.run.embeddings("test").items, adapted.baseline.embeddings("test").items
    )


def test_as_it_came_is_measured_once_and_is_what_was_stored(adapted, mine, root):
    again = lab.adapt(mine, head="mlp", dim=4, runs=root, training=QUICK)
    assert (
        again.baseline.name == adapted.baseline.name == "mine-as-it-came"
        and again.run.name == "mine-mlp"
    )
    baseline, stored = adapted.baseline.embeddings("test"), mine.embeddings("test")
    np.testing.assert_allclose(baseline.vectors, stored.vectors[baseline.items], atol=1e-6)


def test_a_linear_head_with_normalised_softmax_is_that_of_plain_torch(mine, root):
    plan = plan_head(
        mine, loss={"name": "normalized_softmax", "temperature": 0.1}, dim=8, runs=root,
        optimiser={"name": "adam", "lr": 0.01}, schedule={"name": "constant"}, training={**QUICK, "steps": 20},
    )  # fmt: skip
    config, images = plan.head, plan.images
    parts = result_of(on_features(parts_of(config, images), config, images, root))
    layer, centres = (
        copy.deepcopy(parts.encoder.head.embed),
        next(parts.loss.parameters()).detach().clone(),
    )
    assert isinstance(parts.loader, FeatureLoader)
    for _ in Trainer(parts, config.training.knobs).run():
        pass

    stored = mine.embeddings("test")
    rows, labels = torch.from_numpy(stored.vectors), torch.from_numpy(images.labels)
    centres.requires_grad_()
    optimiser = torch.optim.Adam([*layer.parameters(), centres], lr=0.01)
    for step in range(20):
        items = torch.from_numpy(parts.items[parts.sampler.batch(step)])
        targets = torch.from_numpy(np.searchsorted(parts.classes, labels[items].numpy()))
        logits = F.normalize(layer(rows[items]), dim=1) @ F.normalize(centres, dim=0) / 0.1
        optimiser.zero_grad()
        F.cross_entropy(logits, targets).backward()
        optimiser.step()
    torch.testing.assert_close(parts.encoder.head.embed.weight, layer.weight, rtol=1e-4, atol=1e-5)


def test_whitening_alone_is_that_of_scikit_learn(mine, root):
    made = lab.adapt(
        mine,
        encoder={"whiten": 6, "shrinkage": 0.0},
        head="none",
        runs=root,
        training={"device": "cpu"},
    )
    assert made.run.status["steps"] == 0 and made.run.name == "mine-whitened6"
    train = made.run.dataset().splits["train"].items
    rows, found = mine.embeddings("test").vectors, made.run.embeddings("test")
    theirs = PCA(6, whiten=True).fit(rows[train].astype(np.float64)).transform(rows[found.items])
    theirs /= np.linalg.norm(theirs, axis=1, keepdims=True)
    signs = np.sign((theirs * found.vectors).sum(0))
    np.testing.assert_allclose(found.vectors, signs * theirs, atol=1e-4)


def test_own_pictures_make_a_run_that_embeds_pictures(pictures, tmp_path):
    training = {**QUICK, "steps": 4}
    made = lab.adapt(pictures, encoder="small_cnn", dim=8, runs=tmp_path, training=training)
    assert len(list((tmp_path / FOLDER).glob("*"))) == 1, "both runs share the features"
    model, found = lab.load(made.run), made.run.embeddings("test")
    item = int(found.items[0])
    embedded = model.embed(made.run.dataset().load(item))
    np.testing.assert_allclose(embedded[0], found.vectors[0], atol=1e-4)
    assert model.search(made.run.dataset().load(item), k=1)[0].item == item
    features = next((tmp_path / FOLDER).glob("*"))
    written = features.stat().st_mtime_ns
    lab.adapt(
        pictures,
        encoder={"base": "small_cnn", "whiten": 8},
        dim=8,
        runs=tmp_path,
        training=training,
    )
    assert features.stat().st_mtime_ns == written, "kept, not made again"


def test_the_network_of_a_run_is_taken_as_it_was_trained(train_tiny, tmp_path):
    run = train_tiny(tmp_path, "trained")
    made = lab.adapt(run, dim=8, runs=tmp_path, training={**QUICK, "steps": 2})
    split = made.comparison.split
    np.testing.assert_allclose(
        made.baseline.embeddings(split).vectors, run.embeddings(split).vectors, atol=1e-4
    )
    assert json.loads(made.run.config.encoder.values["base"])["name"] == "small_cnn"


def test_what_cannot_be_adapted_is_told_in_a_sentence(mine, root, tmp_path):
    rows, names = vectors(slice(0, 8), kinds=8)

    def adapt(name, table, labels, **choices):
        run = lab.runs.from_embeddings(
            table, labels, normalise=True, name=name, runs=tmp_path, measure=False
        )
        trained = {} if choices else {"training": {**QUICK, "steps": 2}}  # whitening is not
        return lab.adapt(run, runs=tmp_path, **trained, **choices)

    with pytest.raises(ValueError, match=r"no class of two images to train on \(or no labels\)"):
        adapt("unlabelled", rows, None)
    with pytest.raises(ValueError, match="no class of two images"):
        adapt("single", rows, [f"kind {at}" for at in range(len(rows))])
    with pytest.raises(ValueError, match="has 1 classes to train on"):
        adapt("one", rows, ["same"] * len(rows))
    with pytest.raises(ValueError, match="are equal, so no head can tell them apart"):
        adapt("equal", np.ones_like(rows), names)
    with pytest.raises(ValueError, match="vary|differ in"):
        adapt(
            "flat",
            np.repeat(rows[:, :1], 16, 1) + np.eye(16, dtype=np.float32)[:1],
            names,
            head="none",
            encoder={"whiten": 8},
        )
    with pytest.raises(ValueError, match="There is no head 'deep'"):
        lab.adapt(mine, head="deep", runs=root)
    with pytest.raises(ValueError, match="without pictures, so no other network"):
        lab.adapt(mine, encoder="small_cnn", runs=root)
    with pytest.raises(ValueError, match="is no run, no folder of class folders and no data set"):
        lab.adapt(tmp_path / "nowhere", runs=root)
    few = adapt("few", rows[:24], names[:24], dim=4)
    assert (
        few.comparison.split == "train"
        and "cannot be told with so few classes (4)" in few.comparison.sentence
    )
    assert "All these classes were trained on" in few.comparison.sentence


def test_the_verdict_needs_six_classes():
    assert verdict(Difference(0.2, 0.1, 0.3, 50, 5)) == "cannot be told with so few classes (5)"
    assert verdict(Difference(0.2, 0.1, 0.3, 50, 6)) == "helped"
    assert verdict(Difference(-0.2, -0.3, -0.1, 50, 6)) == "harmed"
    assert verdict(Difference(0.1, -0.1, 0.3, 50, 60)) == "cannot be told"


def test_the_command_tells_both(mine, root, capsys):
    flags = [
        "--head",
        "linear",
        "--dim",
        "8",
        "--name",
        "by-command",
        "--also",
        "other",
        "--runs",
        str(root),
    ]
    training = ["--training.steps", "60", "--training.device", "cpu", "--loss", "contrastive"]
    assert main(["adapt", "mine", *flags, *training, "--json", "--quiet"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["split"] == "test" and [one.get("data") for one in told["scores"]] == [
        None,
        "other",
    ]
    assert len(told["sentences"]) == 2 and told["scores"][0]["classes"] == 12
    assert lab.runs.open("by-command", root).config.loss.name == "contrastive"


def test_vectors_without_a_class_train_nothing_and_change_nothing(mine, root):
    rows, labels = vectors(slice(0, 8))
    strangers = np.random.default_rng(5).normal(size=(300, 16)).astype(np.float32)
    both = np.concatenate([rows, strangers])
    source = lab.runs.from_embeddings(
        both, labels + [None] * 300, normalise=True, name="partly", runs=root
    )
    told = []
    partly, alone = (
        lab.adapt(
            one,
            dim=4,
            runs=root,
            training={**QUICK, "steps": 5},
            name=f"{one.name}-few",
            listen=told.append,
        )
        for one in (source, mine)
    )
    assert partly.run.scores()["values"] == alone.run.scores()["values"]
    assert partly.comparison.before == alone.comparison.before
    images = partly.run.dataset()
    assert {name: len(split) for name, split in images.splits.items()} == {
        name: len(split) for name, split in alone.run.dataset().splits.items()
    }
    assert all(images.labelled[split.items].all() for split in images.splits.values())
    sentences = [record.sentence for record in told if record.kind == "note"]
    assert "300 of 444 images have no class, so they train nothing." in sentences


def test_a_run_that_is_called_like_a_data_set_is_not_passed_over(tmp_path):
    lab.runs.from_embeddings(np.eye(4), ["a", "a", "b", "b"], name="digits", runs=tmp_path)
    with pytest.raises(ValueError, match="digits is a data set and also a run here"):
        lab.adapt("digits", runs=tmp_path)
