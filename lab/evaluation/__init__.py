"""From a model to scores: embed, rank, measure. Whether anything was trained does not matter.

Short ways for loops of one's own: `lab.evaluate(vectors, labels)`, and `for_torchmetrics(...)` for a torchmetrics loop.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
