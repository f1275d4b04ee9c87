"""A head on frozen features in seconds, always beside the network as it came: what it gained, and what it lost.

`adapt` does it all; `plan_head` gives the two configurations, which train like any other.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
