"""What wrappers add to a loss, against the formula, golden vectors and a memory kept by hand."""

from collections import deque

import pytest
import torch
from losses import reference
from losses.golden import Golden, assert_gradient, assert_value, cases
from losses.test_golden_losses import mixing_weights
from pytorch_metric_learning.losses import ContrastiveLoss, ThresholdConsistentMarginLoss
from safetensors.torch import load, save

from lab import losses, wrappers
from lab.kernels import unit

DIM = 5
LABELS = [4, 0, 2, 2, 0, 1, 2, 4, 3, 2, 0]


def batch(seed=0, labels=LABELS, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(len(labels), DIM, generator=generator, dtype=torch.float64).to(dtype)
    return rows.requires_grad_(), torch.tensor(labels)


def wrap(name, loss, dim=DIM, **knobs):
    return wrappers.get(name).sized(0, dim, loss=loss, **knobs)


every_wrapper = pytest.mark.parametrize("name", wrappers.names())


@every_wrapper
def test_same_calling_convention(name):
    wrapped = wrap(name, losses.create("smooth_ap")).double().eval()
    rows, labels = batch()
    total = wrapped(rows, labels)
    assert total.shape == () and torch.isfinite(total)
    torch.testing.assert_close(wrapped(rows, labels, None), total)
    if wrapped.mean_of_queries:
        torch.testing.assert_close(wrapped.per_query(rows, labels).nanmean(), total)
    assert torch.autograd.grad(total, rows)[0].abs().sum() > 0
    with pytest.raises(ValueError, match="row 2 of embeddings holds NaN"):
        wrapped(rows.detach().index_fill(0, torch.tensor([2]), torch.nan), labels)
    with pytest.raises(ValueError, match="has no knob 'temperature'"):
        wrap(name, losses.create("smooth_ap"), temperature=1.0)
    with pytest.raises(ValueError, match="needs a loss to wrap, got str"):
        wrap(name, "smooth_ap")


@every_wrapper
@pytest.mark.parametrize(
    "inner", ["smooth_ap", "contextual", "cross_entropy", "class_anchor_margin", "triplet_margin"]
)
def test_any_loss(name, inner):
    shape = (
        {"num_classes": 5, "dim": DIM}
        if "num_classes" in losses.get(inner).Knobs.model_fields
        else {}
    )
    loss = losses.create(inner, **shape)
    if shape and name == "cross_batch_memory":
        with pytest.raises(ValueError, match="needs a loss that ranks references"):
            wrap(name, loss)
        return
    wrapped = wrap(name, loss)
    for seed in (0, 1):
        rows, labels = batch(seed, dtype=torch.float32)
        total = wrapped(rows, labels)
        total.backward()
        assert (
            torch.isfinite(total) and torch.isfinite(rows.grad).all() and rows.grad.abs().sum() > 0
        )
        values = wrapped.per_query(rows, labels)
        assert len(values) >= len(labels)
    if shape:
        with pytest.raises(ValueError, match="0 <= label < 5"):
            wrapped(rows, labels + 5)


@every_wrapper
def test_losses_of_others(name):
    wrapped = wrap(name, ContrastiveLoss()).eval()
    ours = wrap(name, losses.create("contrastive")).eval()
    rows, labels = batch(dtype=torch.float32)
    torch.testing.assert_close(wrapped(rows, labels), ours(rows, labels))
    with pytest.raises(ValueError, match="ContrastiveLoss returns one number per batch"):
        wrapped.per_query(rows, labels)


@pytest.mark.parametrize("inner", ["smooth_ap", "contrastive", "contextual"])
def test_similarity_regulariser(inner):
    rows, labels = batch()
    loss = losses.create(inner)
    wrapped = wrappers.create("similarity_regulariser", loss=loss, gamma=0.25, s_tilde=0.4)
    scores = reference.similarities(unit(rows))
    overall = sum(one for row in scores for one in row) / len(rows) ** 2
    wanted = 0.25 * (0.4 - overall) ** 2 + 0.75 * loss(rows, labels)
    total = wrapped(rows, labels)
    torch.testing.assert_close(total, wanted)
    torch.testing.assert_close(
        torch.autograd.grad(total, rows)[0], torch.autograd.grad(wanted, rows)[0]
    )


@pytest.mark.parametrize("inner", ["smooth_ap", "softbin_ap", "blackbox_ap", "class_anchor_margin"])
def test_with_contrastive_against_plain_loops(inner):
    rows, labels = batch()
    loss = losses.get(inner).sized(5, DIM).double()
    wrapped = wrappers.create("with_contrastive", loss=loss, lam=0.3, delta_pos=0.8, delta_neg=0.1)
    contrast = reference.contrastive_of_active_pairs(unit(rows), LABELS, 0.8, 0.1)
    total, wanted = wrapped(rows, labels), 0.3 * loss(rows, labels) + 0.7 * contrast
    torch.testing.assert_close(total, wanted)
    torch.testing.assert_close(
        torch.autograd.grad(total, rows)[0], torch.autograd.grad(wanted, rows)[0]
    )


@pytest.mark.parametrize("inner", ["smooth_ap", "class_anchor_margin"])
def test_threshold_consistent_margin_against_plain_loops(inner):
    rows, labels = batch()
    loss, knobs = losses.get(inner).sized(5, DIM).double(), (0.8, 0.1, 0.7, 2.0)
    names = ("margin_pos", "margin_neg", "weight_pos", "weight_neg")
    wrapped = wrappers.create(
        "threshold_consistent_margin", loss=loss, **dict(zip(names, knobs, strict=True))
    )
    wanted = loss(rows, labels) + reference.threshold_consistent_margin(unit(rows), LABELS, *knobs)
    total = wrapped(rows, labels)
    torch.testing.assert_close(total, wanted)
    torch.testing.assert_close(
        torch.autograd.grad(total, rows)[0], torch.autograd.grad(wanted, rows)[0]
    )


AT_THE_MARGINS = [[1.0, 0.0], [0.9, 0.19**0.5], [0.5, 0.75**0.5], [0.0, 1.0], [-1.0, 0.0]]


@pytest.mark.parametrize(
    "rows", [batch()[0].detach(), torch.tensor(AT_THE_MARGINS, dtype=torch.float64)]
)
def test_threshold_consistent_margin_is_that_of_others_and_the_released_calibration(rows):
    labels, loss = (
        torch.tensor(LABELS[: len(rows)] if len(rows) > 5 else [0, 0, 1, 1, 2]),
        losses.create("sup_ap"),
    )
    rows = unit(rows).requires_grad_()
    ours = wrappers.create("threshold_consistent_margin", loss=loss)(rows, labels) - loss(
        rows, labels
    )
    theirs = ThresholdConsistentMarginLoss()(rows, labels)
    torch.testing.assert_close(ours, theirs)
    # at a margin itself they disagree: a pair there counts in the one and not in the other
    if len(rows) > 5:
        released = losses.create("calibration", variant="released", alpha=0.9, beta=0.5)(
            rows, labels
        )
        torch.testing.assert_close(ours, released)
        tangent = lambda value: torch.autograd.grad(value, rows, retain_graph=True)[0]  # noqa: E731
        # rows stay on the sphere
        along = tangent(theirs) - (tangent(theirs) * rows).sum(1, keepdim=True) * rows
        mine = tangent(ours) - (tangent(ours) * rows).sum(1, keepdim=True) * rows
        torch.testing.assert_close(mine, along)


@pytest.mark.parametrize("case", cases("rsk_simix"))
def test_simix_on_recall_equals_its_own(case):
    golden = Golden("rsk_simix", case)
    embeddings, labels = golden.input()
    wrapped = wrappers.create(
        "simix", loss=losses.create("recall_at_k", k=tuple(golden.hp["k_vals"]))
    )
    total = wrapped(embeddings, labels, alpha=mixing_weights(golden))
    assert_value(total, golden.number("paper_loss"))
    (found,) = torch.autograd.grad(total, embeddings)
    assert_gradient(found, golden.tensor("paper_grad"), embeddings)


@pytest.mark.parametrize("inner", ["smooth_ap", "sup_ap", "calibration"])
def test_simix_does_not_renormalise(inner):
    rows, labels = batch()
    couples = sum(1 for i in range(len(LABELS)) for j in range(i) if LABELS[i] == LABELS[j])
    alpha = torch.linspace(0.1, 0.9, couples, dtype=torch.float64)
    mixed, mixed_labels = reference.virtual(unit(rows), LABELS, alpha)
    formula = {
        "smooth_ap": lambda: reference.smooth_ap(mixed, mixed_labels, 0.01, False),
        "sup_ap": lambda: reference.sup_ap(mixed, mixed_labels, 0.01, 100.0, 0.05, None, 0.5, True),
        "calibration": lambda: reference.calibration(mixed, mixed_labels, 0.9, 0.6, False),
    }[inner]
    wrapped = wrappers.create("simix", loss=losses.create(inner))
    values = wrapped.per_query(rows, labels, alpha=alpha)
    torch.testing.assert_close(values, formula(), rtol=1e-9, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("own", [True, False])
def test_simix_draws_are_reproducible_and_resume(own):
    def build():
        if own:
            return losses.create("recall_at_k", simix=True, seed=5)
        return wrappers.create("simix", loss=losses.create("recall_at_k"), seed=5)

    rows, labels = batch(dtype=torch.float32)
    loss, again = build(), build()
    seen = [loss(rows, labels).item() for _ in range(4)]
    assert len(set(seen)) == 4, "each training call mixes anew"
    assert seen[:2] == [again(rows, labels).item() for _ in range(2)]
    resumed = build()
    resumed.load_state_dict(load(save(again.state_dict())))
    assert [resumed(rows, labels).item() for _ in range(2)] == seen[2:]
    loss.eval()
    assert loss(rows, labels) == loss(rows, labels), "evaluation does not use up draws"
    torch.testing.assert_close(loss.per_query(rows, labels).nanmean(), loss(rows, labels))
    assert loss.per_query(rows, labels).shape == (11 + 3 + 6 + 1,)


@pytest.mark.parametrize("own", [True, False])
def test_simix_checks_the_weights(own):
    inner = losses.create("recall_at_k", simix=own)
    loss = inner if own else wrappers.create("simix", loss=inner)
    rows, labels = batch()
    with pytest.raises(ValueError, match=r"one weight a pair of positives, \[10\], got \[3\]"):
        loss(rows, labels, alpha=torch.ones(3))
    with pytest.raises(ValueError, match="alpha must satisfy 0 <= alpha <= 1, got 0.5 to 1.5"):
        loss(rows, labels, alpha=torch.linspace(0.5, 1.5, 10))
    with pytest.raises(ValueError, match="takes n.* ref_emb"):
        loss(rows, labels, ref_emb=rows.detach().clone(), ref_labels=labels)
    with pytest.raises(ValueError, match="alpha needs simix=True"):
        losses.create("recall_at_k")(rows, labels, alpha=torch.ones(10))


class ReleasedContrastive(torch.nn.Module):
    """The pair loss of the released memory code: sum(1 - s) and, over .5, sum(s), divided by the batch."""

    def forward(self, embeddings, labels, indices_tuple=None, ref_emb=None, ref_labels=None):
        items = embeddings if ref_emb is None else ref_emb
        item_labels = labels if ref_emb is None else ref_labels
        scores = embeddings @ items.T
        same = labels[:, None] == item_labels[None, :]
        if indices_tuple is not None:
            anchors, positives, *_ = indices_tuple
            same_other = torch.zeros_like(same)
            same_other[anchors, positives] = True
        else:
            same_other = same.clone().fill_diagonal_(False)
        near = ~same & (scores > 0.5)
        return ((1 - scores)[same_other].sum() + scores[near].sum()) / len(embeddings)


@pytest.mark.parametrize("case", cases("xbm_contrastive"))
def test_cross_batch_memory_is_an_exact_ring(case):
    golden = Golden("xbm_contrastive", case)
    rows, labels = golden.tensor("embeddings"), golden.tensor("labels")
    shape = {"size": golden.hp["memory_size"], "dim": rows.shape[2]}
    memory = wrappers.create("cross_batch_memory", loss=ReleasedContrastive(), **shape).double()
    both = wrappers.create(
        "cross_batch_memory", loss=ReleasedContrastive(), batch_weight=1.0, **shape
    ).double()
    wanted = golden.data["xbm_loss_exact_fifo_incl_current"]
    for step in range(len(rows)):
        given = rows[step].clone().requires_grad_()
        assert_value(memory(given, labels[step]), wanted[step])
        total = both(given, labels[step])
        assert_value(total, wanted[step] + golden.data["batch_loss"][step])
        if case == "k64_b8_nooverflow":
            assert_value(total, golden.data["total_loss"][step])
            (found,) = torch.autograd.grad(total, given)
            assert_gradient(found, golden.tensor("grad")[step])


@pytest.mark.parametrize(
    "inner", ["smooth_ap", "sup_ap", "recall_at_k", "calibration", "fast_ap", "contextual"]
)
def test_memory_equals_references_kept_by_hand(inner):
    """Against what a queue holds, ranked by the plain loss of the whole set, of which the batch is the first rows."""
    loss = losses.create(inner, **({"k": 3} if inner == "contextual" else {}))
    memory = wrap("cross_batch_memory", loss, size=26).double()
    queue = deque(maxlen=26)
    for seed in range(5):
        rows, labels = batch(seed)
        earlier = list(queue)[-(26 - len(labels)) :]
        everything = torch.stack([*unit(rows), *(row for row, _ in earlier)])
        every_label = torch.tensor([*labels.tolist(), *(label for _, label in earlier)])
        values = memory.per_query(rows, labels)
        if inner != "contextual":
            wanted = loss.per_query(everything, every_label)[: len(labels)]
            torch.testing.assert_close(values, wanted, equal_nan=True)
        total = memory(rows, labels)
        if inner != "contextual":
            torch.testing.assert_close(total, values.nanmean())
        queue.extend(zip(unit(rows).detach(), labels.tolist(), strict=True))
    assert int(memory.seen) == 55


def test_memory_carries_no_gradient_and_leaves_out_self_by_position():
    rows = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.6, 0.8], [0.0, 1.0]], requires_grad=True)
    labels = torch.tensor([0, 0, 0, 1])
    loss = losses.create("calibration")
    memory = wrappers.create("cross_batch_memory", loss=loss, dim=2, size=8)
    copies = loss.per_query(rows, labels)
    torch.testing.assert_close(memory.per_query(rows, labels), copies, equal_nan=True)
    (of_memory,) = torch.autograd.grad(memory(rows, labels), rows)
    (of_batch,) = torch.autograd.grad(loss(rows, labels), rows)
    assert not torch.allclose(of_memory, of_batch), "items carry no gradient"


