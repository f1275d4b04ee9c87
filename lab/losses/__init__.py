"""Losses, one file each: `names()`, `create(name, **knobs)`, `get(name)`, `add(cls)`.

A loss of one's own derives from `Loss`: `from lab.losses import Batch, Loss, knob`. For loops that are not ours:
`gathered(loss)` under several processes, `for_pml(loss)` inside pytorch-metric-learning's wrappers.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
