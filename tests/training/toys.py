"""Small modules whose gradients a test can afford to compare entry by entry."""

import torch
import torch.nn.functional as F
from torch import nn


class ToyEncoder(nn.Module):
    """Convolutions, LayerNorm, dropout and a generalised mean: all that a two-pass step must repeat exactly."""

    def __init__(self, dropout=0.3, batchnorm=None, dim=5):
        super().__init__()
        self.first = nn.Conv2d(3, 6, 3, padding=1)
        self.norm = nn.BatchNorm2d(6) if batchnorm else nn.Identity()
        if batchnorm == "frozen":
            self.norm.running_mean.uniform_(-0.5, 0.5)
            self.norm.running_var.uniform_(0.5, 2)
            self.norm.requires_grad_(False)
        self.frozen = batchnorm == "frozen"
        self.dropout = nn.Dropout(dropout)
        self.p = nn.Parameter(torch.tensor(3.0))
        self.layer_norm = nn.LayerNorm(6)
        self.embed = nn.Linear(6, dim)

    def train(self, mode=True):
        super().train(mode)
        if self.frozen:
            self.norm.eval()
        return self

    def forward(self, images):
        maps = self.dropout(F.relu(self.norm(self.first(images))))
        pooled = maps.clamp(min=1e-3).pow(self.p).mean(dim=(-2, -1)).pow(1 / self.p)
        return F.normalize(self.embed(self.dropout(self.layer_norm(pooled))).float(), dim=-1)


class ToyLoss(nn.Module):
    """Couples all pairs of the batch, draws a random number, and owns proxies: as hard as a real loss."""

    def __init__(self, classes=3, dim=5):
        super().__init__()
        self.proxies = nn.Parameter(torch.randn(classes, dim))

    def forward(self, embeddings, labels):
        same = labels[:, None] == labels[None, :]
        cosines = embeddings @ embeddings.T
        pull = ((1 - cosines) * same).mean() + torch.sigmoid(cosines * 4)[~same].mean() * (
            0.5 + torch.rand(())
        )
        return pull + F.cross_entropy(
            embeddings @ F.normalize(self.proxies, dim=-1).T, labels % len(self.proxies)
        )


def toy_batch(n=12, classes=3, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, 3, 6, 6, generator=generator).to(dtype), torch.arange(n) % classes
