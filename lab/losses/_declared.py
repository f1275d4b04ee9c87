"""What a loss declares of itself beside its knobs, for whoever lists, forecasts or measures losses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Family = Literal["ranking", "pair", "triplet", "proxy", "classification"]
"""What a loss compares: a query's whole list, pairs, triplets, examples with learnt points of classes, or classes."""


@dataclass(frozen=True)
class Case:
    """One row of `lab bench losses`.

    words: what follows the loss's name. knobs: that differ from their defaults.
    goals: bare similarity steps that one step may take, by the size of the batch from which on they are asked for, and
        by its kind ("untrained", "half-trained"); docs/benchmarks.md states the same ones.
    lean: no matrix [n n] is kept, so that the gradient and 32 MB have to do.
    """

    words: str = ""
    knobs: Mapping[str, Any] = field(default_factory=dict)
    goals: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    lean: bool = False

    def goal(self, n: int, kind: str) -> float | None:
        """The goal for a batch of n, None where there is none."""
        sizes = [size for size in self.goals if size <= n]
        return self.goals[max(sizes)].get(kind) if sizes else None


TILED = Case(
    goals={1024: {"untrained": 0.85, "half-trained": 0.45}, 4096: {"untrained": 0.75, "half-trained": 0.45}}, lean=True
)
"""What is asked of a ranking loss that walks over tiles."""
