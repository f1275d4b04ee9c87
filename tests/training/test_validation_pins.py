"""Which queries are followed through a training."""

import numpy as np
import pytest

from lab.core.results import EmbeddingSet
from lab.training.validation import PINNED, _pins


@pytest.mark.parametrize("classes", [1, 3, 8, 50])
def test_pinned_queries_are_of_different_classes_and_have_a_match(classes):
    # twenty have no match
    labels = np.concatenate([np.repeat(np.arange(classes), 5), np.arange(100, 120)])
    labels = np.random.default_rng(classes).permutation(labels)
    embedded = EmbeddingSet(np.zeros((len(labels), 2), np.float32), labels, np.arange(len(labels)))
    chosen = _pins(embedded, embedded)
    assert len(set(chosen.tolist())) == len(chosen) == min(PINNED, 5 * classes)
    assert len(np.unique(labels[chosen])) == min(PINNED, classes) and (labels[chosen] < 100).all()


def test_images_without_classes_are_pinned_all_the_same():
    alone = EmbeddingSet(np.zeros((20, 2), np.float32), np.arange(20), np.arange(20))
    assert len(_pins(alone, alone)) == PINNED
