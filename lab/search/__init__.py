"""Search indexes, one file each: `names()`, `create(name, **knobs)`, `get(name)`, `add(cls)`; `open(path)`, `recall`.

`FaissFile` searches a file of faiss as it stands.

Derive your own from `Index`.

Example:
    >>> import lab, numpy as np
    >>> vectors = np.array([[1, 0], [0.8, 0.6], [0, 1]], np.float32)
    >>> gallery = lab.EmbeddingSet(vectors, [0, 0, 1])
    >>> scores, places = lab.search.create("exact", k=2).build(gallery).neighbours(np.array([0.6, 0.8]))
    >>> places, scores.round(2)
    (array([[1, 2]]), array([[0.96, 0.8 ]], dtype=float32))
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
