"""NT-Xent, cross-entropy of similarities (Sohn, 2016; Chen et al., 2020), from pytorch-metric-learning.

For each positive pair (a, p), -log of exp(s_ap / t) over itself plus the sum of exp(s_an / t) over the negatives of a;
the mean over positive pairs. O(n r) time and memory.
"""

from __future__ import annotations

from lab.core.knobs import Knobs, knob
from lab.losses._pml import PmlLoss


class NTXent(PmlLoss):
    """Softmax of each positive against the query's negatives. Not negative, lower is better."""

    class Knobs(Knobs):
        temperature: float = knob(0.07, "Temperature of the softmax.", gt=0, scale="log", unit="cosine")

    def build(self, knobs):
        from lab.losses._pml_lean import LeanNTXent

        return LeanNTXent(temperature=knobs.temperature)
