import pytest
import torch


def make_batch(n: int = 24, per_class: int = 4, width: int = 8, seed: int = 0, spread: float = 1.0):
    """Unit vectors around random class centres, labels shuffled and not contiguous."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(n) // per_class
    centres = torch.randn(labels.max() + 1, width, generator=generator, dtype=torch.float64)
    points = centres[labels] + spread * torch.randn(
        n, width, generator=generator, dtype=torch.float64
    )
    order = torch.randperm(n, generator=generator)
    return torch.nn.functional.normalize(points, dim=1)[order], 7 * labels[order] + 3


@pytest.fixture
def batch():
    return make_batch()


@pytest.fixture
def make():
    return make_batch
