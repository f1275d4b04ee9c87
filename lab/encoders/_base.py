"""What every image encoder is: a backbone, and a head of pooling, LayerNorm and a linear map to unit rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, Self

import torch
import torch.nn.functional as F
from pydantic import model_validator
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from lab.core.knobs import WIDEST, HasKnobs, knob
from lab.core.preprocessing import Preprocessing

Triple = tuple[float, float, float]
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
            powers = (clamped / clamped.amax(dim=(-2, -1), keepdim=True)).pow(
                self.p.to(features.dtype)
            )
            shares = powers / powers.sum(dim=(-2, -1), keepdim=True)
            return shares * gem(features, self.p.to(features.dtype))[..., None, None]
        largest = features.amax(dim=(-2, -1), keepdim=True)
        winners = (features == largest).to(features.dtype)
        maximum = largest * winners / winners.sum(dim=(-2, -1), keepdim=True)
        return maximum if self.pooling == "max" else (average + maximum) / 2


class UnitLength(nn.Module):
    """Rows [n c] of unit length."""

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return nn.functional.normalize(features, dim=-1)


class Head(nn.Module):
    """Features -> embeddings [n d].

    Args:
        pool: module from the backbone's features to [n c].
        width: c.
        dim: d, or None to keep the pooled features as they are.
        layer_norm, affine, unit: what stands before the linear map: a LayerNorm, one that learns, or unit length.
        projector: width of one more linear map while training, which evaluation leaves out (Contextual, section 5).
        projector_bias: whether that map has a bias.

    Raises:
        ValueError: both a LayerNorm and unit length are asked for.
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
        if layer_norm and unit:
            raise ValueError(
                "Pooled features are normalised by layer_norm or by unit_features, not by both."
            )
        norm = nn.LayerNorm(width, elementwise_affine=affine) if layer_norm else nn.Identity()
        self.pool, self.norm = pool, UnitLength() if unit else norm
        self.embed = nn.Identity() if dim is None else nn.Linear(width, dim)
        self.projector = (
            nn.Identity()
            if projector is None
            else nn.Linear(dim or width, projector, projector_bias)
        )

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
        side = math.isqrt(shares.shape[2])
        # a transformer's patches come as a column
        if shares.shape[3] == 1 and side * side == shares.shape[2]:
            shares = shares.unflatten(2, (side, side)).squeeze(-1)
        constant = shares.new_zeros(shares.shape[:2])
        if isinstance(self.norm, UnitLength):
            shares = shares / shares.sum(dim=(-2, -1), keepdim=True).norm(
                dim=1, keepdim=True
            ).clamp(min=1e-12)
        elif isinstance(self.norm, nn.LayerNorm):
            variance = shares.sum(dim=(-2, -1)).var(dim=1, correction=0)[:, None, None, None]
            shares = (shares - shares.mean(dim=1, keepdim=True)) / (variance + self.norm.eps).sqrt()
            if self.norm.elementwise_affine:
                shares = shares * self.norm.weight.double()[:, None, None]
                constant = constant + self.norm.bias.double()
        if isinstance(self.embed, nn.Linear):
            weight = self.embed.weight.double()
            bias = self.embed.bias.double()
            return torch.einsum("dc,nchw->ndhw", weight, shares), constant @ weight.T + bias
        return shares, constant


