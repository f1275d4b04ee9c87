"""Gradients per pair: against autograd on the similarities, and on library losses."""

import numpy as np
import pytest
import torch
from pytorch_metric_learning import losses as pml
from torch.nn.functional import cosine_similarity, normalize

from lab.inspect import dead_gradients, pair_gradients, pair_motion, worst_pairs, wrong_direction
from lab.surrogates import ConstantGradient, Sigmoid

PAIRWISE = [
    pml.ContrastiveLoss(), pml.TripletMarginLoss(), pml.MultiSimilarityLoss(), pml.NTXentLoss(),
    pml.CircleLoss(), pml.SupConLoss(), pml.ContrastiveLoss(pos_margin=1, neg_margin=0.4, distance=None),
]  # fmt: skip


def smooth_rank_loss(similarities, labels):
    """Mean soft rank of the positives, written on similarities so that autograd can differentiate it directly."""
    same = (labels[:, None] == labels[None, :]) & ~torch.eye(len(labels), dtype=torch.bool)
    gaps = similarities[:, None, :] - similarities[:, :, None]  # [q p z]: s_qz - s_qp
    return Sigmoid(0.1)(gaps).sum(dim=2)[same].mean()


def hard_rank_loss(similarities, labels):
    same = (labels[:, None] == labels[None, :]) & ~torch.eye(len(labels), dtype=torch.bool)
    gaps = similarities[:, None, :] - similarities[:, :, None]
    return ConstantGradient(10.0)(gaps).sum(dim=2)[same].mean()


def squared_distances(similarities, labels):
    same = labels[:, None] == labels[None, :]
    distance = 2 - 2 * similarities
    return (distance * same - 0.5 * distance * ~same).mean()


ON_SIMILARITIES = [smooth_rank_loss, hard_rank_loss, squared_distances]


@pytest.mark.parametrize("of_similarities", ON_SIMILARITIES)
@pytest.mark.parametrize("length", [1.0, 3.0])
def test_probe_equals_autograd_on_the_similarities(batch, of_similarities, length):
    vectors, labels = batch

    def loss(embeddings, classes):
        units = normalize(embeddings, dim=1)
        return of_similarities(units @ units.T, classes)

    similarities = (vectors @ vectors.T).requires_grad_()
    (direct,) = torch.autograd.grad(of_similarities(similarities, labels), similarities)
    direct = direct + direct.T
    direct.fill_diagonal_(0)
    found = pair_gradients(loss, length * vectors, labels)
    assert np.allclose(found.gradients, direct.numpy(), rtol=1e-7, atol=1e-9 * found.scale)
    assert found.scale > 0


@pytest.mark.parametrize("loss", PAIRWISE, ids=lambda loss: type(loss).__name__)
def test_pytorch_metric_learning_losses(batch, loss):
    vectors, labels = batch
    found = pair_gradients(loss, vectors, labels)
    assert found.value == pytest.approx(loss(vectors, labels).item())
    assert found.scale > 0
    leaf = vectors.clone().requires_grad_()
    loss(leaf, labels).backward()
    rebuilt = torch.from_numpy(found.gradients) @ vectors
    project = lambda g: g - (g * vectors).sum(1, keepdim=True) * vectors  # noqa: E731
    assert torch.allclose(project(rebuilt), project(leaf.grad), atol=1e-7 * found.scale)


def test_losses_with_their_own_weights_are_explained(batch):
    torch.manual_seed(0)  # the weights decide which way pairs move
    vectors, labels = batch
    classes = labels // 7
    loss = pml.ProxyAnchorLoss(num_classes=int(classes.max()) + 1, embedding_size=vectors.shape[1])
    with pytest.raises(
        ValueError, match=r"ProxyAnchorLoss owns weights .*proxies \[6, 8\].*pair_motion"
    ):
        pair_gradients(loss, vectors, classes)
    moved = pair_motion(loss, vectors, classes)
    assert moved.kind == "motion"
    assert moved.gradients[moved.same].mean() < min(0, moved.gradients[~moved.same].mean())


