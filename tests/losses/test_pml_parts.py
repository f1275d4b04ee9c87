"""Our losses inside the wrappers of pytorch-metric-learning."""

import pytest
import torch
from pytorch_metric_learning.losses import CrossBatchMemory, SelfSupervisedLoss
from pytorch_metric_learning.miners import MultiSimilarityMiner
from pytorch_metric_learning.utils.distributed import DistributedLossWrapper

from lab import losses, wrappers

from .test_gathered import a_batch, in_two_processes

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


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("name", RANKING)
def test_in_the_self_supervised_wrapper(name, symmetric):
    loss = losses.create(name)
    rows = batches(1)[0][0]
    views, pairs = (rows, rows + 0.1), torch.arange(8)
    value = SelfSupervisedLoss(losses.for_pml(loss), symmetric=symmetric)(*views)
    if symmetric:
        expected = loss(torch.cat(views), torch.cat([pairs, pairs]))
    else:
        expected = loss(views[0], pairs, ref_emb=views[1], ref_labels=pairs)
    torch.testing.assert_close(value, expected)


def wrapped(rank):
    rows, labels = (part.split(6)[rank].clone() for part in a_batch())
    loss = losses.for_pml(losses.create("smooth_ap"))
    return [DistributedLossWrapper(loss, efficient=efficient)(rows, labels) for efficient in (False, True)]


def test_in_the_distributed_wrapper(tmp_path):
    found = in_two_processes(tmp_path, wrapped)
    rows, labels = a_batch()
    loss = losses.create("smooth_ap")
    for whole, _ in found:
        torch.testing.assert_close(whole, 2 * loss(rows, labels))  # the library scales by the processes
    per_query = loss.per_query(rows, labels).split(6)
    for rank, (_, own) in enumerate(found):
        torch.testing.assert_close(own, 2 * per_query[rank].mean())


def test_a_miner_inside_reaches_pair_losses_and_is_refused_by_ranking_ones():
    rows, labels = batches(1)[0]
    for name, told in (("contrastive", None), ("smooth_ap", "SmoothAP reads every pair of the batch")):
        loss = losses.for_pml(losses.create(name))
        memory = CrossBatchMemory(loss, embedding_size=4, memory_size=24, miner=MultiSimilarityMiner(0.0))
        if told is None:
            assert memory(rows, labels) > 0
            continue
        with pytest.raises(ValueError, match=told):
            memory(rows, labels)
