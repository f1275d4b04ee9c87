"""Every way of computing rank sums against the plain loops, in value and in gradient."""

from __future__ import annotations

from itertools import product

import pytest
import torch

from lab.kernels import (
    force,
    mixed_rank_sums,
    negative_rank_sums,
    pair_similarities,
    positive_pairs,
    positive_rank_sums,
    rank_and_hinge_sums,
    rank_sums,
)
from lab.kernels.layout import cutoff
from lab.kernels.plain import ranks as plain
from lab.surrogates import Heaviside, HMinus, HPlus, Sigmoid
from tests.kernels import reference

STEPS = [Sigmoid(0.01), Sigmoid(0.1, clamp=50.0), HMinus(0.01, 100.0, 0.05), Heaviside()]


def batch(counts, d=8, seed=0, spread=0.5, dtype=torch.float64):
    """Rows of classes of the given sizes, shuffled, with two duplicated rows."""
    draw = torch.Generator().manual_seed(seed)
    labels = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
    labels = labels[torch.randperm(len(labels), generator=draw)]
    centres = torch.randn(len(counts), d, generator=draw, dtype=torch.float64)
    rows = centres[labels] + spread * torch.randn(
        len(labels), d, generator=draw, dtype=torch.float64
    )
    rows[1] = rows[0]
    return torch.nn.functional.normalize(rows, dim=1).to(dtype), labels


def positives_of(labels, ref_labels=None, include_self=False):
    same = labels[:, None] == (labels if ref_labels is None else ref_labels)
    if ref_labels is None and not include_self:
        same.fill_diagonal_(False)
    return same.nonzero()


def both(function, expected, tensors, *rest, tolerance=1e-9):
    """Value and gradient of `function` against `expected` under one random weighting of the sums."""
    found = []
    for f in (function, expected):
        leaves = [t.clone().requires_grad_() for t in tensors]
        sums = f(
            *(leaves if len(leaves) > 1 or f.__name__.startswith("mixed") else leaves * 2), *rest
        )
        weights = torch.randn(
            len(sums), generator=torch.Generator().manual_seed(1), dtype=torch.float64
        ).to(sums)
        if sums.requires_grad:
            (sums * weights).sum().backward()
        found.append(
            (sums.detach(), [torch.zeros_like(t) if t.grad is None else t.grad for t in leaves])
        )
    (value, grads), (value_expected, grads_expected) = found
    torch.testing.assert_close(value, value_expected, rtol=tolerance, atol=tolerance)
    for grad, grad_expected in zip(grads, grads_expected, strict=True):
        torch.testing.assert_close(grad, grad_expected, rtol=tolerance * 10, atol=tolerance * 10)


@pytest.fixture(params=["one block", "many blocks"])
def tiles(request, monkeypatch):
    """Sizes of classes: equal ones for one block, others for many."""
    if request.param == "one block":
        return [4] * 5
    monkeypatch.setattr(plain, "BLOCK_BYTES", 1024)
    monkeypatch.setattr(plain, "MIN_ROWS", 3)
    return [1, 1, 7, 3, 2]


@pytest.mark.parametrize("step", STEPS, ids=repr)
@pytest.mark.parametrize("exclude_self", [True, False])
@pytest.mark.parametrize(
    "function", [rank_sums, negative_rank_sums, positive_rank_sums], ids=lambda f: f.__name__
)
def test_one_set(function, step, exclude_self, tiles):
    x, labels = batch(tiles)
    pairs = positives_of(labels, include_self=not exclude_self)
    both(function, getattr(reference, function.__name__), [x], pairs, step, exclude_self)


@pytest.mark.parametrize("step", STEPS, ids=repr)
@pytest.mark.parametrize(
    "function", [rank_sums, negative_rank_sums, positive_rank_sums], ids=lambda f: f.__name__
)
def test_references(function, step, tiles):
    x, labels = batch([3, 4, 1])
    ref, ref_labels = batch([5, 0, 9], seed=2)
    both(
        function,
        getattr(reference, function.__name__),
        [x, ref],
        positives_of(labels, ref_labels),
        step,
        False,
    )


