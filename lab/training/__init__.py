"""Training: plain and two-pass steps, the loop, checkpoints.

For a loop of your own: `gradients(encoder, loss, images, labels, chunk=64)`, a step with a batch larger than memory.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