def test_motion_is_the_first_order_change_of_the_cosines(batch):
    vectors, labels = batch
    vectors = vectors * torch.linspace(0.5, 2, len(vectors), dtype=torch.float64)[:, None]
    weight = torch.randn(8, 8, generator=torch.Generator().manual_seed(1), dtype=torch.float64)

    def loss(embeddings, classes):
        return (normalize(embeddings, dim=1) @ weight).pow(3).sum()

    leaf = vectors.clone().requires_grad_()
    loss(leaf, labels).backward()
    step = 1e-8
    cosines = [
        cosine_similarity(v[:, None], v[None], dim=2) for v in (vectors, vectors - step * leaf.grad)
    ]
    change = ((cosines[1] - cosines[0]) / step).fill_diagonal_(0)
    assert np.allclose(
        -pair_motion(loss, vectors, labels).gradients, change.numpy(), rtol=1e-4, atol=1e-3
    )


@pytest.mark.parametrize(
    ("loss", "says"),
    [
        ("not callable", "got str"),
        (lambda e, y: e.square().sum(dim=1), r"returned a tensor of shape \[24\]. Reduce it"),
        (lambda e, y: 3.0, "returned float, so no gradient can flow back"),
        (lambda e, y: (e @ e.T).sum() * float("nan"), "returned nan for finite embeddings"),
        (lambda e, y: (e.detach() @ e.T.detach()).sum(), "no gradient path back to the embeddings"),
        (
            lambda e, y: torch.zeros((), requires_grad=True) * 1,
            "no gradient path back to the embeddings",
        ),
        (lambda e: e.sum(), "raised TypeError"),
        (
            lambda e, y: (e - e).norm() + (e - e).sum().sqrt(),
            "gradient of lambda is not finite at row 0",
        ),
    ],
)
def test_a_callable_that_cannot_be_inspected_gets_a_sentence(batch, loss, says):
    with pytest.raises(ValueError, match=says) as error:
        pair_gradients(loss, *batch)
    assert "The inspector needs a callable loss(embeddings [n d], labels [n])" in str(error.value)


def test_bad_batches_are_named(batch):
    vectors, labels = batch
    loss = pml.ContrastiveLoss()
    broken = vectors.clone()
    broken[5, 2] = torch.nan
    with pytest.raises(ValueError, match="row 5 holds NaN"):
        pair_gradients(loss, broken, labels)
    with pytest.raises(ValueError, match="one integer per embedding"):
        pair_gradients(loss, vectors, labels[:-1])
    with pytest.raises(ValueError, match=r"shape \[n d\]"):
        pair_gradients(loss, vectors[0], labels)
    with pytest.raises(ValueError, match="row 0 is one"):
        pair_gradients(loss, torch.zeros(3, 2), torch.tensor([0, 0, 1]))
    with pytest.raises(ValueError, match="one integer per embedding"):
        pair_gradients(loss, vectors, np.array(list("aabb")))
    with pytest.raises(ValueError, match="embeddings are of several lengths"):
        pair_gradients(loss, [[1.0], [1.0, 2.0]], [0, 0])
    for inspection in (worst_pairs, dead_gradients, wrong_direction):
        with pytest.raises(
            ValueError, match="reads what lab.inspect.pair_gradients returned, got ContrastiveLoss"
        ):
            inspection(loss)


def test_arrays_are_as_good_as_tensors_and_the_loss_is_left_alone(batch):
    vectors, labels = batch
    memory = pml.CrossBatchMemory(pml.ContrastiveLoss(), embedding_size=8, memory_size=64)
    before = memory.queue_idx, memory.embedding_memory.clone()
    as_arrays = pair_gradients(
        pml.ContrastiveLoss(), vectors.numpy().astype(np.float32), labels.numpy()
    )
    as_tensors = pair_gradients(pml.ContrastiveLoss(), vectors.float(), labels)
    assert np.array_equal(as_arrays.gradients, as_tensors.gradients)
    pair_motion(memory, vectors, labels)
    assert memory.queue_idx == before[0] and torch.equal(memory.embedding_memory, before[1])