@pytest.mark.parametrize("step", STEPS[1:], ids=repr)
def test_mixed(step, tiles):
    exclude_self = tiles[0] == 1
    x, labels = batch([4, 3, 2, 1])
    parents = torch.triu((labels[:, None] == labels).int(), 1).nonzero()
    alpha = torch.rand(
        len(parents), generator=torch.Generator().manual_seed(3), dtype=torch.float64
    )
    everyone = torch.cat([labels, labels[parents[:, 0]]])
    both(
        mixed_rank_sums,
        reference.mixed_rank_sums,
        [x],
        parents,
        alpha,
        positives_of(everyone),
        step,
        exclude_self,
    )


def test_order_of_pairs_is_kept():
    x, labels = batch([4, 3, 2])
    pairs = positives_of(labels)
    shuffled = torch.randperm(len(pairs), generator=torch.Generator().manual_seed(4))
    for function in (rank_sums, negative_rank_sums, positive_rank_sums):
        straight = function(x, x, pairs, Sigmoid(0.01), True)
        torch.testing.assert_close(
            function(x, x, pairs[shuffled], Sigmoid(0.01), True), straight[shuffled]
        )


def test_duplicates_tie_exactly():
    """A duplicate of the positive counts as the step at zero, whatever its place in the batch."""
    x, labels = batch([4] * 40, d=64, dtype=torch.float32)
    x = torch.cat([x, x])
    pairs = positives_of(labels)
    sums = rank_sums(x, x, pairs, Heaviside(at_zero=1.0), True)
    without = rank_sums(x, x, pairs, Heaviside(at_zero=0.0), True)
    assert (sums - without >= 1).all()


@pytest.mark.parametrize(
    "function", [rank_sums, negative_rank_sums, positive_rank_sums], ids=lambda f: f.__name__
)
def test_no_pairs_give_an_empty_sum_with_a_zero_gradient(function):
    x = torch.eye(3).requires_grad_()
    sums = function(x, x, torch.empty(0, 2, dtype=torch.int64), Sigmoid(0.01), True)
    sums.sum().backward()
    assert sums.shape == (0,) and x.grad.eq(0).all()


def test_pair_similarities(tiles):
    def expected(queries, items, pairs):
        return (queries @ items.T)[pairs[:, 0], pairs[:, 1]]

    x, labels = batch([3, 4, 1])
    ref, ref_labels = batch([5, 0, 9], seed=2)
    both(pair_similarities, expected, [x, ref], positives_of(labels, ref_labels))
    both(pair_similarities, expected, [x], positives_of(labels))


@pytest.fixture
def small_tiles(monkeypatch):
    """Many tiles, so that every kind of them occurs in a small batch."""
    from lab.kernels.cpu import tiles

    monkeypatch.setattr(tiles, "LARGE_TILE", 24)
    monkeypatch.setattr(tiles, "WHOLE", 0)
    monkeypatch.setattr(tiles, "MIXED_TILE", 12)
    return monkeypatch


def excess(queries, items, pairs, margin, exclude_self):
    """The excess and violations of `rank_and_hinge_sums`, from the whole matrix."""
    over = queries @ items.T - margin
    counted = torch.ones_like(over)
    counted[pairs[:, 0], pairs[:, 1]] = 0
    if exclude_self:
        counted.fill_diagonal_(0)
    over = over.clamp_min(0) * counted
    return over.sum(1), (over > 0).sum(1)


