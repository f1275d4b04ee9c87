"""Compare the gradients of two ways to compute them, for instance with and without gradient caching."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from lab.core import style
from lab.inspect._insight import Insight, frame

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4, torch.bfloat16: 5e-2, torch.float16: 1e-2}
"""Relative difference per parameter that rounding explains, by the dtype of the computation."""


@dataclass(frozen=True)
class GradientEquality(Insight):
    """The comparison of two gradients, parameter by parameter.

    names: the parameters.
    worst: float64 [p], largest absolute difference within the parameter.
    relative: float64 [p], norm of the difference over the norm of the reference gradient.
    tolerance: largest relative difference that counts as equal.

    Example:
        >>> import lab, torch
        >>> x = torch.ones(4, 3)
        >>> def whole(model):
        ...     model(x).sum().backward()
        >>> def halves(model):
        ...     [model(half).sum().backward() for half in x.split(2)]
        >>> same = lab.inspect.gradient_equality(torch.nn.Linear(3, 1), whole, halves)
        >>> same.names, same.holds
        (('weight', 'bias'), True)
    """

    names: tuple[str, ...]
    worst: np.ndarray
    relative: np.ndarray
    tolerance: float

    @property
    def holds(self) -> bool:
        """Whether every parameter agrees."""
        return bool((self.relative <= self.tolerance).all())

    @property
    def summary(self) -> str:
        index = int(np.argmax(self.relative))
        if self.holds:
            sign = style.RIGHT
            verb = "equal"
        else:
            sign = style.WRONG
            verb = "differ from"
        return (
            f"{sign} The gradients {verb} the plain ones: largest |Δ| {self.worst.max():.2e}, largest relative "
            f"difference {self.relative[index]:.2e} in {self.names[index]} (limit {self.tolerance:.0e}, "
            f"{len(self.names)} parameters)."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per parameter: parameter, worst, relative, equal."""
        equal = self.relative <= self.tolerance
        return frame(parameter=self.names, worst=self.worst, relative=self.relative, equal=equal)

    def figure(self) -> go.Figure:
        """Draw the relative difference of every parameter and the limit, on a logarithmic scale."""
        figure = style.canvas(
            "Cached against plain gradients",
            self.summary,
            x="relative difference (log scale)",
            height=max(320, 160 + 22 * len(self.names)),
        )
        equal = self.relative <= self.tolerance
        differences = np.maximum(self.relative, 1e-17)
        for index, (name, mask) in enumerate((("equal", equal), ("different", ~equal))):
            figure.add_scatter(
                x=differences[mask],
                y=[n for n, m in zip(self.names, mask, strict=True) if m],
                mode="markers",
                name=f"{style.RIGHT if index == 0 else style.WRONG} {name}",
                marker=style.marker(index, 11),
            )
        figure.add_vline(
            x=self.tolerance, line={"dash": "dash", "color": style.BLACK}, annotation_text="limit"
        )
        figure.update_xaxes(type="log", exponentformat="power")
        return figure.update_yaxes(
            type="category", categoryorder="array", categoryarray=list(self.names)[::-1]
        )


def gradient_equality(
    module: nn.Module,
    reference: Callable[[nn.Module], object],
    candidate: Callable[[nn.Module], object],
    tolerance: float | None = None,
    seed: int = 0,
) -> GradientEquality:
    """Run two functions that fill `.grad` on copies of one module, under the same random seed, and compare.

    Args:
        module: the module; it is not changed.
        reference, candidate: callables that take the module, run forward and backward, and leave `.grad` filled.
        tolerance: relative limit per parameter; None takes `TOLERANCE` for the module's dtype.
        seed: random seed of both, so that dropout masks can agree.

    Raises:
        ValueError: no parameter requires a gradient, or only one of the functions leaves a gradient in a parameter.

    Example:
        >>> import lab, torch
        >>> x = torch.ones(4, 3)
        >>> mean = lambda model: model(x).mean().backward()
        >>> total = lambda model: model(x).sum().backward()
        >>> lab.inspect.gradient_equality(torch.nn.Linear(3, 1), mean, total).holds
        False
    """
    plain = _gradients(module, reference, seed)
    other = _gradients(module, candidate, seed)
    if not plain:
        raise ValueError(
            "gradient_equality needs a module with at least one parameter that requires a gradient."
        )
    one_sided = [name for name in plain if (plain[name] is None) != (other[name] is None)]
    if one_sided:
        raise ValueError(
            f"gradient_equality: only one of the two ways leaves a gradient in {', '.join(one_sided[:5])}; both must "
            "run forward and backward on the module they are given."
        )
    names = tuple(name for name in plain if plain[name] is not None)
    if not names:
        raise ValueError(
            "gradient_equality: neither way leaves a gradient; call .backward() inside each of them."
        )
    worst = []
    relative = []
    for name in names:
        a = plain[name].double()
        b = other[name].double()
        difference = (a - b).abs()
        worst.append(difference.max().item())
        size = a.norm().item()
        if size > 0:
            relative.append(difference.norm().item() / size)
        else:
            relative.append(float(difference.norm().item() > 0))
    if tolerance is None:
        dtype = next(iter(module.parameters())).dtype
        tolerance = TOLERANCE.get(dtype, 1e-4)
    return GradientEquality(names, np.array(worst), np.array(relative), tolerance)


def _gradients(module: nn.Module, run: Callable[[nn.Module], object], seed: int) -> dict[str, Any]:
    """Run the function on a copy of the module; return the gradients by parameter, None where there is none."""
    module = copy.deepcopy(module)
    module.zero_grad(set_to_none=True)
    devices = sorted({p.device.index for p in module.parameters() if p.device.type == "cuda"})
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        run(module)
    return {name: p.grad for name, p in module.named_parameters() if p.requires_grad}
