"""Layers of a network: what each of its stages or blocks sees, pooled to one vector an image.

The best embedding of a network is often not at its output. A layer is a whole number from 1, in the order in which the
network computes them: the stages of a convolutional network, the blocks of a transformer. All layers come out of one
forward pass (timm's `forward_intermediates`). A transformer's layer is a table of tokens: its class token, the mean of
its patches, or both.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import nn

from lab.encoders._timm import as_map

Token = Literal["mean", "cls", "both"]
TOKENS: tuple[Token, ...] = ("mean", "cls", "both")
"""How a layer becomes one vector: the mean over its places, the class token, or both side by side."""

MOST_LAYERS = 1_000
"""Upper bound of the number of a layer; the deepest networks of timm have about a hundred."""


@dataclass(frozen=True)
class Layer:
    """A layer of a network. number: 1 is the first; None is the output of the network. token: see `TOKENS`."""

    number: int | None = None
    token: Token = "mean"

    @property
    def words(self) -> str:
        """`layer 6`, `layer 6, class token`, or `output`."""
        if self.number is None:
            return "output"
        token = {"mean": "", "cls": ", class token", "both": ", class token and mean"}[self.token]
        return f"layer {self.number}{token}"


OUTPUT = Layer()
"""The embedding that the network was published with."""


def network_in(encoder: Any) -> Any:
    """Find the network that can give its layers in an encoder: a model of timm, or the stages of `small_cnn`.

    Raises:
        ValueError: there is none, as in a program (ONNX, torch.export) or a function of the user's.
    """
    backbone = getattr(encoder, "backbone", None)
    for candidate in (
        backbone,
        getattr(backbone, "model", None),
        getattr(encoder, "model", None),
        encoder,
    ):
        if hasattr(candidate, "forward_intermediates"):
            return candidate
    raise ValueError(
        f"{type(encoder).__name__} does not give its layers: only networks of timm and of Rankscope do; leave the "
        "layer out."
    )


def layers_in(encoder: Any, size: int) -> tuple[Layer, ...]:
    """List every layer of an encoder, with each token that it has, found by embedding one black image of this size.

    Raises:
        ValueError: the network does not give its layers.
    """
    network = network_in(encoder)
    with torch.no_grad():
        _, maps = _walk(network, torch.zeros(1, 3, size, size, device=_device(network)), None)
    found = []
    for number, (_, prefix) in enumerate(maps, start=1):
        for token in TOKENS if prefix is not None else TOKENS[:1]:
            found.append(Layer(number, token))
    return tuple(found)


class AtLayer(nn.Module):
    """A network that ends at one of its layers: normalised images [n 3 h w] to unit rows [n c].

    Raises:
        ValueError: the network has no such layer or token, or does not give its layers.
    """

    def __init__(self, network: nn.Module, layer: Layer, size: int):
        super().__init__()
        self.network = network
        self.layer = layer
        known = layers_in(network, size)
        if layer not in known:
            count = known[-1].number
            if layer.number is not None and count is not None and layer.number > count:
                raise ValueError(
                    f"encoder: layer must be from 1 to {count}, the layers of this network; got {layer.number}."
                )
            raise ValueError(
                f"encoder: token {layer.token} needs a class token, which this network has not; take token mean."
            )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        assert self.layer.number is not None
        _, maps = _walk(network_in(self.network), images, [self.layer.number - 1], stop_early=True)
        return pooled(*maps[0], self.layer.token)


class EveryLayer(nn.Module):
    """Several layers of a network out of one forward pass, side by side: images [n 3 h w] to rows [n c1 + c2 ...].

    layers: in which order they stand. widths: numbers of each, found by embedding one black image of this size.
    """

    def __init__(self, network: nn.Module, layers: Sequence[Layer], size: int):
        super().__init__()
        self.network = network
        self.layers = tuple(layers)
        with torch.no_grad():
            parts = self.parts(torch.zeros(1, 3, size, size, device=_device(network)))
        self.widths = tuple(part.shape[1] for part in parts)

    def parts(self, images: torch.Tensor) -> list[torch.Tensor]:
        """Rows [n c] of each layer."""
        numbers = sorted({layer.number for layer in self.layers if layer.number is not None})
        if not numbers:
            return [self.network(images)]
        network = network_in(self.network)
        final, maps = _walk(
            network,
            images,
            [number - 1 for number in numbers],
            stop_early=OUTPUT not in self.layers,
        )
        rows = []
        for layer in self.layers:
            if layer.number is None:
                rows.append(_output(self.network, network, final))
            else:
                rows.append(pooled(*maps[numbers.index(layer.number)], layer.token))
        return rows

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return torch.cat([part.float() for part in self.parts(images)], dim=1)


def pooled(features: torch.Tensor, prefix: torch.Tensor | None, token: Token) -> torch.Tensor:
    """One row of unit length for each image. features: [n c h w]. prefix: [n t c], the first is the class token."""
    mean = F.normalize(features.mean(dim=(-2, -1)), dim=-1)
    if token == "mean" or prefix is None:
        return mean
    first = F.normalize(prefix[:, 0], dim=-1)
    return first if token == "cls" else F.normalize(torch.cat([first, mean], dim=-1), dim=-1)


Maps = list[tuple[torch.Tensor, "torch.Tensor | None"]]


def _walk(
    network: Any, images: torch.Tensor, indices: Sequence[int] | None, stop_early: bool = False
) -> tuple[torch.Tensor | None, Maps]:
    """Run a network once: its last features, None if it stops early, and the map [n c h w] and the prefix tokens
    [n t c] of each layer, counted from 0; all layers where no indices are given."""
    takes = inspect.signature(network.forward_intermediates).parameters
    stop_early = stop_early and {"stop_early", "intermediates_only"} <= takes.keys()
    # the stem is then number 0, which is no stage
    stages = "extra_blocks" in takes and hasattr(network, "conv_stem")
    if stages:
        count = len(network.blocks)
        indices = [index + 1 for index in (range(count) if indices is None else indices)]
    options = {
        "norm": True,  # as the last block is read: the class token of the last block is then the network's output
        "stop_early": stop_early,
        "return_prefix_tokens": True,
        "extra_blocks": stages,
        "intermediates_only": stop_early,
        "output_fmt": "NCHW",
    }
    options = {name: value for name, value in options.items() if name in takes}
    found = network.forward_intermediates(
        images, indices=None if indices is None else list(indices), **options
    )
    final, layers = (None, found) if stop_early else found
    maps: Maps = []
    for layer in layers:
        features, prefix = layer if isinstance(layer, tuple) else (layer, None)
        maps.append((features, prefix))
    return final, maps


def _output(encoder: Any, network: Any, final: Any) -> torch.Tensor:
    """Finish the forward pass of an encoder from the last features of its network."""
    features = network.forward_head(final) if hasattr(network, "forward_head") else final
    if not hasattr(encoder, "head"):  # a model of the user's
        return F.normalize(features.float(), dim=1)
    if encoder.backbone is not network:  # an encoder of ours that pools the feature map itself
        features = as_map(network, features)
    embeddings = encoder.head(features)
    return F.normalize(embeddings.float(), dim=-1) if encoder.knobs.normalise else embeddings


def _device(network: Any) -> torch.device:
    return next((one.device for one in network.parameters()), torch.device("cpu"))
