"""A deliberately broken loss must be exposed; honest ones must pass."""

import numpy as np
import pytest
import torch
from pytorch_metric_learning import losses as pml
from torch import nn

from lab.inspect import (
    dead_gradients,
    finite_differences,
    gradient_equality,
    inspect_loss,
    pair_gradients,
    query_values,
    similarity_histograms,
    worst_pairs,
    wrong_direction,
)
from lab.surrogates import ConstantGradient, Sigmoid


class BrokenContrastive(nn.Module):
    """A contrastive loss whose author forgot the sign of the positives beyond cosine .5."""

    def forward(self, embeddings, labels):
        cosines = embeddings @ embeddings.T
        same = labels[:, None] == labels[None, :]
        other = ~torch.eye(len(labels), dtype=torch.bool)
        pulled = torch.where(cosines > 0.5, cosines, 1 - cosines)
        return pulled[same & other].mean() + cosines.clamp(min=0)[~same].mean()


def soft_rank(tau, step=Sigmoid):
    def loss(embeddings, labels):
        cosines = embeddings @ embeddings.T
        same = (labels[:, None] == labels[None, :]) & ~torch.eye(len(labels), dtype=torch.bool)
        gaps = (cosines[:, None, :] - cosines[:, :, None])[same]
        other = (labels[:, None] != labels[None, :])[:, None, :].expand(-1, len(labels), -1)[same]
        return (step(tau)(gaps) * other).sum(dim=1).mean()

    return loss


def test_the_broken_loss_is_exposed(batch):
    vectors, labels = batch
    pairs = pair_gradients(BrokenContrastive(), vectors, labels)
    audit = wrong_direction(pairs)
    same, cosines = pairs.same, pairs.similarities
    expected = set(zip(*np.nonzero(np.triu(same & (cosines > 0.5), 1)), strict=True))
    assert expected, "the batch must hold such pairs"
    assert set(zip(audit.i.tolist(), audit.j.tolist(), strict=True)) == expected
    assert audit.pushed_apart == len(expected)
    assert audit.share == pytest.approx(len(expected) / np.triu(pairs.active, 1).sum())
    assert "contradict their label" in audit.summary
    frame = audit.to_frame()
    assert frame["same"].all() and (frame["gradient"] > 0).all()


def test_a_cold_sigmoid_is_dead_and_a_warm_one_is_not(make):
    vectors, labels = make(spread=3.0, seed=2)
    cold = dead_gradients(pair_gradients(soft_rank(0.001), vectors, labels))
    warm = dead_gradients(pair_gradients(soft_rank(1.0), vectors, labels))
    assert (cold.gaps > 0).sum() == (warm.gaps > 0).sum() > 10
    assert cold.share > 0.5 and warm.share == 0
    assert cold.summary.startswith("✗") and warm.summary.startswith("✓")
    row = cold.to_frame().iloc[0]
    q, p = int(row["query"]), int(row["positive"])
    similarities = (vectors @ vectors.T).numpy()
    assert row["gap"] == pytest.approx(
        similarities[q, (labels != labels[q]).numpy()].max() - similarities[q, p]
    )


def test_differences_confirm_a_smooth_loss_and_expose_a_made_up_gradient(batch):
    assert finite_differences(soft_rank(0.1), *batch).holds
    made_up = finite_differences(soft_rank(10.0, ConstantGradient), *batch)
    assert not made_up.holds and made_up.worst > 0.5
    assert "not the slope" in made_up.summary


