"""The Heaviside step and its differentiable surrogates.

A rank is a sum of steps: item z is ranked before item x if the gap s_z - s_x is positive. The step has no useful
gradient, so each ranking loss replaces it by a surrogate. Every surrogate has a value, a derivative, and says whether
its value bounds the step from above. Losses, kernels and figures use these functions, so a figure shows exactly the
function that a loss computes.

`surrogate.value(gap)` and `surrogate.derivative(gap)` are elementwise and keep shape, dtype and device; do not
differentiate them. Differentiate `surrogate(gap)`: its forward is `value` and its backward is `derivative`, which for
the constant gradient of 004 is not the derivative of the value.
"""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

Bound = Literal["holds", "fails at ties", "fails"]
"""Whether a surrogate is at least the step: for every gap, for every gap except zero, or not even then."""

DEAD = 0.01
"""A gradient below this share of the slope at a tie counts as vanished in `dead_beyond`."""

_DEAD_LOGIT = -math.log((1 - math.sqrt(1 - DEAD)) / (1 + math.sqrt(1 - DEAD)))
"""The u > 0 at which sigma'(u) = DEAD * sigma'(0): both sides are quadratics in sigma(u)."""


class Surrogate(ABC):
    """Base class of functions that replace H(gap) in a rank; gap = s_other - s_positive, so a rank grows with it."""

    @abstractmethod
    def value(self, gap: Tensor) -> Tensor:
        """Compute how much an item at this similarity gap adds to the rank; the shape is kept."""

    @abstractmethod
    def derivative(self, gap: Tensor) -> Tensor:
        """Compute d value / d gap as back-propagation uses it, in 1 / similarity; the shape is kept."""

    @property
    @abstractmethod
    def bound(self) -> Bound:
        """Whether `value` is at least the step H, H(0) = 1."""

    @property
    @abstractmethod
    def dead_beyond(self) -> tuple[float, float]:
        """The gaps below and above which the gradient has vanished (see `DEAD`); infinite if it never vanishes."""

    def __call__(self, gap: Tensor) -> Tensor:
        """Compute `value(gap)`; backward multiplies by `derivative(gap)`."""
        return _Differentiable.apply(gap, self)


def once_differentiable(backward: Callable) -> Callable:
    """Decorate the backward of a torch.autograd.Function so that a second derivative raises a clear error.

    torch's decorator of this name returns zero for a second derivative without an error, if the incoming gradient is a
    constant (for instance the gradient of a mean).
    """

    @functools.wraps(backward)
    def checked_backward(ctx: Any, *gradients: Tensor) -> Any:
        if torch.is_grad_enabled():  # in a backward pass only with create_graph=True
            raise RuntimeError(
                "The gradient of a ranking loss is written by hand and cannot be differentiated again, so "
                "create_graph=True (a gradient penalty, a Hessian) is not possible; use a loss of "
                "pytorch-metric-learning, class_anchor_margin or cross_entropy."
            )
        return backward(ctx, *gradients)

    return checked_backward


class _Differentiable(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gap: Tensor, surrogate: Surrogate) -> Tensor:
        ctx.save_for_backward(gap)
        ctx.surrogate = surrogate
        return surrogate.value(gap)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (gap,) = ctx.saved_tensors
        return grad * ctx.surrogate.derivative(gap), None


@dataclass(frozen=True)
class Heaviside(Surrogate):
    """The true step (000, eq. 2): 1 for a positive gap, 0 for a negative one, `at_zero` at a tie. No gradient."""

    dead_beyond = 0.0, 0.0
    at_zero: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.at_zero <= 1:
            raise ValueError(
                f"Heaviside: at_zero must satisfy 0 <= at_zero <= 1, got {self.at_zero!r}."
            )

    def value(self, gap: Tensor) -> Tensor:
        return torch.heaviside(gap, gap.new_tensor(self.at_zero))

    def derivative(self, gap: Tensor) -> Tensor:
        return torch.zeros_like(gap)

    @property
    def bound(self) -> Bound:
        return "holds" if self.at_zero == 1 else "fails at ties"


@dataclass(frozen=True)
class HPlus(Heaviside):
    """H+ of SupAP (001, sec. 3.1): the step itself, used between positives.

    It has no gradient on purpose: dAP/drank+ = rank- / (rank+ + rank-)^2 >= 0, so a gradient through rank+ would push
    positives down.
    """


