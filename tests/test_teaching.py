"""The tutorials' helpers run the same parts as `lab train`, on real images."""

import numpy as np
import pytest
import torch

import lab
from lab import teaching


@pytest.fixture(scope="module")
def images():
    return lab.data.create("emoji7")


def test_pixels_find_real_neighbours_better_than_chance(images):
    items = images.splits["validation"].query[:600]
    rows = teaching.pixels(images, items)
    assert rows.vectors.shape == (600, 16 * 16 * 3)
    np.testing.assert_allclose(np.linalg.norm(rows.vectors, axis=1), 1, rtol=1e-5)
    hit = lab.metrics.create("hit_rate_at_k", k=(1,))(teaching.rank(rows)).values["r@1"]
    assert hit > 0.3


def test_pixels_say_what_they_need(images):
    with pytest.raises(ValueError, match="divide 64, got 30"):
        teaching.pixels(images, np.arange(3), size=30)


def test_a_batch_is_a_batch(images):
    embeddings, labels, items = teaching.batch(images, classes=5, per_class=3, dim=8)
    assert embeddings.shape == (15, 8) and embeddings.dtype == torch.float64
    assert torch.bincount(labels)[labels.unique()].tolist() == [3] * 5
    assert (images.labels[items] == labels.numpy()).all()


def test_watching_trains_and_tells_moments(images):
    watched = images.splits["validation"].query[:50]
    moments = list(teaching.watch(
        lab.losses.create("smooth_ap"), images, 3, watched=watched, every=2, batch_size=32, dim=8
    ))  # fmt: skip
    assert [moment.step for moment in moments] == [0, 2, 3]
    assert all(moment.seen.vectors.shape == (50, 8) for moment in moments)
    assert not np.allclose(moments[0].seen.vectors, moments[-1].seen.vectors)
    again = list(teaching.watch(
        lab.losses.create("smooth_ap"), images, 3, watched=watched, every=2, batch_size=32, dim=8
    ))  # fmt: skip
    np.testing.assert_array_equal(again[-1].seen.vectors, moments[-1].seen.vectors)


def test_a_loss_with_weights_learns_them_too(images):
    classes = np.unique(images.labels[images.splits["train"].query])[:8]
    loss = lab.losses.create("class_anchor_margin", num_classes=8, dim=8)
    before = loss.anchors.detach().clone()
    watched = images.splits["train"].query[:10]
    list(
        teaching.watch(
            loss, images, 2, watched=watched, batch_size=16, per_class=2, dim=8, chosen=classes
        )
    )
    assert not torch.equal(before, loss.anchors)


def test_watching_leaves_the_random_state_alone(images):
    """Between two moments, the caller's draws and the training's do not meet."""
    asked = {"steps": 2, "watched": np.arange(4), "every": 1, "batch_size": 8, "dim": 2}
    quiet = [moment.seen.vectors for moment in teaching.watch(noisy, images, **asked)]
    torch.manual_seed(7)
    state, seen = torch.get_rng_state(), []
    for moment in teaching.watch(noisy, images, **asked):
        assert bool((torch.get_rng_state() == state).all())
        torch.rand(3)
        state = torch.get_rng_state()
        seen.append(moment.seen.vectors)
    np.testing.assert_array_equal(seen, quiet)


def noisy(embeddings, labels):
    """A loss that draws."""
    return ((embeddings + 0.1 * torch.randn_like(embeddings)) ** 2).sum()


def test_mistakes_are_queries_that_find_a_stranger_first(images):
    evidence = teaching.rank(teaching.pixels(images, images.splits["validation"].query[:300]))
    rows = teaching.mistakes(evidence, 5)
    right = evidence.gallery.labels[evidence.ranking.neighbours] == evidence.query.labels[:, None]
    assert len(rows) == 5 and not right[rows, 0].any() and right[rows].any(1).all()
    latest = [right[row].argmax() for row in rows]
    assert latest == sorted(latest, reverse=True)
