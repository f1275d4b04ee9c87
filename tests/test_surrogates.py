"""Every surrogate: value against the formula, derivative against differences, bound against a fine grid."""

import math

import pytest
import torch

from lab import surrogates
from lab.surrogates import (
    DEAD,
    ConstantGradient,
    Heaviside,
    HMinus,
    HPlus,
    LinearTail,
    Sigmoid,
    SoftBins,
)

RELEASED = HMinus(offset=1.44)
INATURALIST = HMinus(offset=1.0, start=0.0)
ALL = [
    HMinus(lift_ties=True),
    Heaviside(), Heaviside(at_zero=0.5), HPlus(), Sigmoid(0.01), Sigmoid(1.0), Sigmoid(0.01, clamp=50), HMinus(),
    RELEASED, INATURALIST, HMinus(rho=0.0), HMinus(delta=0.0), ConstantGradient(), LinearTail(), LinearTail(rho=3.0),
    SoftBins(), SoftBins(phase=0.3), SoftBins(25, 0.0, 1.0),
]  # fmt: skip
GRID = torch.cat(
    [torch.linspace(-2, 2, 40_001, dtype=torch.float64), torch.zeros(1, dtype=torch.float64)]
)


def sigma(u: float) -> float:
    return 1 / (1 + math.exp(-u))


def h_minus(t: float, tau=0.01, rho=100.0, delta=0.05) -> float:
    """001, eq. 4, one number at a time."""
    if t <= 0:
        return sigma(t / tau)
    if t <= delta:
        return sigma(t / tau) + 0.5
    return rho * (t - delta) + sigma(delta / tau) + 0.5


@pytest.mark.parametrize("gap", [-1.0, -0.2, -0.01, 0.0, 1e-9, 0.02, 0.05, 0.0501, 0.4, 2.0])
def test_h_minus_is_equation_4(gap):
    assert HMinus().value(torch.tensor(gap, dtype=torch.float64)).item() == pytest.approx(
        h_minus(gap), rel=1e-12
    )


def test_h_minus_slope_falls_before_delta_and_jumps_to_rho():
    slope = HMinus().derivative(torch.tensor([0.0, 0.05, 0.05 + 1e-12], dtype=torch.float64))
    assert slope[0].item() == pytest.approx(25.0)
    assert slope[1].item() == pytest.approx(0.6648, abs=1e-4)
    assert slope[2].item() == 100.0


def test_soft_bins_equal_a_soft_histogram():
    """The mixture of ramps is what triangular bins and a cumulated count give, for any place of the positive."""
    low, high, bins = -1.0, 1.0, 20
    width = (high - low) / (bins - 1)
    centres = torch.linspace(low, high, bins, dtype=torch.float64)

    def spread(s):
        return (1 - (s[:, None] - centres).abs() / width).clamp(min=0)

    for phase in (0.0, 0.25, 0.9):
        positive = centres[7:8] + phase * width
        items = torch.linspace(-0.9, 0.9, 181, dtype=torch.float64)
        # [items bins]: weight in this bin or a higher one
        at_least = spread(items).flip(1).cumsum(1).flip(1)
        counted = (spread(positive) * at_least).sum(1)
        assert torch.allclose(
            SoftBins(bins, low, high, phase).value(items - positive), counted, atol=1e-12
        )


@pytest.mark.parametrize("surrogate", ALL, ids=repr)
def test_derivative_is_the_slope_of_the_value(surrogate):
    if isinstance(surrogate, ConstantGradient):
        assert surrogate.derivative(GRID).eq(surrogate.alpha).all()
        return
    h = 1e-7
    kinks = [0.0, 0.05]
    if isinstance(surrogate, SoftBins):
        kinks += [(whole - surrogate.phase) * surrogate.width for whole in (-1, 0, 1)]
    if isinstance(surrogate, Sigmoid) and surrogate.clamp:
        kinks += [-surrogate.clamp * surrogate.tau, surrogate.clamp * surrogate.tau]
    smooth = GRID[torch.stack([(GRID - kink).abs() > 1e-5 for kink in kinks]).all(0)]
    slope = (surrogate.value(smooth + h) - surrogate.value(smooth - h)) / (2 * h)
    assert torch.allclose(surrogate.derivative(smooth), slope, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("surrogate", ALL, ids=repr)
def test_bound_is_what_a_fine_grid_says(surrogate):
    above = surrogate.value(GRID) >= (GRID >= 0)
    tie = GRID == 0
    found = "holds" if above.all() else "fails at ties" if above[~tie].all() else "fails"
    assert surrogate.bound == found


@pytest.mark.parametrize("surrogate", ALL, ids=repr)
def test_gradient_is_dead_exactly_beyond_the_stated_gaps(surrogate):
    below, above = surrogate.dead_beyond
    outside = (GRID - below < -1e-4) | (GRID - above > 1e-4)
    inside = (GRID - below > 1e-4) & (GRID - above < -1e-4)
    slope = surrogate.derivative(GRID)
    threshold = DEAD * slope[GRID == 0].max()
    dead = (slope < threshold) | (slope == 0)
    assert dead[outside].all()
    assert not dead[inside].any()


@pytest.mark.parametrize("surrogate", ALL, ids=repr)
def test_call_backpropagates_the_derivative(surrogate):
    gap = torch.linspace(-0.3, 0.3, 61, dtype=torch.float64, requires_grad=True)
    weight = torch.arange(61, dtype=torch.float64)
    value = surrogate(gap)
    assert torch.equal(value, surrogate.value(gap.detach()))
    (grad,) = torch.autograd.grad((weight * value).sum(), gap)
    assert torch.allclose(grad, weight * surrogate.derivative(gap.detach()))


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Sigmoid(0.0), "tau"), (lambda: Sigmoid(math.nan), "tau"), (lambda: Sigmoid(0.01, clamp=-1), "clamp"),
        (lambda: HMinus(tau=-1), "tau"), (lambda: HMinus(rho=-1), "rho"), (lambda: HMinus(delta=-0.1), "delta"),
        (lambda: HMinus(offset=math.inf), "offset"), (lambda: ConstantGradient(0), "alpha"),
        (lambda: LinearTail(rho=-2), "rho"), (lambda: SoftBins(bins=1), "bins"), (lambda: SoftBins(phase=1.0), "phase"),
        (lambda: SoftBins(low=1.0, high=0.0), "low"), (lambda: Heaviside(at_zero=2), "at_zero"),
    ],
)  # fmt: skip
def test_illegal_values_are_named(make, named):
    with pytest.raises(ValueError, match=rf": {named} must"):
        make()


def test_every_surrogate_of_the_module_is_tested():
    public = {
        value
        for value in vars(surrogates).values()
        if isinstance(value, type)
        and issubclass(value, surrogates.Surrogate)
        and value is not surrogates.Surrogate
    }
    assert public == {type(one) for one in ALL}
