"""What every image encoder is: images in, unit rows out, and what it wants its images to look like."""

from __future__ import annotations

from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import nn

from lab.core.knobs import HasKnobs, Knobs, knob
from lab.encoders import _batchnorm
from lab.encoders._head import Head, Pool, Pooling

Triple = tuple[float, float, float]


class EncoderKnobs(Knobs):
    """What every encoder can be told."""

    dim: int | None = knob(128, "Width of the embedding; none: the pooled features themselves.", ge=2, scale="log")
    pooling: Pooling = knob("avg", "Pooling of the last feature map to one vector.", source="DML deck, tricks")
    layer_norm: bool = knob(
        False, "Apply LayerNorm to the pooled features before the last layer.", source="RS@k, section 4.2"
    )
    layer_norm_affine: bool = knob(
        False, "Let LayerNorm learn a scale and a shift, as in the code of RS@k; the code of ROADMAP does not."
    )
    unit_features: bool = knob(
        False, "L2-normalise the pooled features before the last layer.", source="Radenovic et al. 2018"
    )
    projector: bool = knob(
        False,
        "Train through an additional linear layer (projector) that evaluation leaves out.",
        source="Contextual, section 5",
    )
    projector_width: int | None = knob(
        None,
        "Width of the projector, which then has no bias, as in the authors' code (2,048); by default that of the "
        "embedding, with a bias.",
        ge=1,
        le=65536,
        source="Contextual, section 5 and released code",
    )
    normalise: bool = knob(True, "L2-normalise each embedding.")
    freeze_batchnorm: bool | None = knob(
        None, "Freeze the running statistics of BatchNorm; by default if the weights are pretrained."
    )
    freeze_affine: bool = knob(False, "Also freeze the scale and shift of BatchNorm.")
    checkpointing: bool = knob(
        False, "Recompute activations in the backward pass (checkpointing): less memory, about a third more time."
    )


class Encoder(nn.Module, HasKnobs):
    """Maps images to embeddings. An entry declares `Knobs` (an `EncoderKnobs`) and calls `_assemble` when built.

    Attributes:
        dim: width of the embedding.
        input_size: side in pixels of the square images it was made for.
        mean, std: three numbers each that its input is to be normalised with.
        backbone: module, images [n 3 h w] to a feature map [n c h' w'].
        head: module, feature map to embeddings [n d] of any length.

    An encoder that puts words into the same space as images, as CLIP does, also defines
    `embed_text(self, texts: Sequence[str]) -> torch.Tensor`, [n d], unit rows; Browse, `lab query --text` and
    `Model.search` then take words.
    """

    Knobs: type[EncoderKnobs] = EncoderKnobs
    mean: Triple = (0.5, 0.5, 0.5)
    std: Triple = (0.5, 0.5, 0.5)
    dim: int
    trained_dim: int
    """Width of what the loss is given: that of the projector where there is one, else `dim`."""
    input_size: int

    def __init__(self, **knobs: Any):
        super().__init__()
        self.knobs: Any = type(self).Knobs(**knobs)

    def _assemble(self, backbone: nn.Module, pool: nn.Module, width: int, pretrained: bool) -> None:
        """Join a backbone, the pooling of its features and the embedding head; `width` is that of pooled features."""
        self.backbone = backbone
        knobs = self.knobs
        affine, unit = knobs.layer_norm_affine, knobs.unit_features
        self.dim = self.knobs.dim or width
        self.trained_dim = self._trained_dim()
        projector = self.trained_dim if knobs.projector else None
        bias = knobs.projector_width is None
        self.head = Head(pool, width, knobs.dim, knobs.layer_norm, projector, affine, unit, bias)
        frozen = self.knobs.freeze_batchnorm
        self.batchnorm_frozen = pretrained if frozen is None else frozen
        self._statistics = _batchnorm.OncePerBatch(self) if self.knobs.checkpointing else None
        self.train()

    def _trained_dim(self) -> int:
        knobs = self.knobs
        if knobs.projector_width is None:
            return self.dim
        if not knobs.projector:
            raise ValueError("encoder: projector_width needs projector: true; set it, or leave the width out.")
        return knobs.projector_width

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
            raise ValueError(f"{type(self).__name__} needs images [n 3 h w], got {list(images.shape)}.")
        if self._statistics is None:
            return self.head(self.backbone(images))
        self._statistics.restart()
        embeddings = self.head(self.backbone(images))
        if embeddings.requires_grad:
            embeddings.register_hook(lambda _: self._statistics.recompute())
        return embeddings

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
        """As `nn.Module.train`, except that frozen BatchNorm layers stay in evaluation mode."""
        super().train(mode)
        if self.batchnorm_frozen:
            _batchnorm.freeze(self, self.knobs.freeze_affine)
        return self
