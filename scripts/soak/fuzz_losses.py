"""Losses on batches and knobs that chance has made: no crash, no NaN, and every path agrees with float64 to 1e-4.

    python scripts/soak/fuzz_losses.py --trials 5000

Value and gradient of plain tensors and of compiled loops, both float32, are compared with plain tensors of float64; a
tenth of the batches is bfloat16 or float16. A loss may refuse a batch, or knobs, in a sentence. Some batches cannot be
told to 1e-4 in float32 by anybody: exact ties, steps, steep temperatures and distances of nearly equal rows turn
the rounding of a last bit into other numbers. There they may differ four times as much as float64 does when its rows,
products, sums and functions are rounded so (stochastic arithmetic); they are counted.

Gradients are compared by the largest difference, each row times its length, against the largest of them.
"""

from __future__ import annotations

import math
import random
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import torch
from common import arguments, conclude
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from lab import losses
from lab.core.knobs import Knob, describe
from lab.kernels import paths

AGREE = 1e-4
ROUNDING = 2.0**-23
"""What rounding a float32 may change of it, as a share."""
PRODUCTS = ("mm", "addmm", "bmm", "baddbmm", "dot", "mv")
DISTANCES = ("_cdist_forward", "_euclidean_dist")
ROUNDED = ("add", "sub", "rsub", "mul", "div", "sum", "mean", "linalg_vector_norm", "sqrt", "exp", "sigmoid", "log")
"""What else float32 rounds on its way; a row that was normalised is not of length 1 then."""
LARGEST = 300
"""Rows of a batch at most."""
SIZED = ("num_classes", "dim")
MIXED = 12
"""Rows of a class at most where SiMix adds a row for each two of them: the plain path ranks all of them cubically."""
KINDS = ("general", "general", "ties", "duplicates", "zeros", "lengths", "collapsed", "tiny", "huge")


@dataclass(frozen=True)
class Trial:
    """One loss with knobs, and one batch: rows [n d], labels int64 [n]."""

    name: str
    knobs: dict[str, Any]
    kind: str
    rows: Tensor
    labels: Tensor

    @property
    def words(self) -> str:
        return f"{self.name}({self.knobs}), {self.kind}, {tuple(self.rows.shape)}, {self.rows.dtype}"

    def loss(self) -> losses.Loss:
        torch.manual_seed(0)
        sizes = int(self.labels.max()) + 1, self.rows.shape[1]
        return losses.get(self.name).sized(*sizes, **self.knobs).eval()


def value_of(knob: Knob, chance: random.Random) -> Any:
    """A legal value of a knob, mostly near its default, at times at an end of its range."""
    if knob.choices:
        return chance.choice(knob.choices)
    if knob.kind is bool:
        return chance.random() < 0.5
    near = knob.default if isinstance(knob.default, int | float) else 1
    low = knob.ge if knob.ge is not None else knob.gt if knob.gt is not None else -4 * abs(near) - 1
    high = knob.le if knob.le is not None else knob.lt if knob.lt is not None else 4 * abs(near) + 4
    if knob.kind is int:
        return chance.randint(int(low), int(min(high, low + 12)))
    if chance.random() < 0.1 and knob.ge is not None:
        return knob.ge
    if chance.random() < 0.1 and knob.le is not None:
        return knob.le
    if near and low >= 0:
        return min(max(abs(near) * 10 ** chance.uniform(-1.5, 1.5), low), high)
    return chance.uniform(low, high)


def drawn_knobs(name: str, chance: random.Random) -> dict[str, Any]:
    """Knobs that the loss takes; its defaults where what was drawn does not go together."""
    given = dict(losses.get(name).without_chance)
    for knob in describe(losses.get(name).Knobs):
        known = knob.name in (*SIZED, *given) or knob.path or knob.kind not in (int, float, bool) and not knob.choices
        if not known and chance.random() < 0.4:
            given[knob.name] = (value_of(knob, chance),) if knob.many else value_of(knob, chance)
    try:
        losses.get(name).sized(4, 4, **given)
    except ValueError:
        return dict(losses.get(name).without_chance)
    return given