@pytest.mark.parametrize(
    "path, dtype",
    [("plain", torch.float64), ("compiled", torch.float32)],
    ids=["plain", "compiled"],
)
@pytest.mark.parametrize("sparse", [-1.0, 1.0], ids=["tiles", "lists"])
def test_excess_in_the_same_walk(path, dtype, sparse, small_tiles, tiles):
    from lab.kernels.cpu import ranks as compiled

    small_tiles.setattr(compiled, "SPARSE", sparse)
    x, labels = batch([1, 30, 1, 7, 3, 2, 40, 5], d=16, dtype=dtype)
    pairs, step = positives_of(labels), HMinus(0.01, 0.0, 0.05)
    leaf, twin = x.clone().requires_grad_(), x.double().requires_grad_()
    with force(path):
        sums, over, violations = rank_and_hinge_sums(leaf, leaf, pairs, step, 0.3, True)
        weights = torch.randn(len(over), generator=torch.Generator().manual_seed(1))
        (over * weights).sum().backward()
        torch.testing.assert_close(sums, negative_rank_sums(x, x, pairs, step, True))
    over_expected, violations_expected = excess(twin, twin, pairs, 0.3, True)
    (over_expected * weights).sum().backward()
    assert torch.equal(violations, violations_expected.to(violations))
    torch.testing.assert_close(over, over_expected.to(over), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(leaf.grad, twin.grad.to(leaf), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("exclude_self", [True, False])
def test_positive_pairs(exclude_self):
    _, labels = batch([3, 4, 1, 6])
    labels = labels - 2
    assert torch.equal(
        positive_pairs(labels, labels, exclude_self),
        positives_of(labels, include_self=not exclude_self),
    )
    others = torch.tensor([7, -2, 0, -2, 1])
    assert torch.equal(positive_pairs(labels, others, False), positives_of(labels, others))


COMPILED = [
    Sigmoid(0.01),
    Sigmoid(0.1),
    Sigmoid(0.02, clamp=50.0),
    HMinus(0.01, 100.0, 0.05),
    HMinus(0.02, 3.0, 0.1, 1.0, 0.0),
]


def compare_compiled(function, x, *rest, tolerance=2e-5):
    """Compiled float32 against plain float64, value and gradient, relative to the largest number."""
    found = []
    for name, rows in (("compiled", x.float()), ("plain", x.double())):
        leaf = rows.clone().requires_grad_()
        with force(name):
            sums = function(*([leaf] if function is mixed_rank_sums else [leaf, leaf]), *rest)
            weights = torch.randn(len(sums), generator=torch.Generator().manual_seed(1)).to(sums)
            (sums * weights).sum().backward()
        found.append((sums.detach().double(), leaf.grad.double()))
    (value, grad), (value_expected, grad_expected) = found
    torch.testing.assert_close(value, value_expected, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(
        grad, grad_expected, rtol=tolerance, atol=tolerance * float(grad_expected.abs().max())
    )


KEPT = ["all tiles kept", "none kept", "all listed", "one tile", "one tile listed"]
UNEQUAL = [1, 30, 1, 7, 3, 2, 40, 5, 5, 2]
WALKS = list(
    product(KEPT, COMPILED, [True, False], [rank_sums, negative_rank_sums], [[4] * 25, UNEQUAL])
)
"""All ways of walking; every third has each pair of choices."""


@pytest.mark.parametrize(("kept", "step", "exclude_self", "function", "counts"), WALKS[::3])
def test_compiled_tiles(function, step, exclude_self, counts, kept, small_tiles):
    from lab.kernels.cpu import ranks as compiled
    from lab.kernels.cpu import tiles

    small_tiles.setattr(compiled, "SPARSE", 1.0 if kept.endswith("listed") else -1.0)
    small_tiles.setattr(compiled, "KEPT_BYTES", (1 << 20) if kept == "all tiles kept" else 0)
    small_tiles.setattr(tiles, "WHOLE", 1000 if kept.startswith("one tile") else 0)
    x, labels = batch(counts, d=16)
    x[1] += 1e-3  # ties are for the plain path: rounding decides them here
    compare_compiled(
        function, x, positives_of(labels, include_self=not exclude_self), step, exclude_self
    )


@pytest.mark.parametrize("step", [*COMPILED, HPlus()], ids=repr)
@pytest.mark.parametrize("exclude_self", [True, False])
def test_compiled_ranks_among_the_positives(step, exclude_self):
    x, labels = batch(UNEQUAL, d=16)
    pairs = positives_of(labels, include_self=True)
    pairs = pairs[torch.randperm(len(pairs), generator=torch.Generator().manual_seed(2))]
    compare_compiled(positive_rank_sums, x, pairs, step, exclude_self)


@pytest.mark.parametrize(
    "function", [rank_sums, negative_rank_sums, positive_rank_sums], ids=lambda f: f.__name__
)
def test_a_pair_that_is_listed_twice_is_refused(function):
    x, labels = batch([3, 3])
    pairs = positives_of(labels)
    query, item = pairs[3].tolist()
    with pytest.raises(
        ValueError, match=f"each pair once, got query {query} with item {item} twice"
    ):
        function(x, x, torch.cat([pairs, pairs[3:4]]), Sigmoid(0.1), True)
    function(x, x, pairs.flip(0), Sigmoid(0.1), True)  # in any order


@pytest.mark.parametrize("step", COMPILED, ids=repr)
@pytest.mark.parametrize("exclude_self", [True, False])
@pytest.mark.parametrize(
    "counts", [[4] * 12, [1, 9, 1, 7, 3, 2, 5, 5, 2]], ids=["equal", "unequal"]
)
def test_compiled_mixtures(step, exclude_self, counts, small_tiles):
    x, labels = batch(counts, d=16)
    x[1] += 1e-3  # as above
    parents = torch.triu((labels[:, None] == labels).int(), 1).nonzero()
    alpha = torch.rand(
        len(parents), generator=torch.Generator().manual_seed(3), dtype=torch.float64
    )
    everyone = torch.cat([labels, labels[parents[:, 0]]])
    compare_compiled(mixed_rank_sums, x, parents, alpha, positives_of(everyone), step, exclude_self)


@pytest.mark.parametrize("ranked", [2, 10**6])
@pytest.mark.parametrize("step", [Sigmoid(0.001), Sigmoid(0.1), HMinus(0.01, 0.0, 0.05)], ids=repr)
def test_what_is_left_out_is_below_rounding(step, ranked):
    """The stated bound: all items beyond the cutoff together, value below 2^-23 and gradient below 2^-23 / tau."""
    below, above = (torch.tensor(x, dtype=torch.float64) for x in cutoff(step, ranked))
    assert ranked * step.value(below) <= 2**-23
    assert ranked * step.derivative(below) <= 2**-23 / step.tau
    beyond = above + torch.logspace(-9, 0, 50, dtype=torch.float64)
    assert (ranked * step.derivative(beyond) <= 2**-23 / step.tau).all()


def test_the_gradient_of_a_mostly_silent_batch_is_within_the_bound():
    """Left-out gradients, seen whole: classes so far apart that compiled lists hold next to nothing."""
    x, labels = batch([4] * 100, d=32, spread=0.15)
    x[1] += 1e-3
    pairs, step = positives_of(labels), Sigmoid(0.01)
    found = []
    for path, rows in (("compiled", x.float()), ("plain", x.float().double())):
        leaf = rows.clone().requires_grad_()
        with force(path):
            sums = rank_sums(leaf, leaf, pairs, step, True)
            sums.sum().backward()
        found.append((sums.detach().double(), leaf.grad.double()))
    (value, grad), (value_expected, grad_expected) = found
    assert (value - value_expected).abs().max() <= 2**-23 + 2e-5 * float(value_expected.max())
    # A row of three pairs as query (twice each: item and positive), of three as positive, and in 1 / n of everybody's.
    bound, rounding = 12 * 2**-23 / step.tau, 2e-5 * float(grad_expected.abs().max())
    assert (grad - grad_expected).norm(dim=1).max() <= bound + rounding


@pytest.mark.parametrize("path", ["plain", "compiled"])
def test_a_second_backward_finds_the_same(path):
    x, labels = batch([4] * 8, dtype=torch.float32)
    x.requires_grad_()
    with force(path):
        total = rank_sums(x, x, positives_of(labels), Sigmoid(0.1), True).square().sum()
    first, second = (torch.autograd.grad(total, x, retain_graph=True)[0] for _ in range(2))
    torch.testing.assert_close(first, second)


def test_autocast_does_not_reach_the_products():
    x, labels = batch([4] * 8, d=64, dtype=torch.float32)
    pairs = positives_of(labels)
    plain = rank_sums(x, x, pairs, Sigmoid(0.01), True)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(rank_sums(x, x, pairs, Sigmoid(0.01), True), plain)


@pytest.mark.parametrize(
    "change, sentence",
    [
        (dict(queries=torch.zeros(3)), "must be a matrix"),
        (dict(queries=torch.zeros(3, 4, dtype=torch.float16)), "float32 or float64"),
        (dict(items=torch.zeros(3, 5)), "one width"),
        (dict(items=torch.zeros(3, 4, dtype=torch.float64)), "share type"),
        (dict(positives=torch.zeros(3, 2)), "int64"),
        (dict(positives=torch.tensor([[0, 3]])), "below 3 and 3"),
        (dict(items=torch.zeros(2, 4), positives=torch.tensor([[0, 1]])), "exclude_self"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_input_is_refused(change, sentence):
    given = (
        dict(queries=torch.zeros(3, 4), items=torch.zeros(3, 4), positives=torch.tensor([[0, 1]]))
        | change
    )
    with pytest.raises(ValueError, match=sentence):
        rank_sums(**given, step=Sigmoid(0.01), exclude_self=True)