def test_memory_resumes_exactly():
    def build():
        return wrap("cross_batch_memory", losses.create("smooth_ap"), size=16)

    whole, first = build(), build()
    seen = [whole(*batch(seed, dtype=torch.float32)).item() for seed in range(5)]
    assert [first(*batch(seed, dtype=torch.float32)).item() for seed in range(3)] == seen[:3]
    second = build()
    second.load_state_dict(load(save(first.state_dict())))
    assert [second(*batch(seed, dtype=torch.float32)).item() for seed in (3, 4)] == seen[3:]


def test_a_unique_memory_holds_the_latest_embedding_of_each_image_once():
    """Images 7, 3, 9, then 3 again with 5: the second batch meets 7 and 9 beside itself, not the old 3."""
    torch.manual_seed(0)
    memory = wrap(
        "cross_batch_memory", losses.create("memory_contrastive"), size=4, dim=2, unique=True
    )
    first, again = (torch.nn.functional.normalize(torch.randn(n, 2), dim=1) for n in (3, 2))
    memory.images_of_batch = torch.tensor([7, 3, 9])
    memory(first, torch.tensor([0, 0, 1]))
    memory.images_of_batch = torch.tensor([3, 5])
    found = memory.per_query(again, torch.tensor([0, 0]))
    items, labels = torch.cat([again, first[[0, 2]]]), torch.tensor([0, 0, 0, 1])
    for i, value in enumerate(found):
        scores = items @ again[i]
        own = sum(1 - scores[j] for j in range(4) if j != i and labels[j] == 0)
        assert value == pytest.approx(float(own + scores[3] * (scores[3] > 0.5)), abs=1e-6)
    memory(again, torch.tensor([0, 0]))
    assert int(memory.seen) == 4 and sorted(memory.images.tolist()) == [3, 5, 7, 9]
    slot = memory.images.tolist().index(3)
    torch.testing.assert_close(memory.embeddings[slot], again[0])
    memory.images_of_batch = torch.tensor([11, 12])
    with pytest.raises(ValueError, match="raise size to the number of training images"):
        memory(again, torch.tensor([0, 0]))
    memory.images_of_batch = None
    with pytest.raises(ValueError, match="must know which images a batch holds"):
        memory(again, torch.tensor([0, 0]))


def test_xbm_trains_with_one_slot_an_image():
    import lab.data
    from lab.runs import RunConfig
    from lab.runs.building.parts import parts_of
    from lab.training.loop import Trainer

    config = RunConfig.of(
        {
            "augmentation": {"size": 16},
            "encoder": {"name": "small_cnn", "width": 4, "dim": 8},
            "sampler": {"name": "m_per_class", "batch_size": 16, "per_class": 4},
            "loss": "memory_contrastive",
            "wrappers": [
                {"name": "cross_batch_memory", "size": 500, "unique": True, "batch_weight": 1.0}
            ],
            "training": {
                "steps": 3,
                "validate_every": 100,
                "chunk": 8,
                "chunk_batchnorm": "per_chunk",
            },
        }
    )
    trainer = Trainer(parts_of(config, lab.data.create("emoji7")), config.training.knobs)
    for _ in trainer.run():
        if trainer.progress.step == 3:
            break
    shown = {
        int(i) for step in range(3) for i in trainer.parts.items[trainer.parts.sampler.batch(step)]
    }
    held = trainer.parts.loss.images
    assert set(held[held >= 0].tolist()) == shown
