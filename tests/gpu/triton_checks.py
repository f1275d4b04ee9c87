"""The Triton kernels against the plain loops, in value and in gradient.

On a GPU where there is one (`tests/gpu/check.sh`), and by Triton's interpreter on the CPU with TRITON_INTERPRET=1
(`tests/kernels/test_triton.py`, a part of `make test`).
"""

import os

import pytest
import torch

import lab.losses
from lab.kernels import (
    force,
    hinge_sums,
    mixed_rank_sums,
    negative_rank_sums,
    path,
    positive_pairs,
    rank_and_hinge_sums,
    rank_sums,
    sharing,
)
from lab.surrogates import Heaviside, HMinus, Sigmoid
from tests.kernels import reference

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = torch.device("cpu" if INTERPRETED else "cuda")
STEPS = [Sigmoid(0.05), HMinus(0.02, 100.0, 0.05)]
ALL = ["recall_at_k", "smooth_ap", "sup_ap", "roadmap", "calibration", "simix"]
OTHER_STEPS = [Sigmoid(0.02, clamp=50.0), HMinus(0.02, 3.0, 0.1, 1.0, 0.0)]


@pytest.fixture(autouse=True)
def on_triton():
    with force("triton"):
        yield


def batch(n, classes, d, seed):
    draw = torch.Generator().manual_seed(seed)
    labels = torch.randint(classes, (n,), generator=draw)
    centres = torch.randn(classes, d, generator=draw)
    rows = centres[labels] + torch.randn(n, d, generator=draw)
    return torch.nn.functional.normalize(rows, dim=1), labels


def shuffled(pairs):
    return pairs[torch.randperm(len(pairs), generator=torch.Generator().manual_seed(4))]


def compare(function, tensors, *rest):
    """Triton's float32 against the plain loops' float64, under one random weighting, relative to the largest number."""
    found = []
    for f, device, dtype in (
        (function, DEVICE, torch.float32),
        (getattr(reference, function.__name__), "cpu", None),
    ):
        leaves = [t.to(device, dtype or torch.float64, copy=True).requires_grad_() for t in tensors]
        given = leaves * 2 if len(leaves) == 1 and not f.__name__.startswith("mixed") else leaves
        moved = [
            x.to(device) if isinstance(x, torch.Tensor) and not x.is_floating_point() else x
            for x in rest
        ]
        moved = [
            x.to(leaves[0]) if isinstance(x, torch.Tensor) and x.is_floating_point() else x
            for x in moved
        ]
        sums = f(*given, *moved)
        weights = torch.randn(len(sums), generator=torch.Generator().manual_seed(1)).to(sums)
        (sums * weights).sum().backward()
        found.append([x.detach().cpu().double() for x in (sums, *(leaf.grad for leaf in leaves))])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5 * float(other.abs().max()))


@pytest.mark.parametrize(
    ("function", "exclude_self", "step"),
    [
        (rank_sums, True, STEPS[0]),
        (rank_sums, False, STEPS[1]),
        (negative_rank_sums, True, STEPS[1]),
        (negative_rank_sums, False, STEPS[0]),
    ],
)
def test_one_set(function, exclude_self, step):
    x, labels = batch(67, 30, 21, seed=0)
    compare(
        function, [x], shuffled(positive_pairs(labels, labels, exclude_self)), step, exclude_self
    )


@pytest.mark.parametrize(
    ("function", "step", "q", "r", "d"),
    [
        (rank_sums, OTHER_STEPS[0], 5, 130, 3),
        (negative_rank_sums, OTHER_STEPS[1], 65, 40, 64),
        (rank_sums, OTHER_STEPS[1], 64, 64, 37),
        (negative_rank_sums, OTHER_STEPS[0], 5, 70, 37),
    ],
)
def test_references(function, step, q, r, d):
    (x, labels), (ref, ref_labels) = batch(q, 20, d, seed=1), batch(r, 20, d, seed=2)
    compare(function, [x, ref], shuffled(positive_pairs(labels, ref_labels, False)), step, False)


