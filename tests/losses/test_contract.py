"""What every loss promises, over whatever `names()` finds. A new file is tested without an edit."""

import io
import warnings
from typing import get_args

import pytest
import torch
from safetensors.torch import load, save

from lab import losses
from lab.core.knobs import describe
from lab.losses import Family
from lab.losses._batch import admit

LABELS = [4, 0, 2, 2, 0, 1, 2, 4, 3, 2, 0]
"""Legal for losses with five classes too; 1 and 3 are singletons."""
PAIRED = [2, 0, 1, 1, 0, 2, 1, 2]
CLASSES, DIM = 5, 6


def with_variants():
    for name in losses.names():
        variants = next(
            (k.choices for k in describe(losses.get(name).Knobs) if k.name == "variant"), ("",)
        )
        yield from (
            pytest.param(name, {"variant": v} if v else {}, id=f"{name}-{v}".strip("-"))
            for v in variants
        )


def build(name, num_classes=CLASSES, dim=DIM, **knobs):
    torch.manual_seed(0)
    return losses.get(name).sized(num_classes, dim, **knobs)


def is_class_loss(name):
    return "num_classes" in losses.get(name).Knobs.model_fields


def batch(labels=LABELS, dtype=torch.float64, seed=1):
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(len(labels), DIM, generator=generator, dtype=torch.float64)
    return rows.to(dtype).requires_grad_(), torch.tensor(labels, dtype=torch.int64)


def value_and_gradient(loss, rows, labels, **given):
    total = loss(rows, labels, **given)
    return total.detach(), torch.autograd.grad(total, rows)[0]


every_loss = pytest.mark.parametrize("name", losses.names())
every_class_loss = pytest.mark.parametrize("name", [n for n in losses.names() if is_class_loss(n)])
every_variant = pytest.mark.parametrize(("name", "knobs"), list(with_variants()))


@every_variant
def test_order_does_not_matter(name, knobs):
    loss = build(name, **knobs, **losses.get(name).without_chance).double().eval()
    rows, labels = batch()
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(3))
    total, gradient = value_and_gradient(loss, rows, labels)
    shuffled = rows.detach()[order].requires_grad_()
    again, moved = value_and_gradient(loss, shuffled, labels[order])
    torch.testing.assert_close(again, total)
    torch.testing.assert_close(moved, gradient[order])
    torch.testing.assert_close(
        loss.per_query(shuffled, labels[order]), loss.per_query(rows, labels)[order], equal_nan=True
    )


@every_variant
def test_float32_is_near_float64(name, knobs):
    loss = build(name, **knobs).eval()
    rows, labels = batch(dtype=torch.float32)
    single, of_single = value_and_gradient(loss, rows, labels)
    assert single.dtype == of_single.dtype == torch.float32
    double, of_double = value_and_gradient(
        loss.double(), rows.detach().double().requires_grad_(), labels
    )
    assert double.dtype == of_double.dtype == torch.float64
    torch.testing.assert_close(single.double(), double, rtol=2e-5, atol=1e-6)
    torch.testing.assert_close(
        of_single.double(), of_double, rtol=1e-3, atol=1e-4 * float(of_double.abs().max())
    )


@every_loss
def test_half_precision_is_computed_in_float32(name, half=torch.bfloat16):
    loss = build(name).eval()
    rows, labels = batch(dtype=torch.float32)
    short = rows.detach().to(half)
    wanted = loss(short.float(), labels)
    given = short.clone().requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        total = loss(given, labels)
    assert total.dtype == torch.float32
    torch.testing.assert_close(total, wanted, rtol=1e-6, atol=1e-7)
    total.backward()
    assert given.grad.dtype == half and torch.isfinite(given.grad).all()


@every_variant
def test_mean_of_queries(name, knobs):
    loss = build(name, **knobs).double().eval()
    for labels in (LABELS, PAIRED):
        rows, target = batch(labels)
        values = loss.per_query(rows, target)
        assert values.shape == (len(labels),)
        has_positive = torch.tensor([labels.count(label) > 1 for label in labels])
        if loss.needs_positives:
            counts_itself = (~values.isnan())[~has_positive]
            assert not values[has_positive].isnan().any()
            assert counts_itself.all() or not counts_itself.any()
        else:
            assert torch.isfinite(values).all()
        if loss.mean_of_queries or (labels is PAIRED and loss.shares_add_up):
            torch.testing.assert_close(values.nanmean(), loss(rows, target))


