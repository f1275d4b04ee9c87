"""From a model to scores: embed, rank, measure. The model may be trained or not.

Short ways for your own training loop: `lab.evaluate(vectors, labels)`, and `for_torchmetrics(...)` for torchmetrics.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
