"""A head on frozen features: of any network, or of vectors that came without one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch
from torch import nn

import lab.encoders
from lab.core.explain import last_line, quoted
from lab.core.knobs import LARGEST_SIDE, WIDEST, argument, knob
from lab.core.words import NAME, kind_of
from lab.encoders import _timm, foreign
from lab.encoders._base import Encoder
from lab.encoders._layers import MOST_LAYERS, OUTPUT, AtLayer, Layer


class Whiten(nn.Module):
    """Whitened features, [n w] to [n k]: the mean of the training features is subtracted, then a fixed linear map makes
    every direction vary alike. It has no weights to train; `fit` sets it, and a checkpoint keeps it.

    Raises:
        ValueError: it is used before it was fitted.
    """

    def __init__(self, width: int, kept: int):
        super().__init__()
        self.is_fitted = False
        self.mean: torch.Tensor
        self.projection: torch.Tensor
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("projection", torch.zeros(width, kept))

    @torch.no_grad()
    def fit(self, mean: np.ndarray, projection: np.ndarray) -> None:
        """Take the mean [w] and the linear map [w k] of a whitening."""
        self.mean.copy_(torch.from_numpy(mean))
        self.projection.copy_(torch.from_numpy(np.ascontiguousarray(projection)))
        self.is_fitted = True

    def _load_from_state_dict(self, *arguments: Any) -> None:
        super()._load_from_state_dict(*arguments)
        self.is_fitted = True

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        if not self.is_fitted:
            raise ValueError(
                "The whitening of this encoder was not fitted to any features; train or load a run of it."
            )
        return (features.float() - self.mean) @ self.projection


class Adapted(Encoder):
    """A network that keeps its weights, with a head that is trained: seconds instead of minutes, see `lab adapt`.

    It takes images float32 [n 3 h w], or features float32 [n w] that the network made of them before: a training
    embeds each image once. Without a network (`base` none) it takes vectors alone.

    Raises:
        ValueError: there is no such network, or its weights cannot be had or do not fit.
    """

    base: str | None = knob(
        "Network that makes the features, as `lab embed --encoder` takes it, or the encoder of a run as JSON; none for "
        "vectors that were made elsewhere.",
        default=None,
        network=True,
    )
    pretrained: bool = knob("Start from the pretrained weights of the network.", default=True)
    weights: str | None = knob(
        "File with weights of the network, or a checkpoint of the run that trained it.",
        default=None,
        path=True,
    )
    vectors: str | None = knob(
        "Folder of the run that holds the vectors, where there is no network.",
        default=None,
        path=True,
    )
    _width: int = knob(
        "Numbers of a vector, where there is no network.",
        default=512,
        ge=1,
        le=WIDEST,
        scale="log",
        alias="width",
    )
    image_size: int | None = knob(
        "Side of the images that the network is shown; by default what it says.",
        default=None,
        ge=16,
        le=LARGEST_SIDE,
        unit="pixels",
    )
    layer: int | None = knob(
        "Layer of the network that makes the features, counted from 1; by default its output.",
        default=None,
        ge=1,
        le=MOST_LAYERS,
    )
    token: Literal["mean", "cls", "both"] = knob(
        "What is taken of a layer of a transformer: the mean of its patches, its class token, or both.",
        default="mean",
    )
    whiten: int | None = knob(
        "Whiten the features to so many numbers, by the training images without their labels; none: as they are.",
        default=None,
        ge=1,
        le=WIDEST,
        scale="log",
    )
    shrinkage: float = knob(
        "How far the whitening moves each variance towards their mean; 0 keeps them as measured.",
        default=0.1,
        ge=0,
        le=1,
    )
    _head: Literal["linear", "mlp"] = knob(
        "Head on the features: a linear map that starts as a random rotation, or two linear maps with a ReLU between. "
        "With dim none there is no head.",
        default="linear",
        alias="head",
    )
    hidden: int = knob(
        "Width between the two maps of the head mlp.", default=512, ge=2, le=WIDEST, scale="log"
    )

    network: Any = argument("The network itself, instead of the one that base names.", default=None)

    input_size = foreign.SIDE

    def __post_init__(self) -> None:
        # it is the backbone, and no second part of this module
        base = self.network
        self.network = None
        if base is None and self.knobs.base is not None:
            base = _network(self.knobs)
        backbone: nn.Module
        if base is None:
            backbone = nn.Identity()
            width = self.knobs.width
        else:
            backbone = base.requires_grad_(False)
            self.input_size, self.mean, self.std = (
                base.input_size,
                tuple(base.mean),
                tuple(base.std),
            )
            self.preprocessing = base.preprocessing
            if self.knobs.layer is not None:
                backbone = AtLayer(
                    backbone, Layer(self.knobs.layer, self.knobs.token), self.input_size
                )
            width = _timm.width(backbone, self.input_size, str(self.knobs.base))
        self._check_layer(has_network=base is not None)
        self.width = width
        whitening: nn.Module = nn.Identity()
        if self.knobs.whiten is not None:
            if self.knobs.whiten > width:
                raise ValueError(
                    f"encoder: whiten keeps at most the {width} numbers of a feature, got {self.knobs.whiten}."
                )
            whitening = Whiten(width, self.knobs.whiten)
            width = self.knobs.whiten
        self._assemble(backbone, whitening, width, pretrained=False)
        if self.knobs.head == "mlp" and self.knobs.dim is not None:
            hidden = self.knobs.hidden
            maps = nn.Sequential(
                nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, self.knobs.dim)
            )
            self.head.embed = maps  # type: ignore[assignment]  # of this head only

    @property
    def whole_network(self) -> nn.Module:
        """The whole network, whichever of its layers makes the features."""
        return self.backbone.network if isinstance(self.backbone, AtLayer) else self.backbone

    @property
    def layer_used(self) -> Layer:
        """The layer that makes the features."""
        return self.backbone.layer if isinstance(self.backbone, AtLayer) else OUTPUT

    @property
    def whitening(self) -> Whiten | None:
        """What whitens the features, where they are whitened."""
        return self.head.pool if isinstance(self.head.pool, Whiten) else None

    def _check_layer(self, has_network: bool) -> None:
        if self.knobs.layer is not None and not has_network:
            raise ValueError(
                "encoder: layer needs a network (base), and these are vectors without one; leave it out."
            )
        if self.knobs.layer is None and self.knobs.token != "mean":
            raise ValueError("encoder: token is of a layer; give layer, too, or leave token out.")

    @classmethod
    def download(cls, values: Mapping[str, Any]) -> str:
        base = values.get("base") or ""
        named = (
            kind_of(base) == NAME and not base.startswith("{") and base not in lab.encoders.names()
        )
        return _timm.download({**values, "backbone": base}) if named else ""

    def raw(self, images: torch.Tensor) -> torch.Tensor:
        """Embeddings [n d] of normalised images [n 3 h w], or of their features [n w], before they get unit length.

        Raises:
            ValueError: they are of another shape; or there is no network, and they are images.
        """
        if images.ndim == 2 and images.shape[1] == self.width:
            return self.head(images)
        if self.knobs.base is None or images.ndim == 2:
            raise ValueError(
                f"This head takes vectors of {self.width} numbers [n {self.width}], got {list(images.shape)}"
                + (
                    "; they came without the network that makes them of pictures."
                    if images.ndim == 4
                    else "."
                )
            )
        return super().raw(images)

    def train(self, mode: bool = True) -> Self:
        """As `nn.Module.train`, except that the network stays in evaluation mode."""
        super().train(mode)
        self.backbone.eval()
        return self


def _network(knobs: Any) -> Any:
    """The network that a person or a run named, with the weights that it is to have."""
    if not knobs.base.startswith("{"):
        seen = foreign.Seen(size=knobs.image_size)
        return foreign.encoder_of(knobs.base, knobs.weights, seen, pretrained=knobs.pretrained)
    kind, values = encoder_in(knobs.base)
    made = kind(**values)
    if knobs.weights:
        path = Path(knobs.weights).expanduser()
        state = _timm.read_weights(path)
        mine = {
            name.removeprefix("encoder."): one
            for name, one in state.items()
            if name.startswith("encoder.")
        }
        try:
            made.load_state_dict(mine or state)
        except RuntimeError as error:
            raise ValueError(
                f"The weights in {path} do not fit {knobs.base}: {last_line(error)}"
            ) from None
    made.input_size = knobs.image_size or made.input_size
    return made.eval()


def encoder_in(text: str) -> tuple[Any, dict[str, Any]]:
    """Read an encoder as JSON: its class and its knobs, without pretrained weights, which those of a run replace.

    Raises:
        ValueError: it is no encoder as JSON, or there is no such encoder.
    """
    try:
        choice = json.loads(text)
        kind = lab.encoders.get(choice.pop("name"))
    except (json.JSONDecodeError, RecursionError, AttributeError, KeyError, TypeError):
        raise ValueError(
            f'{quoted(text)} is no encoder as JSON, such as {{"name": "small_cnn"}}.'
        ) from None
    fetching = {"pretrained": False, "weights": None}
    return kind, choice | {
        name: value for name, value in fetching.items() if name in kind.Knobs.model_fields
    }
