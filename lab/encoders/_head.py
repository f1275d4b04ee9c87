"""From a feature map to an embedding: pooling, LayerNorm, a linear map to any width."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import nn

Pooling = Literal["avg", "max", "mixed", "gem"]


def gem(features: torch.Tensor, p: torch.Tensor | float, eps: float = 1e-6) -> torch.Tensor:
    """Generalised mean over positions: (mean of f^p)^(1/p) of features clamped at `eps`.

    [n c h w] -> [n c]. p = 1 is the average, p -> infinity the maximum. Source: Radenovic et al., as used by 000.
    """
    # Each channel is divided by its maximum first: the mean of f^p neither overflows nor vanishes, also in half.
    # All that in logarithms: the gradient of `pow` by its exponent takes five times as long.
    logs = features.to(torch.promote_types(features.dtype, torch.float32)).clamp(min=eps).log()
    largest = logs.detach().amax(dim=(-2, -1), keepdim=True)
    mean = ((logs - largest) * p).exp().mean(dim=(-2, -1))
    return (mean.log() / p + largest[..., 0, 0]).exp().to(features.dtype)


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

    def shares(self, features: torch.Tensor) -> torch.Tensor:
        """What each place adds to the pooled features: [n c h w] whose sum over places is `forward`.

        The average gives every place its value over their number; the maximum goes to the place that has it, in equal
        parts to several; of the generalised mean a place gets the share of the sum of f^p that is its own, which is
        f df: Euler's theorem for a function of degree one.
        """
        places = features.shape[-2] * features.shape[-1]
        average = features / places
        if self.pooling == "avg":
            return average
        if self.pooling == "gem":
            clamped = features.clamp(min=1e-6)
            powers = (clamped / clamped.amax(dim=(-2, -1), keepdim=True)).pow(self.p.to(features.dtype))
            return (
                powers
                / powers.sum(dim=(-2, -1), keepdim=True)
                * gem(features, self.p.to(features.dtype))[..., None, None]
            )
        largest = features.amax(dim=(-2, -1), keepdim=True)
        winners = (features == largest).to(features.dtype)
        maximum = largest * winners / winners.sum(dim=(-2, -1), keepdim=True)
        return maximum if self.pooling == "max" else (average + maximum) / 2


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

    def parts(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor] | None:
        """Embeddings as sums over places: float64 [n d h w], and [n d] that no place brings (the bias); together they
        are `forward` in evaluation mode. None where the backbone pooled before.

        After pooling all is linear but a picture's own scale (the length of `unit_features`, the deviation of a
        LayerNorm), which is held at what it is for the whole picture.
        """
        if not isinstance(self.pool, Pool) or features.ndim != 4:
            return None
        return self.spread(self.pool.shares(features.double()))

    def spread(self, shares: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """`parts` of pooled features that are given as sums over places, float64 [n c h w]."""
        shares = _square(shares)
        constant = shares.new_zeros(shares.shape[:2])
        if isinstance(self.norm, UnitLength):
            shares = shares / shares.sum(dim=(-2, -1), keepdim=True).norm(dim=1, keepdim=True).clamp(min=1e-12)
        elif isinstance(self.norm, nn.LayerNorm):
            variance = shares.sum(dim=(-2, -1)).var(dim=1, correction=0)
            shares = (shares - shares.mean(dim=1, keepdim=True)) / (variance + self.norm.eps).sqrt()[
                :, None, None, None
            ]
            if self.norm.elementwise_affine:
                shares = shares * self.norm.weight.double()[:, None, None]
                constant = constant + self.norm.bias.double()
        if isinstance(self.embed, nn.Linear):
            weight, bias = self.embed.weight.double(), self.embed.bias.double()
            return torch.einsum("dc,nchw->ndhw", weight, shares), constant @ weight.T + bias
        return shares, constant


def _square(shares: torch.Tensor) -> torch.Tensor:
    """The patches of a transformer, which come as a column, at their places in a square picture: [n c h w]."""
    side = math.isqrt(shares.shape[2])
    if shares.shape[3] == 1 and side * side == shares.shape[2]:
        return shares.unflatten(2, (side, side)).squeeze(-1)
    return shares
