"""Live figures, one file each, in a folder for each question that they answer.

`names()`, `create(name, **knobs)`, `get(name)`, `save(name, path, **knobs)`, `add(cls)`; derive your own from `Figure`.

A figure is its declared knobs, the numbers that follow from them, and a drawing of those numbers. The notebook widget,
the dashboard and the static picture are all made from the same entry.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