@every_variant
def test_without_a_positive_pair_a_warning_and_a_zero_unless_negatives_teach(name, knobs):
    loss = build(name, **knobs)
    rows, labels = batch([0, 1, 2, 3])
    if not loss.needs_positives:
        assert float(loss(rows.float(), labels).detach()) > 0
        return
    follows = "it only pushes negatives apart" if loss.learns_from_negatives else "the loss is zero"
    with pytest.warns(UserWarning, match=rf"share a label among 4 queries, so {follows}"):
        total, gradient = value_and_gradient(loss, rows, labels)
    assert loss.learns_from_negatives or (total == 0 and (gradient == 0).all())
    assert loss.per_query(rows, labels).isnan().all()


@every_variant
@pytest.mark.parametrize("labels", [[], [2], [3] * 5, [1, 1, 4]])
def test_tiny_batches(name, knobs, labels):
    loss = build(name, **knobs)
    rows, target = batch(labels, torch.float32)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        total, gradient = value_and_gradient(loss, rows, target)
    assert torch.isfinite(total) and torch.isfinite(gradient).all()
    told = [str(w.message) for w in caught]
    if not labels or (loss.needs_positives and len(labels) == 1):
        assert total == 0 and any("loss is zero" in one for one in told)
    one_class = any("every image of this batch has the same label" in message for message in told)
    assert one_class == (len(labels) == 5 and total == 0)
    assert loss.per_query(rows, target).shape == (len(labels),)


@every_loss
def test_length_of_rows_does_not_matter_where_cosines_are_compared(name):
    loss = build(name).double().eval()
    rows, labels = batch()
    longer = rows * torch.linspace(0.1, 9, len(labels), dtype=torch.float64)[:, None]
    same = torch.allclose(loss(longer, labels), loss(rows, labels), rtol=1e-9)
    assert same != loss.lengths_matter


@every_loss
@pytest.mark.parametrize(("bad", "what"), [(torch.nan, "NaN"), (torch.inf, "an infinite value")])
def test_a_value_that_is_not_finite_is_named_by_its_row(name, bad, what):
    loss = build(name)
    rows, labels = batch(dtype=torch.float32)
    rows = rows.detach()
    rows[3, 1] = rows[7, 0] = bad
    for call in (loss, loss.per_query):
        with pytest.raises(
            ValueError, match=rf"row 3 of embeddings holds {what} \(first of 2 bad rows among 11\)"
        ):
            call(rows, labels)


def test_finite_rows_whose_sum_overflows_are_admitted():
    assert len(admit("Loss", torch.full((4, 4), 3e38), torch.arange(4))) == 4


BAD = {
    "one row": (lambda r, y: (r[0], y), "embeddings must be a float tensor"),
    "whole numbers": (lambda r, y: (r.long(), y), "embeddings must be a float tensor"),
    "no tensor": (lambda r, y: (r.tolist(), y), "embeddings must be a float tensor.*got list"),
    "label matrix": (lambda r, y: (r, y[:, None]), "labels must be a tensor"),
    "label fractions": (lambda r, y: (r, y.float()), "labels must be a tensor.*whole numbers"),
    "label truth": (lambda r, y: (r, y > 0), "labels must be a tensor.*whole numbers"),
    "too few labels": (lambda r, y: (r, y[:4]), "must pair up, got 11 rows and 4"),
}


@pytest.mark.parametrize("name", ["smooth_ap", "contrastive", "proxy_nca"])
@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_a_sentence(name, case):
    spoil, message = BAD[case]
    rows, labels = batch(dtype=torch.float32)
    loss = build(name)
    with pytest.raises(ValueError, match=rf"{type(loss).__name__}: .*{message}"):
        loss(*spoil(rows.detach(), labels))


