"""From a feature map to an embedding: pooling, LayerNorm, a linear map to any width."""

from __future__ import annotations

from typing import Literal

import torch
from torch import nn

Pooling = Literal["avg", "max", "mixed", "gem"]


def gem(features: torch.Tensor, p: torch.Tensor | float, eps: float = 1e-6) -> torch.Tensor:
    """Generalised mean over positions: (mean of f^p)^(1/p) of features clamped at `eps`.

    [n c h w] -> [n c]. p = 1 is the average, p -> infinity the maximum. Source: Radenovic et al., as used by 000.
    """
    # Each channel is divided by its maximum first: the mean of f^p neither overflows nor vanishes, also in half.
    clamped = features.to(torch.promote_types(features.dtype, torch.float32)).clamp(min=eps)
    largest = clamped.amax(dim=(-2, -1), keepdim=True).detach()
    mean = (clamped / largest).pow(p).mean(dim=(-2, -1)).pow(1 / p)
    return (mean * largest[..., 0, 0]).to(features.dtype)


class Pool(nn.Module):
    """[n c h w] -> [n c] by the average, the maximum, the mean of both, or the generalised mean with learnt p."""

    def __init__(self, pooling: Pooling):
        super().__init__()
        self.pooling = pooling
        if pooling == "gem":
            self.p = nn.Parameter(torch.tensor(3.0))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        if self.pooling == "avg":
            return features.mean(dim=(-2, -1))
        if self.pooling == "max":
            return features.amax(dim=(-2, -1))
        if self.pooling == "mixed":
            return (features.mean(dim=(-2, -1)) + features.amax(dim=(-2, -1))) / 2
        return gem(features, self.p)


class UnitLength(nn.Module):
    """Rows [n c] of unit length."""

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return nn.functional.normalize(features, dim=-1)


def features_norm(width: int, layer_norm: bool, affine: bool, unit: bool) -> nn.Module:
    """What stands between pooled features [n c] and the last linear map.

    Raises:
        ValueError: both a LayerNorm and unit length are asked for.
    """
    if layer_norm and unit:
        raise ValueError("Pooled features are normalised by layer_norm or by unit_features, not by both.")
    if unit:
        return UnitLength()
    return nn.LayerNorm(width, elementwise_affine=affine) if layer_norm else nn.Identity()


class Head(nn.Module):
    """Features -> embeddings [n d].

    Args:
        pool: module from the backbone's features to [n c].
        width: c.
        dim: d, or None to keep the pooled features as they are.
        layer_norm, affine, unit: what stands before the linear map; see `features_norm`.
        projector: width of one more linear map while training, which evaluation leaves out (Contextual, section 5).
        projector_bias: whether that map has a bias.
    """

    def __init__(
        self,
        pool: nn.Module,
        width: int,
        dim: int | None,
        layer_norm: bool,
        projector: int | None,
        affine: bool = False,
        unit: bool = False,
        projector_bias: bool = True,
    ):
        super().__init__()
        self.pool = pool
        self.norm = features_norm(width, layer_norm, affine, unit)
        self.embed = nn.Identity() if dim is None else nn.Linear(width, dim)
        self.projector = nn.Identity() if projector is None else nn.Linear(dim or width, projector, projector_bias)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        embeddings = self.embed(self.norm(self.pool(features)))
        return self.projector(embeddings) if self.training else embeddings