def test_histograms_count_every_pair_once(batch):
    vectors, labels = batch
    found = similarity_histograms(vectors, labels, bins=20)
    same = (labels[:, None] == labels[None, :]).numpy()
    cosines = (vectors @ vectors.T).numpy()
    i, j = np.triu_indices(24, 1)
    counts = np.histogram(cosines[i, j][same[i, j]], np.linspace(-1, 1, 21))[0]
    assert np.allclose(found.positive * same[i, j].sum(), counts)
    assert found.positive.sum() == pytest.approx(1) and found.negative.sum() == pytest.approx(1)
    others = (
        np.histogram(cosines[i, j][~same[i, j]], np.linspace(-1, 1, 21))[0] / (~same[i, j]).sum()
    )
    assert np.allclose(found.negative, others)
    assert (
        found.overlap == pytest.approx(np.minimum(found.positive, others).sum())
        and 0 < found.overlap < 1
    )
    with pytest.raises(ValueError, match="2 <= bins"):
        similarity_histograms(vectors, labels, bins=1)


def test_worst_pairs_are_the_extremes_and_carry_item_names(batch):
    vectors, labels = batch
    pairs = pair_gradients(pml.NTXentLoss(), vectors, labels)
    items = np.arange(100, 124)
    hard = worst_pairs(pairs, 3, "hard positives", items)
    same = pairs.similarities.copy()
    same[~pairs.same] = np.inf
    i, j = np.unravel_index(same.argmin(), same.shape)
    assert set(hard.items[0]) == {100 + i, 100 + j} and hard.same.all()
    assert hard.similarities.tolist() == sorted(hard.similarities)
    steep = worst_pairs(pairs, 5)
    assert abs(steep.gradients[0]) == pytest.approx(pairs.scale)
    with pytest.raises(ValueError, match="must name all 24"):
        worst_pairs(pairs, items=items[:3])
    with pytest.raises(ValueError, match="by must be"):
        worst_pairs(pairs, by="size")


def test_query_values_of_a_pairwise_library_loss_are_its_elements(batch):
    vectors, labels = batch
    found = query_values(pml.ContrastiveLoss(), vectors, labels)
    assert found.method == "elements"
    distance = torch.cdist(vectors, vectors)
    same = labels[:, None] == labels[None, :]
    for q in (0, 7):
        positives = same[q].clone()
        positives[q] = False
        expected = distance[q, positives].mean() + (1 - distance[q, ~same[q]]).clamp(min=0).mean()
        assert found.values[q] == pytest.approx(expected.item())


def two_pass(chunks, forget=False):
    """Cached gradients of a linear encoder; `forget` drops all chunks but the last, the classic silent bug."""
    images = torch.randn(12, 5, generator=torch.Generator().manual_seed(0))
    labels = torch.arange(12) // 3
    loss = pml.NTXentLoss()

    def plain(encoder):
        loss(encoder(images), labels).backward()

    def cached(encoder):
        with torch.no_grad():
            vectors = torch.cat([encoder(part) for part in images.chunk(chunks)])
        leaf = vectors.requires_grad_()
        loss(leaf, labels).backward()
        for part, grad in zip(images.chunk(chunks), leaf.grad.chunk(chunks), strict=True):
            if forget:
                encoder.zero_grad()
            encoder(part).backward(grad)

    return plain, cached


def test_equality_meter_passes_cached_gradients_and_catches_a_forgotten_chunk():
    encoder = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 4))
    good = gradient_equality(encoder, *two_pass(4))
    assert good.holds and len(good.names) == 4 and good.summary.startswith("✓")
    bad = gradient_equality(encoder, *two_pass(4, forget=True))
    assert not bad.holds and bad.relative.max() > 0.1 and bad.summary.startswith("✗")
    assert all(p.grad is None for p in encoder.parameters())
    assert not bad.to_frame()["equal"].all()


def test_every_finding_draws_itself_with_titles(batch):
    report = inspect_loss(pml.TripletMarginLoss(), *batch)
    extra = [
        query_values(pml.TripletMarginLoss(), *batch),
        finite_differences(pml.TripletMarginLoss(), *batch),
    ]
    for finding in (*report.parts.values(), *extra):
        figure = finding.figure()
        assert figure.layout.title.text and len(figure.data) > 0
        assert str(finding) == finding.summary
        figure.to_json()
