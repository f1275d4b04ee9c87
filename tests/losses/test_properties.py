"""Properties that hold for every batch, tried on batches that hypothesis invents."""

import numpy as np
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lab import losses
from lab.inspect import average_precision
from lab.kernels import unit

from . import reference

SETTINGS = settings(max_examples=20, derandomize=True)
DIM = 4


@st.composite
def batches(draw, dim=DIM):
    """Embeddings and labels with at least one positive pair: any labels, any counts, rows from a random seed."""
    labels = draw(st.lists(st.integers(-3, 3), min_size=2, max_size=9))
    labels.append(labels[0])
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    spread = draw(st.sampled_from([0.05, 0.5, 3.0]))
    centres = torch.randn(7, dim, generator=generator, dtype=torch.float64)
    rows = torch.stack([centres[label + 3] for label in labels])
    rows = rows + spread * torch.randn(len(labels), dim, generator=generator, dtype=torch.float64)
    return rows, torch.tensor(labels)


@SETTINGS
@given(batches(), st.booleans())
def test_sup_ap_is_above_the_true_ap_loss(batch, include_self):
    """001 sec. 3.1. Random rows have no positive that ties with a negative, where `lift_ties` decides."""
    rows, labels = batch
    bound = losses.create("sup_ap", include_self=include_self).per_query(rows, labels)
    exact = reference.ap_loss(unit(rows), labels.tolist(), include_self)
    assert torch.equal(bound.isnan(), exact.isnan())
    assert (bound >= exact - 1e-12)[~exact.isnan()].all()


@SETTINGS
@given(st.integers(2, 4), st.integers(3, 5), st.floats(0, 3), st.integers(0, 2**31))
def test_the_contextual_part_is_zero_exactly_where_everything_is_ranked_right(
    k, classes, spread, seed
):
    """004, proposition 4.1: k images of each of more than two classes, eps 0; tight classes are ranked right."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(classes).repeat_interleave(k)
    centres = torch.randn(classes, DIM, generator=generator, dtype=torch.float64)
    rows = centres[labels] + spread * torch.randn(
        len(labels), DIM, generator=generator, dtype=torch.float64
    )
    scores = unit(rows) @ unit(rows).T
    assume(spread > 1e-3)  # no two scores are equal then
    others = ~torch.eye(len(labels), dtype=torch.bool)
    same = labels[:, None] == labels
    nearest_stranger = scores.masked_fill(same, -2).max(1).values
    farthest_friend = scores.masked_fill(~(same & others), 2).min(1).values
    loss = losses.create("contextual", lam=1.0, gamma=0.0, eps=0.0, k=k)
    assert bool((farthest_friend > nearest_stranger).all()) == bool(loss(rows, labels) < 1e-12)


@SETTINGS
@given(st.data())
def test_a_calibration_loss_of_zero_on_every_batch_leaves_no_gap(data):
    """001, section 3.2: items on a circle shared out into batches; positives within acos .9, others past acos .6."""
    shares = data.draw(
        st.lists(st.tuples(st.integers(1, 4), st.integers(0, 5)), min_size=2, max_size=4)
    )
    near, far = st.floats(0, 25.8), st.floats(53.2, 180)
    query, label = torch.tensor([[1.0, 0.0]], dtype=torch.float64), torch.tensor([7])
    calibration = losses.create("calibration")
    inside, scores, relevant = [], [], []
    for positives, negatives in shares:
        degrees = [data.draw(near) for _ in range(positives)] + [
            data.draw(far) for _ in range(negatives)
        ]
        angles = torch.tensor(degrees, dtype=torch.float64).deg2rad()
        items, labels = (
            torch.stack([angles.cos(), angles.sin()], 1),
            torch.tensor([7] * positives + [0] * negatives),
        )
        assert calibration(query, label, None, items, labels) == 0
        own = (items @ query[0]).numpy()
        inside.append(average_precision(own, (labels == 7).numpy()))
        scores.append(own)
        relevant.append((labels == 7).numpy())
    assert inside == [1.0] * len(shares)
    assert average_precision(np.concatenate(scores), np.concatenate(relevant)) == 1.0
