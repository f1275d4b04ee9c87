"""Every loss of our own against plain loops over its formula, and against finite differences."""

import pytest
import torch

from lab import losses
from lab.kernels import unit
from lab.kernels.plain.neighbours import Steps, contextual_similarity, corrected
from lab.surrogates import ConstantGradient, LinearTail

from . import reference

LABELS = [4, 0, 7, 7, 0, -2, 7, 4, 9, 7, 0]
"""Any numbers, any order, uneven classes, two singletons."""


def rows(labels=LABELS, dim=5, seed=0):
    generator = torch.Generator().manual_seed(seed)
    centres = {
        label: torch.randn(dim, generator=generator, dtype=torch.float64)
        for label in sorted(set(labels))
    }
    noise = torch.randn(len(labels), dim, generator=generator, dtype=torch.float64)
    return torch.stack([centres[label] for label in labels]) + noise


def gradient(value, given):
    """Of a value that may not depend on the rows at all, as a step does not."""
    return torch.autograd.grad(value + given.sum() * 0, given)[0]


FEW = LABELS[:8]
SHAPES = {
    "uneven": LABELS,
    "blocks": [0, 0, 0, 1, 1, 1, 2, 2, 2],
    "one class": [3] * 6,
    "pairs": [5, 1, 5, 1],
}
WIDE = {"tau": 0.1, "rho": 5.0, "delta": 0.2}
BOUNDS = {"alpha": 0.9, "beta": 0.6}


def roadmap(rows, labels):
    ranking = reference.sup_ap(rows, labels, 0.01, 100.0, 0.05, None, 0.5, True).nanmean()
    return 0.3 * reference.calibration(rows, labels, 0.9, 0.6, False).nanmean() + 0.7 * ranking


MEANS = {
    "recall_at_k": [
        ({"k": (1, 2, 4)}, lambda r, y: reference.recall_at_k(r, y, (1, 2, 4), 1.0, 0.01, False)),
        (
            {"k": (1, 3), "tau1": 0.5, "tau2": 0.1},
            lambda r, y: reference.recall_at_k(r, y, (1, 3), 0.5, 0.1, False),
        ),
        (
            {"k": (2,), "variant": "released"},
            lambda r, y: reference.recall_at_k(r, y, (2,), 1.0, 0.01, True),
        ),
        (
            {"k": (2,), "include_self": True},
            lambda r, y: reference.recall_at_k(r, y, (2,), 1.0, 0.01, True),
        ),
    ],
    "smooth_ap": [
        ({"tau": 0.05}, lambda r, y: reference.smooth_ap(r, y, 0.05, False)),
        ({"tau": 0.05, "variant": "released"}, lambda r, y: reference.smooth_ap(r, y, 0.05, True)),
        (
            {"variant": "released", "include_self": False},
            lambda r, y: reference.smooth_ap(r, y, 0.01, False),
        ),
    ],
    "sup_ap": [
        ({}, lambda r, y: reference.sup_ap(r, y, 0.01, 100.0, 0.05, None, 0.5, True)),
        (WIDE, lambda r, y: reference.sup_ap(r, y, 0.1, 5.0, 0.2, None, 0.5, True)),
        (
            {**WIDE, "include_self": False},
            lambda r, y: reference.sup_ap(r, y, 0.1, 5.0, 0.2, None, 0.5, False),
        ),
        (
            {"variant": "released"},
            lambda r, y: reference.sup_ap(r, y, 0.01, 100.0, 0.05, 1.44, 0.5, True),
        ),
        (
            {"offset": 1.0, "start": 0.0},
            lambda r, y: reference.sup_ap(r, y, 0.01, 100.0, 0.05, 1.0, 0.0, True),
        ),
    ],
    "calibration": [
        ({}, lambda r, y: reference.calibration(r, y, 0.9, 0.6, False)),
        ({"alpha": 0.5, "beta": -0.2}, lambda r, y: reference.calibration(r, y, 0.5, -0.2, False)),
        ({"include_self": True}, lambda r, y: reference.calibration(r, y, 0.9, 0.6, True)),
    ],
    "fast_ap": [
        ({}, lambda r, y: reference.fast_ap(r, y, 10, False)),
        ({"bins": 3, "include_self": True}, lambda r, y: reference.fast_ap(r, y, 3, True)),
    ],
    "softbin_ap": [
        ({}, lambda r, y: reference.softbin_ap(r, y, 20, -1.0, True)),
        ({"bins": 7, "low": -0.5}, lambda r, y: reference.softbin_ap(r, y, 7, -0.5, True)),
        (
            {"variant": "released", "include_self": False},
            lambda r, y: reference.softbin_ap(r, y, 25, 0.0, False),
        ),
    ],
}


