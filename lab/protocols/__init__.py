"""Protocols, one file each: `names()`, `create(name, **knobs)`, `get(name)`, `add(cls)`.

A protocol says which runs a number needs, what is measured on them, and how far the number can be trusted.
`create(name).judge(run)` measures a finished run; `create(name).conduct(config, lab.sweeps.Bench(folder))`
trains what is needed, too, and goes on where it was interrupted. Both are generators of records that return an
`Outcome`.
Derive your own from `Protocol`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
