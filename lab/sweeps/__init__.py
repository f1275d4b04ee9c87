"""Many runs that differ in some knobs: a plan asks for settings and is told the scores, a bench trains each run once.

`read_plan` reads a plan, `carry_out` makes the runs, hands them over and yields each as it ends. A sweep that is begun
again makes only what is missing. Protocols train on the same `Bench`.

Example (`config` and `root` are those of `lab.runs`):
    >>> import lab
    >>> plan = lab.sweeps.Plan.of({"name": "taus", "vary": {"loss.tau2": [0.01, 0.1], "training.seed": [0, 1]}})
    >>> [values["loss.tau2"] for values in plan.settings()]
    [0.01, 0.01, 0.1, 0.1]
"""

from __future__ import annotations

from lab.sweeps.bench import Bench, Paused, RunDiverged
from lab.sweeps.plans import Plan, Span, changed, combinations, read_plan
from lab.sweeps.search import SweptRun, carry_out, hand_over

__all__ = [
    "Bench", "Paused", "Plan", "RunDiverged", "Span", "SweptRun", "carry_out", "changed", "combinations", "hand_over",
    "read_plan",
]  # fmt: skip
