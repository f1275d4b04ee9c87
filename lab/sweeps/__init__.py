"""Sweeps: many runs that differ in some knobs, planned in a file, trained wherever a launcher takes them.

`read_plan` reads a plan, `carry_out` makes the runs, hands them over and yields each as it ends. A sweep that is begun
again makes only what is missing.

Example (`config` and `root` are those of `lab.runs`):
    >>> import lab
    >>> plan = lab.sweeps.Plan.of({"name": "taus", "vary": {"loss.tau2": [0.01, 0.1], "training.seed": [0, 1]}})
    >>> [values["loss.tau2"] for values in plan.settings()]
    [0.01, 0.01, 0.1, 0.1]
"""

from __future__ import annotations

from lab.sweeps.carrying_out import carry_out
from lab.sweeps.plans import Plan, Span, read_plan
from lab.sweeps.trials import Trial

__all__ = ["Plan", "Span", "Trial", "carry_out", "read_plan"]
