"""The pull on one query's list, against the same loss on real embeddings."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lab.losses
from lab.inspect import list_gradients, list_losses


@pytest.fixture
def scene():
    """A query [1 d], items [g d] and which of them are of its class, unit rows in float64."""
    random = torch.Generator().manual_seed(0)
    query = torch.nn.functional.normalize(
        torch.randn(1, 16, dtype=torch.float64, generator=random), dim=1
    )
    items = torch.randn(60, 16, dtype=torch.float64, generator=random) + 0.8 * query
    return query, torch.nn.functional.normalize(items, dim=1), torch.arange(60) % 7 == 0


@pytest.mark.parametrize("name", list_losses())
def test_the_pull_is_the_gradient_of_the_loss(scene, name):
    query, items, relevant = scene
    loss = lab.losses.create(name)
    leaf = items.clone().requires_grad_()
    value = loss(query, torch.tensor([1]), ref_emb=leaf, ref_labels=relevant.long())
    (wanted,) = torch.autograd.grad(value, leaf)
    similarities = (items @ query.T)[:, 0]
    found = list_gradients(loss, similarities.numpy(), relevant.numpy())
    assert found.value == pytest.approx(value.item(), rel=1e-12)
    # d cosine / d item, for unit rows: the query less its part along the item.
    rebuilt = torch.from_numpy(found.gradients)[:, None] * (query - similarities[:, None] * items)
    assert found.scale > 0
    torch.testing.assert_close(rebuilt, wanted, rtol=1e-9, atol=1e-12)


def test_the_losses_that_rank_are_there():
    assert {"recall_at_k", "smooth_ap", "sup_ap", "roadmap", "fast_ap"} <= set(list_losses())
    assert not {"contextual", "arc_face", "class_anchor_margin", "triplet_margin"} & set(
        list_losses()
    )


def test_it_counts_who_carries_the_gradient_and_who_goes_the_wrong_way():
    loss = lab.losses.create("smooth_ap", tau=0.01)
    similarities = np.array([0.9, 0.895, 0.5, 0.1, -0.3])
    found = list_gradients(loss, similarities, np.array([False, True, False, False, False]))
    assert found.carriers == 2
    assert found.gradients[0] == pytest.approx(-found.gradients[1])
    assert found.gradients[0] > 0 > found.gradients[1], (
        "the wrong one is pushed away, the right one pulled closer"
    )
    assert not found.wrong_way[:2].any()
    assert "2 of 5 items carry 90%" in found.summary
    table = found.to_frame()
    assert table["similarity"].is_monotonic_decreasing
    assert len(found.figure().data) == 2
    # Where the negative ahead is too far to be felt, the better of two positives is pushed back: the wrong way.
    both = list_gradients(loss, np.array([0.95, 0.80, 0.79]), np.array([False, True, True]))
    assert both.wrong_way[1] and "wrong way" in both.summary


def test_what_cannot_be_is_a_sentence():
    smooth = lab.losses.create("smooth_ap")
    with pytest.raises(ValueError, match="take one of"):
        list_gradients(lab.losses.create("contextual"), [0.1, 0.2], [True, False])
    with pytest.raises(ValueError, match="no relevant item"):
        list_gradients(smooth, [0.1, 0.2], [False, False])
    with pytest.raises(ValueError, match="finite numbers"):
        list_gradients(smooth, [0.1, np.nan], [True, False])
    with pytest.raises(ValueError, match="one relevance each"):
        list_gradients(smooth, [0.1], [True, False])
    scores, hits = np.array([0.1, 0.8, 0.9]), np.array([False, True, False])
    assert (
        list_gradients(smooth, scores[::-1], hits[::-1]).value
        == list_gradients(smooth, scores, hits).value
    )
