"""Rankscope: see what a ranking loss sees.

Importing `lab` costs nothing: each subpackage is loaded when it is first named.
"""

import lazy_loader

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
