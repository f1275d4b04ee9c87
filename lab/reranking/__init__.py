"""Re-rankers, one file each: `names()`, `create(name, **knobs)`, `get(name)`, `add(cls)`.

Derive your own from `Reranker`.

Example:
    >>> import lab, numpy as np
    >>> angles = np.radians([5, 18, 30, 32.1, 34, 36.5])
    >>> vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1, dtype=np.float32)
    >>> images = lab.EmbeddingSet(vectors, [0, 0, 1, 1, 1, 1])
    >>> ranking = lab.search.create("exact", k=3).build(images).rank(images, same_source=True)
    >>> ranking.neighbours[1]  # at 18 degrees the edge of the crowd is nearest, image 0 second
    array([2, 0, 3])
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