@every_loss
def test_references(name):
    loss = build(name).double().eval()
    rows, labels = batch()
    others, other_labels = batch([0, 0, 2, 1, 4, 2, 2], seed=9)
    if not loss.takes_references:
        with pytest.raises(ValueError, match="takes no ref_emb"):
            loss(rows, labels, ref_emb=others, ref_labels=other_labels)
        assert loss(rows, labels, ref_emb=rows, ref_labels=labels) == loss(rows, labels)
        return
    torch.testing.assert_close(
        loss(rows, labels, ref_emb=rows, ref_labels=labels), loss(rows, labels)
    )
    total = loss(rows, labels, ref_emb=others, ref_labels=other_labels)
    values = loss.per_query(rows, labels, others, other_labels)
    lonely = torch.tensor([label not in other_labels.tolist() for label in LABELS])
    assert torch.equal(values.isnan(), lonely)
    of_rows, of_others = torch.autograd.grad(total, (rows, others))
    assert of_rows.abs().sum() > 0 and of_others.abs().sum() > 0
    with pytest.raises(ValueError, match="ref_emb needs ref_labels"):
        loss(rows, labels, ref_emb=others)
    with pytest.raises(ValueError, match="ref_labels came without ref_emb"):
        loss(rows, labels, ref_labels=other_labels)
    with pytest.raises(ValueError, match="ref_emb must be as wide as embeddings, got 4 and 6"):
        loss(rows, labels, ref_emb=others[:, :4], ref_labels=other_labels)
    with pytest.raises(ValueError, match="ref_labels must equal labels"):
        loss(rows, labels, ref_emb=rows, ref_labels=labels + 1)


@every_loss
def test_third_argument_of_pytorch_metric_learning_trainers(name):
    loss = build(name).double().eval()
    rows, labels = batch()
    torch.testing.assert_close(loss(rows, labels, None), loss(rows, labels))
    positives, negatives = (
        torch.tensor([[2, 3], [3, 2], [2, 6]]).T,
        torch.tensor([[2, 0], [3, 1], [6, 8]]).T,
    )
    mined = (*positives, *negatives)
    if loss.takes_mined_pairs:
        assert torch.isfinite(loss(rows, labels, mined))
    else:
        with pytest.raises(ValueError, match="takes no mined pairs; leave out the third argument"):
            loss(rows, labels, mined)
    with pytest.raises(
        ValueError, match=r"third argument is a miner's indices tuple, got a tensor .*ref_emb="
    ):
        loss(rows, labels, rows.detach(), labels)


@every_class_loss
def test_class_losses_check_labels_and_width(name):
    loss = build(name)
    rows, labels = batch(dtype=torch.float32)
    with pytest.raises(ValueError, match=r"0 <= label < 5 \(num_classes\), got 1 to 5"):
        loss(rows, labels + 1)
    with pytest.raises(ValueError, match="embeddings of width 6, got 5"):
        loss(rows[:, :5], labels)
    with pytest.raises(ValueError, match="needs num_classes"):
        losses.create(name, dim=DIM)


@every_loss
def test_what_it_compares_and_what_it_holds_is_declared(name):
    loss = build(name)
    assert loss.family in get_args(Family), "name what it compares in `family`"
    if loss.peak is not None:
        assert 0 < loss.peak.bytes(64, DIM, 4) < loss.peak.bytes(4096, DIM, 4)


@every_loss
def test_every_hyper_parameter_has_a_range_a_scale_and_help(name):
    for knob in describe(losses.get(name).Knobs):
        assert knob.help.endswith(".") and knob.scale in ("linear", "log")
        if knob.kind in (int, float):
            bounded = [knob.ge, knob.gt, knob.le, knob.lt]
            assert any(bound is not None for bound in bounded) or knob.name == "offset", knob.name


@every_variant
def test_weights_and_state_survive_safetensors(name, knobs):
    loss, other = build(name, **knobs), build(name, **knobs)
    rows, labels = batch(dtype=torch.float32)
    for _ in range(2):
        loss(rows, labels)
    for parameter in loss.parameters():
        torch.nn.init.normal_(parameter)
    other.load_state_dict(load(save(loss.state_dict())))
    assert torch.equal(other(rows, labels), loss(rows, labels))
    torch.save(loss, io.BytesIO())


@pytest.mark.parametrize("name", [n for n in losses.names() if losses.get(n).exact_gradient])
def test_descending_the_gradient_lowers_the_loss(name):
    loss = build(name).double().eval()
    rows, labels = batch(PAIRED)
    total, gradient = value_and_gradient(loss, rows, labels)
    stepped = rows.detach() - 1e-4 * gradient / gradient.norm().clamp_min(1e-12)
    assert loss(stepped, labels) < total