class Encoder(HasKnobs, nn.Module):
    """Maps images to embeddings. An entry declares its knobs and calls `_assemble` when built.

    Attributes:
        dim: width of the embedding; trained_dim: of what the loss is given, that of a projector where there is one.
        input_size: side in pixels of the square images it was made for.
        mean, std: three numbers each that its input is to be normalised with.
        preprocessing: how it wants its images resized and cropped; None where it does not say.
        backbone: module, images [n 3 h w] to a feature map [n c h' w'].
        head: module, feature map to embeddings [n d] of any length.

    An encoder that puts words into the same space as images, as CLIP does, also defines
    `embed_text(self, texts: Sequence[str]) -> torch.Tensor`, [n d], unit rows; Browse, `lab query --text` and
    `Model.search` then take words.
    """

    _dim: int | None = knob(
        "Width of the embedding; none: the pooled features themselves.",
        default=128,
        ge=2,
        le=WIDEST,
        scale="log",
        alias="dim",
    )
    pooling: Pooling = knob(
        "Pooling of the last feature map to one vector.", default="avg", source="DML deck, tricks"
    )
    layer_norm: bool = knob(
        "Apply LayerNorm to the pooled features before the last layer.",
        default=False,
        source="RS@k, section 4.2",
    )
    layer_norm_affine: bool = knob(
        "Let LayerNorm learn a scale and a shift, as in the code of RS@k; the code of ROADMAP does not.",
        default=False,
    )
    unit_features: bool = knob(
        "L2-normalise the pooled features before the last layer.",
        default=False,
        source="Radenovic et al. 2018",
    )
    projector: bool = knob(
        "Train through an additional linear layer (projector) that evaluation leaves out.",
        default=False,
        source="Contextual, section 5",
    )
    projector_width: int | None = knob(
        "Width of the projector, which then has no bias, as in the authors' code (2,048); by default that of the "
        "embedding, with a bias.",
        default=None,
        ge=1,
        le=WIDEST,
        source="Contextual, section 5 and released code",
    )
    normalise: bool = knob("L2-normalise each embedding.", default=True)
    freeze_batchnorm: bool | None = knob(
        "Freeze the running statistics of BatchNorm; by default if the weights are pretrained.",
        default=None,
    )
    freeze_affine: bool = knob("Also freeze the scale and shift of BatchNorm.", default=False)

    @model_validator(mode="before")
    @classmethod
    def _of_version_0_2(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Runs of 0.2 say whether activations are computed again, which is no choice any more."""
        return {name: value for name, value in values.items() if name != "checkpointing"}

    mean = (0.5, 0.5, 0.5)
    std = (0.5, 0.5, 0.5)
    input_size = 224
    preprocessing: Preprocessing | None = None

    @classmethod
    def download(cls, values: Mapping[str, Any]) -> str:
        """Return the name of the pretrained weights that an encoder with these knobs fetches; "" for none.

        Weights that are on this machine already are not fetched.
        """
        return ""

    def _assemble(self, backbone: nn.Module, pool: nn.Module, width: int, pretrained: bool) -> None:
        """Join a backbone, the pooling of its features and the embedding head; `width` is that of pooled features."""
        knobs = self.knobs
        self.backbone = backbone
        if knobs.projector_width is not None and not knobs.projector:
            raise ValueError(
                "encoder: projector_width needs projector: true; set it, or leave the width out."
            )
        self.dim: int = knobs.dim or width
        self.trained_dim: int = knobs.projector_width or self.dim
        projector = self.trained_dim if knobs.projector else None
        affine = knobs.layer_norm_affine
        unit = knobs.unit_features
        bias = knobs.projector_width is None
        self.head = Head(pool, width, knobs.dim, knobs.layer_norm, projector, affine, unit, bias)
        self.batchnorm_frozen = (
            pretrained if knobs.freeze_batchnorm is None else knobs.freeze_batchnorm
        )
        self.train()

    def pool_as(self, pooling: Pooling) -> Self:
        """Pool the features in another way from now on: trained with one, used with another (002, tricks).

        Raises:
            ValueError: the backbone pools by itself.
        """
        if not isinstance(self.head.pool, Pool):
            raise ValueError(
                f"{type(self).__name__} lets its backbone pool, so pooling cannot be {pooling!r} afterwards; train it "
                "with --encoder.pooling avg, max, mixed or gem."
            )
        self.head.pool = Pool(pooling)
        return self

    def raw(self, images: torch.Tensor) -> torch.Tensor:
        """Embeddings [n d] of normalised images [n 3 h w] before they get unit length (beta-normalisation needs them).

        Raises:
            ValueError: the images have another shape.
        """
        if images.ndim != 4 or images.shape[1] != 3:
            raise ValueError(
                f"{type(self).__name__} needs images [n 3 h w], got {list(images.shape)}."
            )
        return self.head(self.backbone(images))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Embed normalised images [n 3 h w]; returns [n d], unit rows unless the knob `normalise` is off.

        Raises:
            ValueError: the images have another shape.
        """
        embeddings = self.raw(images)
        if not self.knobs.normalise:
            return embeddings
        # Lengths are computed in float32 also under autocast: a sum of 512 half-precision squares is too coarse.
        precise = embeddings.to(torch.promote_types(embeddings.dtype, torch.float32))
        return F.normalize(precise, dim=-1).to(embeddings.dtype)

    def parts(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor] | None:
        """`raw` as a sum over places of the last feature map: float64 [n d h w], and [n d] that comes from no place.

        None where it is no such sum. `Head.parts` says what is held fixed.
        """
        return self.head.parts(self.backbone(images))

    def train(self, mode: bool = True) -> Self:
        """As `nn.Module.train`, except that frozen BatchNorm layers stay in evaluation mode.

        They use the stored statistics (000, section 4.2; 002, reality check). The papers call the layers frozen; the
        code of 000 and of 001 goes on learning scale and shift, which stay, too, with `freeze_affine`.
        """
        super().train(mode)
        for layer in self.modules() if self.batchnorm_frozen else ():
            if isinstance(layer, _BatchNorm):
                layer.eval()
                if self.knobs.freeze_affine:
                    layer.requires_grad_(False)
        return self
