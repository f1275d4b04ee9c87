"""Our losses inside the wrappers of pytorch-metric-learning."""

import pytest
import torch
from pytorch_metric_learning.losses import CrossBatchMemory
from pytorch_metric_learning.miners import MultiSimilarityMiner

from lab import losses, wrappers

RANKING = ("smooth_ap", "contextual", "contrastive")


def batches(steps=5):
    torch.manual_seed(3)
    return [(torch.randn(8, 4), torch.arange(8) % 3 + step % 2) for step in range(steps)]


@pytest.mark.parametrize("name", RANKING)
def test_in_the_librarys_memory_as_in_ours(name):
    """The fourth batch overflows the 24 slots; both then hold the newest ones."""
    theirs = CrossBatchMemory(losses.for_pml(losses.create(name)), embedding_size=4, memory_size=24)
    ours = wrappers.create("cross_batch_memory", loss=losses.create(name), size=24, dim=4)
    for rows, labels in batches():
        one, other = rows.clone().requires_grad_(), rows.clone().requires_grad_()
        value = theirs(one, labels)
        value.backward()
        expected = ours(other, labels)
        expected.backward()
        torch.testing.assert_close(value, expected)
        torch.testing.assert_close(one.grad, other.grad)


def test_a_miner_inside_reaches_pair_losses_and_is_refused_by_ranking_ones():
    rows, labels = batches(1)[0]
    for name, told in (
        ("contrastive", None),
        ("smooth_ap", "SmoothAP reads every pair of the batch"),
    ):
        loss = losses.for_pml(losses.create(name))
        memory = CrossBatchMemory(
            loss, embedding_size=4, memory_size=24, miner=MultiSimilarityMiner(0.0)
        )
        if told is None:
            assert memory(rows, labels) > 0
            continue
        with pytest.raises(ValueError, match=told):
            memory(rows, labels)
