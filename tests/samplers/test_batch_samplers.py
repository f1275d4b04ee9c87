"""Our samplers as torch's batch samplers, in a DataLoader that is not ours."""

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import lab

LABELS = np.repeat(np.arange(12), 6)
SUPERS = LABELS // 6


def bound(name, **knobs):
    return lab.samplers.create(name, batch_size=16, **knobs).bind(LABELS, SUPERS, seed=3)


def epoch(loader):
    return [positions.tolist() for positions, _ in loader]


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("name", lab.samplers.names())
def test_a_loader_shows_the_batches_step_by_step(name, workers):
    sampler = bound(name)
    images = TensorDataset(torch.arange(len(LABELS)), torch.from_numpy(LABELS))
    loader = DataLoader(images, batch_sampler=sampler, num_workers=workers)
    assert len(loader) == sampler.steps_per_epoch == 4
    shown = epoch(loader) + epoch(loader)
    assert shown == [sampler.batch(step).tolist() for step in range(8)], (
        "an epoch shows what comes after the last one"
    )
    sampler.set_epoch(1)
    assert epoch(loader) == shown[4:]


@pytest.mark.parametrize("name", lab.samplers.names())
def test_processes_share_each_batch(name):
    whole, shares = bound(name), [bound(name).shared(rank, 3) for rank in range(3)]
    for batch, *parts in zip(whole, *shares, strict=True):
        assert sum(parts, []) == batch and {len(part) for part in parts} == {5, 6}


def test_bad_use_is_told():
    with pytest.raises(ValueError, match=r"call bind\(labels\) first"):
        next(iter(lab.samplers.create("m_per_class")))
    for rank, world in ((2, 2), (-1, 2), (0, 17)):
        with pytest.raises(ValueError, match="rank < world <= batch_size"):
            bound("m_per_class").shared(rank, world)
