"""A head on frozen features in seconds, always beside the network as it came: what it gained, and what it lost.

`adapt` does it all; `planned` gives the two configurations, which train like any other.
"""

from typing import TYPE_CHECKING

from lab.core.catalog import public

if TYPE_CHECKING:
    from lab.adaptation._adapting import Adaptation, adapt, adapting, came_of
    from lab.adaptation._beside import Beside, beside, elsewhere, verdict
    from lab.adaptation._estimate import seconds
    from lab.adaptation._plan import CAME, Plan, planned
    from lab.runs.building.user_images import has_network

__all__ = [
    "CAME", "Adaptation", "Beside", "Plan", "adapt", "adapting", "beside", "came_of", "elsewhere", "has_network",
    "planned", "seconds", "verdict",
]  # fmt: skip

__getattr__ = public(__name__)
