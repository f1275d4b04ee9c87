"""The losses of pytorch-metric-learning: ours give what the library gives, and where ours are leaner, the same."""

import math

import pytest
import torch
from pytorch_metric_learning import losses as library
from pytorch_metric_learning import miners

from lab import losses
from lab.kernels import unit
from lab.losses._batch import admit
from lab.losses._triplets import every_triplet

LABELS = torch.tensor([4, 0, 2, 2, 0, 1, 2, 4, 3, 2, 0])
DIM = 6


def rows(seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(len(LABELS), DIM, generator=generator, dtype=torch.float64).requires_grad_()


WRAPPED = {
    "contrastive": (library.ContrastiveLoss, {"pos_margin": 0.1, "neg_margin": 1.4}),
    "triplet_margin": (library.TripletMarginLoss, {"margin": 0.3}),
    "margin": (library.MarginLoss, {"margin": 0.3, "beta": 1.1}),
    "nt_xent": (library.NTXentLoss, {"temperature": 0.3}),
    "signal_to_noise_ratio_contrastive": (library.SignalToNoiseRatioContrastiveLoss, {}),
}


@pytest.mark.parametrize("name", WRAPPED)
@pytest.mark.parametrize("how", ["batch", "references", "mined"])
def test_equals_the_library(name, how):
    theirs, knobs = WRAPPED[name]
    ours = losses.create(name, **knobs)
    given = rows()
    more = {
        "batch": {},
        "references": {"ref_emb": rows(1).detach(), "ref_labels": LABELS.flip(0)},
        "mined": {"indices_tuple": miners.TripletMarginMiner(margin=0.5)(given.detach(), LABELS)},
    }[how]
    found, expected = ours(given, LABELS, **more), theirs(**knobs)(given, LABELS, **more)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)
    gradients = (torch.autograd.grad(one, given)[0] for one in (found, expected))
    torch.testing.assert_close(*gradients, rtol=1e-8, atol=1e-10)


def test_swapped_triplets_stay_in_the_batch():
    ours = losses.create("triplet_margin", swap=True)
    torch.testing.assert_close(
        ours(rows(), LABELS), library.TripletMarginLoss(swap=True)(rows(), LABELS)
    )
    with pytest.raises(ValueError, match="swap .* takes no ref_emb"):
        ours(rows(), LABELS, ref_emb=rows(1), ref_labels=LABELS)


CLASSES = {
    "proxy_nca": (library.ProxyNCALoss, {"temperature": 0.25}, {"softmax_scale": 4.0}, "proxies"),
    "proxy_anchor": (library.ProxyAnchorLoss, {"alpha": 8.0}, {"alpha": 8.0}, "proxies"),
    "normalized_softmax": (
        library.NormalizedSoftmaxLoss,
        {"temperature": 0.2},
        {"temperature": 0.2},
        "W",
    ),
    "cos_face": (library.CosFaceLoss, {"margin": 0.2}, {"margin": 0.2}, "W"),
    "arc_face": (library.ArcFaceLoss, {"margin": 10.0}, {"margin": 10.0}, "W"),
    "soft_triple": (
        library.SoftTripleLoss,
        {"la": 5.0, "gamma": 0.3},
        {"la": 5.0, "gamma": 0.3},
        "fc",
    ),
}


@pytest.mark.parametrize("name", CLASSES)
def test_class_losses_equal_the_library(name):
    theirs, knobs, their_knobs, weights = CLASSES[name]
    ours = losses.create(name, num_classes=5, dim=DIM, **knobs).double()
    other = theirs(num_classes=5, embedding_size=DIM, **their_knobs).double()
    getattr(other, weights).data.copy_(getattr(ours.inner, weights).data)
    given = rows()
    torch.testing.assert_close(ours(given, LABELS), other(given, LABELS))


def test_every_triplet_is_there_once():
    anchors, positives, negatives = every_triplet(admit("test", rows(), LABELS))
    found = list(zip(anchors.tolist(), positives.tolist(), negatives.tolist(), strict=True))
    n, y = range(len(LABELS)), LABELS.tolist()
    wanted = {
        (a, p, z) for a in n for p in n for z in n if a != p and y[a] == y[p] and y[a] != y[z]
    }
    assert len(found) == len(wanted) and set(found) == wanted


def density(d, width):
    """Of the distance of random points on the sphere, up to a factor: Wu et al., section 4, first equation."""
    return d ** (width - 2) * (1 - d**2 / 4) ** ((width - 3) / 2)


def test_negatives_are_drawn_evenly_over_distances():
    """Shares of 400 draws for one query against 1 / q(d): near ones count as .5 away, none from beyond 1.4."""
    torch.manual_seed(0)
    angles = torch.tensor([0.0, 0.1, 0.2, 0.4, 0.7, 1.0, 1.3, 1.5, 1.8, 3.0], dtype=torch.float64)
    batch = torch.stack([angles.cos(), angles.sin(), *torch.zeros(4, 10).double()], 1)
    labels = torch.tensor([0, 0, 1, 1, 1, 1, 1, 1, 1, 1])
    loss, drawn = losses.create("triplet_margin", miner="distance_weighted"), torch.zeros(10)
    for _ in range(200):
        anchors, positives, negatives = loss.drawn(admit("test", batch, labels))
        assert (labels[anchors] == labels[positives]).all() and (anchors != positives).all()
        assert (labels[anchors] != labels[negatives]).all()
        drawn += torch.bincount(negatives[anchors == 0], minlength=10)
    distances = [max(0.5, 2 * math.sin(a / 2)) for a in angles.tolist()]
    weights = torch.tensor(
        [float(y == 1 and d < 1.4) / density(d, 6) for d, y in zip(distances, labels, strict=True)]
    )
    assert drawn.sum() == 400 and drawn[9] == drawn[8] == 0
    torch.testing.assert_close(drawn / drawn.sum(), weights / weights.sum(), atol=0.08, rtol=0)


def test_mined_triplets_are_averaged_over_those_that_violate_the_margin():
    loss, given = losses.create("triplet_margin", miner="distance_weighted"), rows()
    torch.manual_seed(3)
    triples = list(
        zip(*(one.tolist() for one in loss.drawn(admit("test", unit(given), LABELS))), strict=True)
    )
    torch.manual_seed(3)
    total, points = loss(given, LABELS), unit(given)
    terms = [
        (points[a] - points[p]).norm() - (points[a] - points[n]).norm() + 0.05
        for a, p, n in triples
    ]
    wanted = torch.stack([term for term in terms if term > 0]).mean()
    torch.testing.assert_close(total, wanted)
    torch.testing.assert_close(
        torch.autograd.grad(total, given)[0], torch.autograd.grad(wanted, given)[0]
    )


def test_proxy_anchor_per_query_is_the_library_loss_of_each_example_alone():
    torch.manual_seed(2)
    loss = losses.create("proxy_anchor", num_classes=4, dim=6, alpha=4, margin=0.3).double()
    rows, labels = torch.randn(9, 6, dtype=torch.float64), torch.randint(0, 4, (9,))
    alone = [loss(rows[i : i + 1], labels[i : i + 1]) for i in range(9)]  # computed by the library
    torch.testing.assert_close(
        loss.per_query(rows, labels), torch.stack(alone), atol=1e-10, rtol=1e-10
    )