def drawn(number: int, seed: int) -> Trial:
    chance = random.Random(f"{seed} {number}")
    generator = torch.Generator().manual_seed(chance.getrandbits(40))
    name, kind = losses.names()[number % len(losses.names())], chance.choice(KINDS)
    n, d = (round(math.exp(chance.uniform(math.log(2), math.log(most)))) for most in (LARGEST, 64))
    labels = torch.randint(0, max(1, n // chance.choice([2, 3, 4, n])), (n,), generator=generator)
    rows = torch.randn(n, d, generator=generator)
    if kind == "ties":
        rows = rows.sign() * (rows.abs() > 0.5)
    if kind in ("duplicates", "zeros"):
        rows[:: chance.randint(2, 5)] = rows[0].clone() if kind == "duplicates" else 0
    if kind in ("ties", "zeros") and not losses.get(name).takes_zero_rows:
        rows[:, 0] = 1
    if kind == "lengths":
        rows *= 10 ** (5 * torch.rand(n, 1, generator=generator) - 2.5)
    if kind == "collapsed":
        rows = rows[:1] + 1e-3 * rows
    if kind in ("tiny", "huge") and not losses.get(name).lengths_matter:
        rows *= 1e-12 if kind == "tiny" else 1e12
    short = chance.random() < 0.1 and kind not in ("tiny", "huge")
    dtype = chance.choice([torch.bfloat16, torch.float16]) if short else torch.float32
    knobs = drawn_knobs(name, chance)
    if knobs.get("simix"):
        few = (labels[:, None] == labels).tril(-1).sum(1) < MIXED
        rows, labels = rows[few], labels[few]
    return Trial(name, knobs, kind, rows.to(dtype), labels)


def computed(trial: Trial, path: str, rows: Tensor) -> tuple[float, Tensor]:
    """Value, and gradient [n d] in float64, each row times its length where only directions are compared."""
    with paths.force(path), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loss = trial.loss().to(torch.float64 if rows.dtype == torch.float64 else torch.float32)
        given = rows.detach().clone().requires_grad_()
        value = loss(given, trial.labels)
        (gradient,) = torch.autograd.grad(value, given)
    length = 1.0 if loss.lengths_matter else rows.double().norm(dim=1, keepdim=True)
    return float(value.detach()), gradient.double() * length


def apart(one: tuple[float, Tensor], other: tuple[float, Tensor]) -> float:
    """The larger of the two relative differences, of values and of gradients."""
    value = abs(one[0] - other[0]) / max(1.0, abs(other[0]))
    largest = float(other[1].abs().max())
    return max(value, float((one[1] - other[1]).abs().max()) / max(largest, 1e-2))


class Rounded(TorchDispatchMode):
    """Stochastic arithmetic: what float64 computes comes out as float32 would give it, off by a last bit at random.

    Of products it is a bit of the largest of them, for float32 sums these in some order.
    """

    def __init__(self, generator: torch.Generator):
        super().__init__()
        self.generator = generator

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        name = str(function).split(".")[1]
        if name not in (*PRODUCTS, *DISTANCES, *ROUNDED) or result.dtype != torch.float64 or not result.numel():
            return result
        noise = ROUNDING * _noise(result.shape, self.generator)
        if name in DISTANCES:  # float32 takes them from one product, of terms |x|^2, |y|^2 and -2 xy
            return (result.square() + 4 * args[0].square().sum(-1).max() * noise).clamp_min(0).sqrt()
        if name in ROUNDED:
            return result * (1 + noise)
        return (result + result.abs().max() * noise).float().double()  # which makes ties, too


def _noise(shape: torch.Size, generator: torch.Generator) -> Tensor:
    """Uniform between -1 and 1, float64."""
    return 2 * torch.rand(shape, generator=generator, dtype=torch.float64) - 1


def moved(trial: Trial, exact: tuple[float, Tensor], draws: int) -> float:
    """How far float64 goes when its rows, products, sums and functions are rounded at random, as in float32."""
    generator, most = torch.Generator().manual_seed(1), 0.0
    for _ in range(draws):
        rows = trial.rows.double() * (1 + ROUNDING * _noise(trial.rows.shape, generator))
        with Rounded(generator):
            most = max(most, apart(computed(trial, "plain", rows), exact))
    return most


def tried(trial: Trial) -> tuple[str, str]:
    """What became of a trial: agrees, rounding, refused or failed; and what is wrong."""
    try:
        results = {path: computed(trial, path, trial.rows) for path in ("plain", "compiled")}
        exact = computed(trial, "plain", trial.rows.double())
    except ValueError as error:
        sentence = str(error)
        return ("refused", "") if sentence.endswith(".") and "\n" not in sentence else ("failed", f"said {sentence!r}")
    except Exception as error:
        return "failed", f"raised {type(error).__name__}: {str(error)[:200]}"
    for path, (value, gradient) in {**results, "float64": exact}.items():
        if not (math.isfinite(value) and bool(gradient.isfinite().all())):
            return "failed", f"{path} is not finite: {value}"
    far = {path: apart(result, exact) for path, result in results.items()}
    bound = AGREE if trial.rows.dtype == torch.float32 else 8 * torch.finfo(trial.rows.dtype).eps
    if max(far.values()) <= bound:
        return "agrees", ""
    if any(max(far.values()) <= 4 * moved(trial, exact, draws) for draws in (6, 60)):
        return "rounding", ""
    return "failed", f"apart from float64: {far}"


def main() -> None:
    asked, began = arguments(__doc__.splitlines()[0], 5000), time.monotonic()
    failures, counts = [], Counter()
    for number in range(asked.trials):
        trial = drawn(number, asked.seed)
        ended, wrong = tried(trial)
        counts[ended] += 1
        if wrong:
            failures.append(f"trial {number}: {trial.words}: {wrong}")
    told = f"{counts['agrees']:,} agree, {counts['rounding']:,} hang on a rounding, {counts['refused']:,} refused"
    conclude("fuzzed losses", asked.trials, failures, asked.seed, began, told)


if __name__ == "__main__":
    main()