def test_several_tiles_and_unequal_classes():
    x, labels = batch(140, 90, 16, seed=5)
    labels[:12] = 0
    # not every pair's reverse is among them
    pairs = shuffled(positive_pairs(labels, labels, True))[:180]
    compare(rank_sums, [x], pairs, Sigmoid(0.1), True)


def test_mixtures():
    x, labels = batch(30, 9, 16, seed=3)
    parents = torch.triu((labels[:, None] == labels).int(), 1).nonzero()
    alpha = torch.rand(len(parents), generator=torch.Generator().manual_seed(3))
    everyone = torch.cat([labels, labels[parents[:, 0]]])
    pairs = positive_pairs(everyone, everyone, True)[::3]
    compare(mixed_rank_sums, [x], parents, alpha, pairs, Sigmoid(0.05), True)


def complete(labels, seed):
    """Every mixture of a class, its weight, and all pairs of originals and mixtures in disorder."""
    parents = torch.triu((labels[:, None] == labels).int(), 1).nonzero()
    alpha = torch.rand(len(parents), generator=torch.Generator().manual_seed(seed))
    everyone = torch.cat([labels, labels[parents[:, 0]]])
    return parents, alpha, everyone


def test_mixtures_inside_the_tile_of_their_parents(monkeypatch):
    """Two blocks of unequal classes in disorder, some of one image and so without a positive."""
    from lab.kernels.cuda import mixtures as fused

    walked, forward = [], fused.MixedTileLoop.forward
    monkeypatch.setattr(
        fused.MixedTileLoop,
        "forward",
        lambda self, keep: walked.append(self) or forward(self, keep),
    )
    x, _ = batch(80, 40, 37, seed=3)
    labels = shuffled(torch.arange(40).repeat_interleave(torch.arange(40) % 3 + 1))
    x = x[: len(labels)]
    parents, alpha, everyone = complete(labels, seed=3)
    pairs = shuffled(positive_pairs(everyone, everyone, True))
    compare(mixed_rank_sums, [x], parents, alpha, pairs, Sigmoid(0.05), True)
    (loop,) = walked
    assert len(loop.blocks) == 2 and int(loop.blocks.edges.diff().max()) <= 64


@pytest.mark.parametrize("case", ["few pairs", "h_minus"])
def test_other_mixtures_are_rows_of_their_own(case, monkeypatch):
    from lab.kernels.cuda import mixtures as fused

    monkeypatch.setattr(
        fused.MixedTileLoop, "__init__", lambda *given: pytest.fail("it was mixed in the tile")
    )
    x, labels = batch(24, 12, 16, seed=4)
    parents, alpha, everyone = complete(labels, seed=4)
    pairs = positive_pairs(everyone, everyone, True)[:: 3 if case == "few pairs" else 1]
    step = HMinus(0.02, 100.0, 0.05) if case == "h_minus" else Sigmoid(0.05)
    compare(mixed_rank_sums, [x], parents, alpha, pairs, step, True)


@pytest.mark.parametrize("ranks", [True, False])
def test_excess(ranks):
    x, labels = batch(90, 20, 16, seed=6)
    pairs, margin = positive_pairs(labels, labels, True), 0.3
    leaf, twin = x.to(DEVICE, copy=True).requires_grad_(), x.double().requires_grad_()
    if ranks:
        found = rank_and_hinge_sums(leaf, leaf, pairs.to(DEVICE), STEPS[1], margin, True)[1:]
    else:
        found = hinge_sums(leaf, leaf, pairs.to(DEVICE), margin, True)
    over = (twin @ twin.T - margin).clamp_min(0) * (labels[:, None] != labels)
    weights = torch.linspace(-1, 1, len(x), dtype=torch.float64)
    (over.sum(1) @ weights).backward()
    (found[0] @ weights.to(found[0])).backward()
    torch.testing.assert_close(
        found[0].detach().cpu().double(), over.sum(1).detach(), rtol=1e-5, atol=1e-5
    )
    assert torch.equal(found[1].cpu(), (over > 0).sum(1).float())
    torch.testing.assert_close(leaf.grad.cpu().double(), twin.grad, rtol=1e-5, atol=1e-4)


