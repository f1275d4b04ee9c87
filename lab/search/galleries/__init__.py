"""Galleries that do not fit into memory: shards on disk that are written one by one and read by memory map.

Example:
    >>> import lab, numpy as np, tempfile
    >>> from lab.search.galleries import shards
    >>> folder = tempfile.mkdtemp() + "/gallery"
    >>> writer = shards.Writer(folder, {"encoder": "none"})
    >>> for first in (0, 2):
    ...     vectors = np.eye(4, dtype=np.float32)[first : first + 2]
    ...     writer.add(lab.EmbeddingSet(vectors, labels=np.arange(2), items=first + np.arange(2)), ["a.png", "b.png"])
    >>> gallery = writer.finish()
    >>> len(gallery), gallery.name(2), gallery.vectors[[3, 0]]
    (4, 'a.png', array([[0., 0., 0., 1.],
           [1., 0., 0., 0.]], dtype=float32))
"""
