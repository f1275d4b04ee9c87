"""Wrappers that turn one loss into another, one file each: `names()`, `create(name, **knobs)`, `get(name)`, `add(cls)`.

A wrapper of one's own derives from `Wrapper`: `from lab.wrappers import Batch, Wrapper, knob`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