def against_references(x, other, pairs, step, margin=0.3):
    """Ranks among negatives and their excess together, with their weighted sum's gradients: all on the CPU."""
    sums, excess, violations = rank_and_hinge_sums(
        x, x if other is None else other, pairs, step, margin, other is None
    )
    weights = [torch.linspace(-1, 2, len(part)).to(part) for part in (sums, excess)]
    value = (sums * weights[0]).sum() + (excess * weights[1]).sum()
    leaves = [x] if other is None else [x, other]
    first = torch.autograd.grad(value, leaves, retain_graph=True)
    again = torch.autograd.grad(value, leaves)  # walks forward once more
    for one, two in zip(first, again, strict=True):  # a GPU adds in another order each time
        torch.testing.assert_close(one, two, rtol=1e-5, atol=1e-5 * float(one.abs().max()))
    return [part.detach().cpu().double() for part in (sums, excess, violations, *first)]


@pytest.mark.parametrize(("step", "references"), [(STEPS[0], False), (STEPS[1], True)])
def test_ranks_and_excess_of_one_walk(step, references):
    (x, labels), (ref, ref_labels) = batch(90, 20, 16, seed=6), batch(70, 20, 16, seed=7)
    other, other_labels = (ref, ref_labels) if references else (x, labels)
    pairs = shuffled(positive_pairs(labels, other_labels, exclude_self=not references))
    found = []
    for name, device, dtype in (("triton", DEVICE, torch.float32), ("plain", "cpu", torch.float64)):
        leaves = [rows.to(device, dtype, copy=True).requires_grad_() for rows in (x, ref)]
        with force(name):
            found.append(
                against_references(
                    leaves[0], leaves[1] if references else None, pairs.to(device), step
                )
            )
    assert torch.equal(found[0][2], found[1][2])
    for one, exact in zip(*found, strict=True):
        torch.testing.assert_close(one, exact, rtol=1e-5, atol=1e-5 * float(exact.abs().max()))


class Part(sharing.Share):
    """The part of one of several processes, without the others: what they would add up is left apart."""

    def sum(self, *parts):
        return parts

    def part_of_mean(self, gradient):
        return gradient


@pytest.mark.parametrize("references", [False, True], ids=["among itself", "references"])
def test_the_parts_of_three_processes_add_up_to_the_whole(references):
    (x, labels), (ref, ref_labels) = batch(70, 30, 16, seed=6), batch(66, 30, 16, seed=7)
    pairs = positive_pairs(
        labels, ref_labels if references else labels, exclude_self=not references
    ).to(DEVICE)

    def part(share):
        leaves = [rows.to(DEVICE, copy=True).requires_grad_() for rows in (x, ref)]
        with sharing.among(share):
            return against_references(leaves[0], leaves[1] if references else None, pairs, STEPS[1])

    whole, parts = part(sharing.ALONE), [part(Part(rank, 3)) for rank in range(3)]
    assert all(float(one[0].abs().sum()) < float(whole[0].abs().sum()) for one in parts)
    for one, *some in zip(whole, *parts, strict=True):
        torch.testing.assert_close(sum(some), one, rtol=1e-5, atol=1e-5 * float(one.abs().max()))


def test_the_parts_of_three_processes_add_up_to_the_whole_with_mixtures():
    x, _ = batch(68, 34, 16, seed=6)
    labels = torch.arange(34).repeat_interleave(2)
    parents, alpha, everyone = (one.to(DEVICE) for one in complete(labels, seed=6))
    pairs = positive_pairs(everyone, everyone, False)  # a row is its own positive, and ranked

    def part(share):
        leaf = x.to(DEVICE, copy=True).requires_grad_()
        with sharing.among(share):
            sums = mixed_rank_sums(leaf, parents, alpha, pairs, STEPS[0], False)
        (sums * torch.linspace(-1, 2, len(sums)).to(sums)).sum().backward()
        return sums.detach().cpu(), leaf.grad.cpu()

    whole, parts = part(sharing.ALONE), [part(Part(rank, 3)) for rank in range(3)]
    assert all(0 < float(one[0].abs().sum()) < float(whole[0].abs().sum()) for one in parts)
    for one, *some in zip(whole, *parts, strict=True):
        torch.testing.assert_close(sum(some), one, rtol=1e-5, atol=1e-5 * float(one.abs().max()))


