"""A head on frozen features in seconds, always beside the network as it came: what it gained, and what it lost.

`adapt` does it all; `plan_head` gives the two configurations, which train like any other.
"""

from typing import TYPE_CHECKING

from lab.core.catalog import public

if TYPE_CHECKING:
    from lab.adaptation._adapt import Adaptation, adapt, adapt_steps, baseline_of
    from lab.adaptation._comparison import Comparison, compare, compare_on, verdict
    from lab.adaptation._plan import BASELINE, Plan, plan_head, seconds
    from lab.runs.building.user_images import has_network

__all__ = [
    "BASELINE", "Adaptation", "Comparison", "Plan", "adapt", "adapt_steps", "baseline_of", "compare", "compare_on",
    "has_network", "plan_head", "seconds", "verdict",
]  # fmt: skip

__getattr__ = public(__name__)