@pytest.mark.parametrize("shape", ["uneven", "one class"])
@pytest.mark.parametrize(
    ("name", "knobs", "formula"), [(name, *row) for name, table in MEANS.items() for row in table]
)
def test_means_over_queries(name, knobs, formula, shape):
    labels = SHAPES[shape]
    given = rows(labels).requires_grad_()
    loss = losses.create(name, **knobs)
    wanted = formula(unit(given), labels)
    torch.testing.assert_close(
        loss.per_query(given, torch.tensor(labels)), wanted, rtol=1e-9, atol=1e-12, equal_nan=True
    )
    total = loss(given, torch.tensor(labels))
    torch.testing.assert_close(total, wanted.nanmean(), rtol=1e-9, atol=1e-12)
    found, expected = gradient(total, given), gradient(wanted.nanmean(), given)
    torch.testing.assert_close(found, expected, rtol=1e-7, atol=1e-10)


def agrees(loss, labels, formula, *more):
    """Value and gradient of a whole loss against a formula of unit rows."""
    given = rows(labels).requires_grad_()
    total, wanted = loss(given, torch.tensor(labels), *more), formula(unit(given))
    torch.testing.assert_close(total, wanted, rtol=1e-9, atol=1e-12)
    found, expected = gradient(total, given), gradient(wanted, given)
    torch.testing.assert_close(found, expected, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
def test_calibration_as_released(shape):
    loss = losses.create("calibration", variant="released")
    labels = SHAPES[shape]
    agrees(loss, labels, lambda r: reference.contrastive_of_active_pairs(r, labels, 0.9, 0.6))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("margins", [(0.9, 0.6), (0.75, -0.1)])
def test_margin_contrastive(shape, margins):
    loss, labels = (
        losses.create("margin_contrastive", delta_pos=margins[0], delta_neg=margins[1]),
        SHAPES[shape],
    )
    agrees(loss, labels, lambda r: reference.contrastive_of_active_pairs(r, labels, *margins))


@pytest.mark.parametrize("shape", SHAPES)
def test_roadmap(shape):
    agrees(losses.create("roadmap", lam=0.3), SHAPES[shape], lambda r: roadmap(r, SHAPES[shape]))


@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize("labels", [[4, 7, 0, 7, 0, 7, -2], [3] * 4])
def test_simix_mixes_similarities_as_if_rows_were_mixed(labels, include_self):
    couples = sum(1 for i in range(len(labels)) for j in range(i) if labels[i] == labels[j])
    alpha = torch.linspace(0, 1, couples, dtype=torch.float64)
    loss = losses.create("recall_at_k", k=(1, 2, 8), simix=True, include_self=include_self)
    given = rows(labels).requires_grad_()
    mixed, mixed_labels = reference.virtual(unit(given), labels, alpha)
    wanted = reference.recall_at_k(mixed, mixed_labels, (1, 2, 8), 1.0, 0.01, include_self)
    values = loss.per_query(given, torch.tensor(labels), alpha=alpha)
    torch.testing.assert_close(values, wanted, rtol=1e-9, atol=1e-12, equal_nan=True)
    total = loss(given, torch.tensor(labels), alpha=alpha)
    found, expected = gradient(total, given), gradient(wanted.nanmean(), given)
    torch.testing.assert_close(found, expected, rtol=1e-7, atol=1e-10)


def test_released_recall_cuts_k_to_the_batch():
    labels = [0, 0, 1, 1]
    cut = losses.create("recall_at_k", k=(1, 16), variant="released")(
        rows(labels), torch.tensor(labels)
    )
    same = losses.create("recall_at_k", k=(1, 4), variant="released")(
        rows(labels), torch.tensor(labels)
    )
    assert (
        cut
        == same
        != losses.create("recall_at_k", k=(1, 16), include_self=True)(
            rows(labels), torch.tensor(labels)
        )
    )


@pytest.mark.parametrize("ordered", [True, False])
def test_class_anchor_margin(ordered):
    labels = [2, 0, 1, 2, 3, 0]
    loss = losses.create(
        "class_anchor_margin", num_classes=4, dim=5, init="random", ordered=ordered
    ).double()
    with torch.no_grad():
        loss.anchors.mul_(0.7)
    given = rows(labels).requires_grad_()
    total = loss(given, torch.tensor(labels))
    wanted = reference.class_anchor_margin(given, labels, loss.anchors, 2.0, 1.0, ordered)
    torch.testing.assert_close(total, wanted)
    for found, expected in zip(
        torch.autograd.grad(total, (given, loss.anchors)),
        torch.autograd.grad(wanted, (given, loss.anchors)),
        strict=True,
    ):
        torch.testing.assert_close(found, expected)


def test_anchors_on_base_vectors_just_touch():
    loss = losses.create("class_anchor_margin", num_classes=5, dim=8, m=3.0, attractor=False)
    torch.testing.assert_close(torch.pdist(loss.anchors), torch.full((10,), 6.0))
    assert float(loss(torch.zeros(2, 8), torch.tensor([0, 1]))) < 1e-10
    with pytest.raises(ValueError, match="num_classes <= dim, got 9 classes in 8 dimensions"):
        losses.create("class_anchor_margin", num_classes=9, dim=8)


def test_cross_entropy():
    labels = [2, 0, 1, 2, 3, 0]
    loss = losses.create("cross_entropy", num_classes=4, dim=5).double()
    given = rows(labels)
    layer = loss.classifier
    wanted = reference.cross_entropy(given, labels, layer.weight, layer.bias)
    torch.testing.assert_close(loss.per_query(given, torch.tensor(labels)), wanted)


@pytest.mark.parametrize("lam", [0.5, 4.0, 40.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_blackbox_ap(shape, lam):
    labels = SHAPES[shape]
    given = rows(labels).requires_grad_()
    loss = losses.create("blackbox_ap", lam=lam)
    unit_rows = unit(given)
    scores = unit_rows @ unit_rows.T
    values, of_scores = reference.blackbox_ap(scores.detach(), labels, lam, 0.02)
    torch.testing.assert_close(loss.per_query(given, torch.tensor(labels)), values)
    (found,) = torch.autograd.grad(loss(given, torch.tensor(labels)), given, retain_graph=True)
    (expected,) = torch.autograd.grad(scores, given, of_scores)
    torch.testing.assert_close(found, expected, rtol=1e-7, atol=1e-10)


def sigmoid_theta(x):
    return reference.sigmoid(x / 0.01)


def tail_theta(x):
    return LinearTail(0.01)(x)


STEPS = [
    ({}, {}),
    ({"theta": "sigmoid"}, {"theta": sigmoid_theta}),
    ({"theta": "upper_bound"}, {"theta": tail_theta}),
    ({"conjunction": "min"}, {"both": torch.minimum}),
    ({"conjunction": "min", "theta": "sigmoid"}, {"both": torch.minimum, "theta": sigmoid_theta}),
    ({"complement": False}, {"complement": False}),
    ({"expansion": False}, {"expansion": False}),
    ({"intersection": False}, {"intersection": False}),
    ({"intersection": False, "expansion": False}, {"intersection": False, "expansion": False}),
    (
        {"eps": 0.0, "k": 4, "alpha": 3.0},
        {"eps": 0.0, "k": 4, "theta": reference.constant_gradient(3.0)},
    ),
    ({"k": 8}, {"k": 8}),
]


@pytest.mark.parametrize(("knobs", "steps"), STEPS)
def test_contextual(knobs, steps):
    knobs = {"k": 3, **knobs}
    steps = {"k": 3, "eps": 0.05, "theta": reference.constant_gradient(10.0), **steps}
    weights = {"delta_pos": 0.75, "delta_neg": 0.6, "s_tilde": 0.3, "lam": 0.4, "gamma": 0.1}
    loss = losses.create("contextual", **knobs)
    agrees(loss, FEW, lambda r: reference.contextual(r, FEW, **steps, **weights))


STEP = Steps(k=3, eps=0.05, theta=ConstantGradient(10.0))


def test_contextual_takes_k_from_the_batch():
    labels = SHAPES["blocks"]
    given, target = rows(labels), torch.tensor(labels)
    assert losses.create("contextual")(given, target) == losses.create("contextual", k=3)(
        given, target
    )
    assert losses.create("contextual")(given, target) != losses.create("contextual", k=2)(
        given, target
    )


def test_contextual_gradient_correction_drops_what_pushes_positives_and_pulls_negatives():
    labels = torch.tensor(LABELS)
    same = labels[:, None] == labels[None, :]
    rest = unit(rows())

    def of_distances(correct):
        distances = (2 - 2 * rest @ rest.T).requires_grad_()
        w = contextual_similarity(corrected(distances, same) if correct else distances, STEP)
        return gradient((same.double() - w).square().fill_diagonal_(0).mean(), distances)

    plain = of_distances(correct=False)
    wrong = torch.where(same, plain < 0, plain > 0)
    assert wrong.any()
    torch.testing.assert_close(of_distances(correct=True), plain.masked_fill(wrong, 0))


def test_released_fast_ap_gradient_is_half_the_queries_too_large():
    labels = torch.tensor(LABELS)
    given = rows().requires_grad_()
    paper, released = (
        torch.autograd.grad(losses.create("fast_ap", variant=v)(given, labels), given)[0]
        for v in ("paper", "released")
    )
    valid = sum(LABELS.count(label) > 1 for label in LABELS)
    torch.testing.assert_close(released, paper * valid / 2)


def test_rank_plus_of_sup_ap_carries_no_gradient():
    """Three points on a circle: of two positives the nearer one must not be pushed away by being overtaken."""
    angles = torch.tensor([0.0, 0.3, 0.5, 1.0], dtype=torch.float64)
    given = torch.stack([angles.cos(), angles.sin()], 1).requires_grad_()
    labels = torch.tensor([0, 0, 0, 1])
    loss = losses.create("sup_ap", tau=0.05, include_self=False)
    (found,) = torch.autograd.grad(loss.per_query(given, labels)[0], given)
    towards_query = (torch.stack([-angles.sin(), angles.cos()], 1) * found).sum(1)
    assert (towards_query[1:3] > 0).all(), "descending moves both positives to the query at angle 0"
    assert towards_query[3] < 0, "and the negative away"


@pytest.mark.parametrize("margin", [0.0, 0.5])
def test_memory_contrastive_sums_over_pairs(margin):
    """Three points by hand at 0, 60 and 90 degrees: a positive at cosine .5, negatives at 0 and cos 30."""
    angles = torch.tensor([0.0, 60.0, 90.0], dtype=torch.float64).deg2rad()
    points = torch.stack([angles.cos(), angles.sin()], dim=1)
    found = losses.create("memory_contrastive", margin=margin).per_query(
        points, torch.tensor([0, 0, 1])
    )
    near = 3**0.5 / 2  # cos 30, above both margins; cos 90 is 0, above neither
    assert found[:2].tolist() == pytest.approx([0.5, 0.5 + near]) and found[2].isnan()


def test_margin_with_a_boundary_for_each_class():
    """Each anchor is held to the boundary of its class; equal boundaries are one boundary."""
    given, labels = rows([0, 1, 1, 0, 2, 2]), torch.tensor([0, 1, 1, 0, 2, 2])
    one, many = (
        losses.create("margin", boundaries=count, learn_beta=True).double() for count in (None, 3)
    )
    torch.testing.assert_close(many(given, labels), one(given, labels))
    with torch.no_grad():
        many.boundary[1] = 0.3
    assert not torch.isclose(many(given, labels), one(given, labels))
    many(given, labels).backward()
    assert many.boundary.grad.shape == (3,) and many.boundary.grad.abs().sum() > 0
    with pytest.raises(
        ValueError, match="with 2 boundaries labels must run from 0 to 1, got 0 to 2"
    ):
        losses.create("margin", boundaries=2)(given, labels)