@pytest.mark.parametrize("rows", ["quarters"] if INTERPRETED else ["quarters", "random"])
@pytest.mark.parametrize("a, b", [(3, 0), (70, 0), (3, 85), (70, 85)])
def test_an_equal_item_ties_to_the_last_bit(a, b, rows):
    """H- is a half at a tie and a whole beside it. The interpreter's products round by place, so it gets quarters."""
    draw = torch.Generator().manual_seed(7)
    x = torch.randint(-2, 3, (80, 16), generator=draw) / 4
    if rows == "random":
        x = torch.nn.functional.normalize(torch.randn(80, 300, generator=draw), dim=1)
    # in both tiles of a row, and on both sides of the diagonal
    x = torch.cat([x, x[:1].expand(20, -1)])
    gaps = (x.double() @ x[a].double()) - x[a].double() @ x[b].double()
    above, tied = int((gaps > 1e-6).sum()), int((gaps.abs() <= 1e-12).sum()) - 1
    pair, step = torch.tensor([[a, b]], device=DEVICE), HMinus(1e-7, 0.0, 0.0, 1.0)
    x = x.to(DEVICE)
    assert tied >= 20 and float(rank_sums(x, x, pair, step, False)) == pytest.approx(
        above + tied / 2, abs=1e-3
    )


@pytest.mark.parametrize("name", ["recall_at_k", "roadmap", "simix"] if INTERPRETED else ALL)
def test_a_loss_is_that_of_plain_tensors(name):
    knobs = {"simix": True} if name == "simix" else {}
    x, labels = batch(24, 7, 24, seed=8)
    found = []
    for name_of_path, dtype in (("triton", torch.float32), ("plain", torch.float64)):
        leaf = x.to(DEVICE, dtype, copy=True).requires_grad_()
        with force(name_of_path):
            loss = lab.losses.create("recall_at_k" if name == "simix" else name, **knobs)(
                leaf, labels.to(DEVICE)
            )
            loss.backward()
        found.append([t.detach().cpu().double() for t in (loss, leaf.grad)])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4 * float(other.abs().max()))


def test_what_it_does_not_take_goes_to_plain_tensors():
    from lab.kernels import paths

    assert path(DEVICE) == "triton"
    x, labels = batch(8, 2, 16, seed=9)
    pairs = positive_pairs(labels, labels, True).to(DEVICE)

    def chosen(rows, step):
        return paths.choose(rows.to(DEVICE), None, None, pairs, step, True, False, None)

    assert chosen(x, Sigmoid(0.01)) == "triton"
    assert (
        chosen(x.double(), Sigmoid(0.01))
        == chosen(x, Heaviside())
        == chosen(x, Sigmoid(0.01, clamp=1.0))
        == "plain"
    )
    torch.use_deterministic_algorithms(True)
    try:
        assert chosen(x, Sigmoid(0.01)) == "plain"
    finally:
        torch.use_deterministic_algorithms(False)


def test_no_pairs_give_an_empty_sum_with_a_zero_gradient():
    x = torch.eye(3, device=DEVICE).requires_grad_()
    sums = rank_sums(x, x, torch.empty(0, 2, dtype=torch.int64, device=DEVICE), Sigmoid(0.01), True)
    sums.sum().backward()
    assert sums.shape == (0,) and x.grad.eq(0).all()


def test_mixtures_are_tried_alone_whoever_asks_first():
    """Without a group of processes any collective would fail."""
    from lab.kernels.cuda import mixtures as fused

    with sharing.among(sharing.Share(0, 2)), torch.autocast(DEVICE.type, torch.bfloat16):
        fused.warm_up()
