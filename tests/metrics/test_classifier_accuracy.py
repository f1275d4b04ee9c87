"""The accuracy of a classifier, against a loop, and of a run that brought one."""

import dataclasses

import numpy as np
import pytest
import torch

from lab import losses, metrics
from lab.core.results import Classifier
from lab.runs.building.trained import open_trained


@pytest.fixture
def evidence(make_random):
    random = np.random.default_rng(0)
    found, bias = make_random(), random.normal(size=9).astype(np.float32)
    weight = random.normal(size=(9, found.query.vectors.shape[1])).astype(np.float32)
    return dataclasses.replace(found, classifier=Classifier(weight, bias, np.arange(9)))


def test_largest_logit_of_each_query_by_a_loop(evidence):
    known, right = evidence.classifier, []
    for vector, label in zip(evidence.query.vectors, evidence.query.labels, strict=True):
        rows = zip(known.weight, known.bias, strict=True)
        logits = [sum(w * x for w, x in zip(row, vector, strict=True)) + b for row, b in rows]
        right.append(float(np.argmax(logits) == label))
    found = metrics.create("classifier_accuracy")(evidence)
    np.testing.assert_array_equal(found.per_query["classifier accuracy"], right)
    assert found.values["classifier accuracy"] == pytest.approx(np.mean(right)) and 0 < np.mean(right) < 1


def test_without_a_classifier_or_with_one_of_another_width_a_sentence_says_so(evidence):
    metric = metrics.create("classifier_accuracy")
    with pytest.raises(ValueError, match="needs the classifier of a model"):
        metric(dataclasses.replace(evidence, classifier=None))
    other = Classifier(np.zeros((9, 3), np.float32), np.zeros(9, np.float32), np.arange(9))
    with pytest.raises(ValueError, match="takes embeddings of width 3"):
        metric(dataclasses.replace(evidence, classifier=other))


def test_a_run_with_cross_entropy_is_measured_by_what_its_loss_would_say(train_tiny, tmp_path):
    """The trained classes are measured, too: unseen ones could not be told."""
    run = train_tiny(
        tmp_path,
        "ce",
        loss={"name": "cross_entropy"},
        training={"steps": 3, "select_by": "r@1"},
        evaluation={"splits": ["train", "test"]},
        metrics=["classifier_accuracy", {"name": "hit_rate_at_k", "k": [1]}],
    )
    stored = run.embeddings("train")
    weight, bias = open_trained(run).classifier
    classes = np.unique(stored.labels)
    loss = losses.create("cross_entropy", num_classes=len(classes), dim=weight.shape[1])
    with torch.no_grad():
        loss.classifier.weight.copy_(torch.from_numpy(weight))
        loss.classifier.bias.copy_(torch.from_numpy(bias))
        said = loss.classifier(torch.from_numpy(stored.vectors)).argmax(1).numpy()
    assert run.scores("train")["values"]["classifier accuracy"] == pytest.approx(
        np.mean(classes[said] == stored.labels)
    )
    assert run.scores("test")["values"]["classifier accuracy"] is None