@dataclass(frozen=True)
class Sigmoid(Surrogate):
    """sigma(gap / tau) (000, eq. 4). A tie counts 0.5, and the gradient vanishes on both sides, also of wrong ranks.

    `clamp`: the released RS@k and SmoothAP code limits the exponent gap / tau to +-50; beyond, its gradient is zero.
    """

    bound = "fails"
    tau: float
    clamp: float | None = None

    def __post_init__(self) -> None:
        _check(self, above=("tau", "clamp"))

    def value(self, gap: Tensor) -> Tensor:
        exponent = gap / self.tau
        if self.clamp is not None:
            exponent = exponent.clamp_(-self.clamp, self.clamp)
        return exponent.sigmoid_()

    def derivative(self, gap: Tensor) -> Tensor:
        exponent = gap / self.tau
        slope = _sigmoid_slope(exponent).div_(self.tau)
        if self.clamp is not None:
            slope = slope * (exponent.abs() <= self.clamp)
        return slope

    @property
    def dead_beyond(self) -> tuple[float, float]:
        reach = _DEAD_LOGIT if self.clamp is None else min(_DEAD_LOGIT, self.clamp)
        return -reach * self.tau, reach * self.tau


@dataclass(frozen=True)
class HMinus(Surrogate):
    """H- of SupAP (001, eq. 4), used between a positive and the negatives.

    sigma(t/tau) for t < 0; sigma(t/tau) + start on (0, delta]; rho (t - delta) + offset beyond. At a tie, t = 0, the
    equation defines two values, by its first and by its second line.

    offset: value just after delta. None makes H- continuous: sigma(delta/tau) + start (1.4933 for tau 0.01, delta
        0.05). The released configurations set 1.44, a step of -0.053 at delta, and for iNaturalist 1.0 with start 0.
    start: value added for gaps above zero.
    lift_ties: use the second line at a tie; H- is then 1 and the bound of the paper holds. The default uses the first
        line, as the released code does: at a tie H- is 0.5, below the step, which is 1.
    """

    tau: float = 0.01
    rho: float = 100.0
    delta: float = 0.05
    offset: float | None = None
    start: float = 0.5
    lift_ties: bool = False

    def __post_init__(self) -> None:
        _check(self, above=("tau",), from_zero=("rho", "delta", "start"))
        if self.offset is not None and not math.isfinite(self.offset):
            raise ValueError(f"HMinus: offset must be finite or None, got {self.offset!r}.")

    @property
    def after_delta(self) -> float:
        """The value just after delta."""
        if self.offset is not None:
            return self.offset
        return (
            self.start
            + torch.sigmoid(torch.tensor(self.delta / self.tau, dtype=torch.float64)).item()
        )

    def value(self, gap: Tensor) -> Tensor:
        near = torch.sigmoid(gap / self.tau)
        ahead = gap >= 0 if self.lift_ties else gap > 0
        lifted = torch.where(ahead, near + self.start, near)
        return torch.where(
            gap > self.delta, self.rho * (gap - self.delta) + self.after_delta, lifted
        )

    def derivative(self, gap: Tensor) -> Tensor:
        near = _sigmoid_slope(gap / self.tau) / self.tau
        return torch.where(gap > self.delta, torch.full_like(gap, self.rho), near)

    @property
    def bound(self) -> Bound:
        lifted = self.start >= 0.5
        if self.after_delta < 1 or not (lifted or self.delta == 0):
            return "fails"
        return "holds" if lifted and self.lift_ties else "fails at ties"

    @property
    def dead_beyond(self) -> tuple[float, float]:
        reach = _DEAD_LOGIT * self.tau
        if self.rho > 0:  # the linear part never vanishes
            return -reach, math.inf
        return -reach, min(reach, self.delta)


@dataclass(frozen=True)
class ConstantGradient(Surrogate):
    """theta of the contextual loss (004, eq. 20): the exact step forward, a constant slope alpha backward."""

    bound = "holds"
    dead_beyond = -math.inf, math.inf
    alpha: float = 10.0

    def __post_init__(self) -> None:
        _check(self, above=("alpha",))

    def value(self, gap: Tensor) -> Tensor:
        return (gap >= 0).to(gap.dtype)

    def derivative(self, gap: Tensor) -> Tensor:
        return torch.full_like(gap, self.alpha)


