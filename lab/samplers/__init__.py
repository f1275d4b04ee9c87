"""Batch samplers, one file each: `names()`, `create(name, **knobs)`, `get(name)`, `add(cls)`.

Derive your own sampler from `Sampler`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