@dataclass(frozen=True)
class LinearTail(Surrogate):
    """An upper bound that grows linearly for wrongly ranked items, which 004 (appendix E.2) considers and rejects.

    2 sigma(t/tau) for t <= 0, then 1 + rho t. The paper describes the shape in words; this is the smooth function that
    equals the step at a tie, so unlike H- it is a bound there, too. rho None is the slope at zero, 1 / (2 tau), which
    leaves no kink. The paper rejects it because one wrongly ranked item with a large gap counts as many.
    """

    bound = "holds"
    tau: float = 0.01
    rho: float | None = None

    def __post_init__(self) -> None:
        _check(self, above=("tau",), from_zero=("rho",))

    @property
    def slope(self) -> float:
        """Slope of the tail, in 1 / similarity."""
        return 1 / (2 * self.tau) if self.rho is None else self.rho

    def value(self, gap: Tensor) -> Tensor:
        return torch.where(gap > 0, 1 + self.slope * gap, 2 * torch.sigmoid(gap / self.tau))

    def derivative(self, gap: Tensor) -> Tensor:
        return torch.where(
            gap > 0, torch.full_like(gap, self.slope), 2 * _sigmoid_slope(gap / self.tau) / self.tau
        )

    @property
    def dead_beyond(self) -> tuple[float, float]:
        above = math.inf if self.slope > 0 else 0.0
        return -_DEAD_LOGIT * self.tau, above


@dataclass(frozen=True)
class SoftBins(Surrogate):
    """The function that the soft histograms of SoftBin-AP and FastAP put in place of the step.

    Similarities are divided among triangular bins, and a rank counts the items in the same or a higher bin. For a
    positive on a bin centre an item counts clip(1 + t / width, 0, 1). For a positive between two centres, at the
    fraction `phase` of the distance, it is the mixture of the two neighbouring ramps. Beyond two bins the gradient is
    exactly zero.

    bins: number of bin centres on [low, high]; 20 on [-1, 1] in SoftBin-AP, 25 on [0, 1] in its released default.
    """

    bins: int = 20
    low: float = -1.0
    high: float = 1.0
    phase: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.bins, int) or self.bins < 2:
            raise ValueError(f"SoftBins: bins must be an integer of at least 2, got {self.bins!r}.")
        if not self.low < self.high:
            raise ValueError(
                f"SoftBins: low must be less than high, got low {self.low!r} and high {self.high!r}."
            )
        if not 0 <= self.phase < 1:
            raise ValueError(f"SoftBins: phase must satisfy 0 <= phase < 1, got {self.phase!r}.")

    @property
    def width(self) -> float:
        """Distance between two bin centres, in similarity."""
        return (self.high - self.low) / (self.bins - 1)

    def value(self, gap: Tensor) -> Tensor:
        place = gap / self.width + self.phase
        return (1 - self.phase) * (1 + place).clamp(0, 1) + self.phase * place.clamp(0, 1)

    def derivative(self, gap: Tensor) -> Tensor:
        place = gap / self.width + self.phase
        lower = ((place > -1) & (place <= 0)).to(gap.dtype)
        upper = ((place > 0) & (place <= 1)).to(gap.dtype)
        return ((1 - self.phase) * lower + self.phase * upper) / self.width

    @property
    def bound(self) -> Bound:
        return "holds" if self.phase == 0 else "fails"

    @property
    def dead_beyond(self) -> tuple[float, float]:
        above = (1 - self.phase) * self.width if self.phase else 0.0
        return -(1 + self.phase) * self.width, above


def _sigmoid_slope(exponent: Tensor) -> Tensor:
    """Compute sigma'(u) as sigma(u) sigma(-u); unlike sigma (1 - sigma) it is precise for large u, too."""
    return torch.sigmoid(exponent).mul_((-exponent).sigmoid_())


def _check(owner: Surrogate, above: Sequence[str] = (), from_zero: Sequence[str] = ()) -> None:
    """Raise ValueError unless the named parameters are finite and above 0, or at least 0; None is not checked."""
    for name in (*above, *from_zero):
        value = getattr(owner, name)
        if value is None:
            continue
        positive = value > 0 or (value == 0 and name in from_zero)
        if not (math.isfinite(value) and positive):
            sign = "<" if name in above else "<="
            raise ValueError(
                f"{type(owner).__name__}: {name} must satisfy 0 {sign} {name}, got {value!r}."
            )
