"""Base class of all indexes: it validates the input, and holds the gallery, the similarity and the device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch

from lab.core import arrays
from lab.core.catalog import name_of
from lab.core.knobs import MOST_ITEMS, HasKnobs, argument, knob
from lab.core.results import EmbeddingSet, Ranking, Relevance, as_array, parts_of
from lab.core.streams import ReportProgress
from lab.kernels.devices import device_of
from lab.kernels.sort_keys import Space
from lab.search._ranking import Task, task_of

Nearest = tuple[torch.Tensor, torch.Tensor]
"""Dot products [q k], descending, and gallery positions [q k]; NaN and -1 if fewer than k items were compared."""


def nearest_rows(
    space: Space, queries: torch.Tensor, items: torch.Tensor, positions: torch.Tensor, k: int
) -> Nearest:
    """The k nearest of some items [b d], at ascending gallery positions [b], to each query [q d].

    All are rows that `space` prepared.
    """
    products = (
        queries @ items.T if space.similarity == "cosine" else space.block_scores(queries, items)
    )
    return _descending(products, positions.expand(products.shape), k)


def join(nearest: list[Nearest], k: int) -> Nearest:
    """Merge partial results for the same queries, and keep the k nearest."""
    if len(nearest) == 1:
        return nearest[0]
    products = torch.cat([products for products, _ in nearest], dim=1)
    positions = torch.cat([positions for _, positions in nearest], dim=1)
    return _descending(products.nan_to_num(nan=-torch.inf), positions, k)


def _descending(products: torch.Tensor, positions: torch.Tensor, k: int) -> Nearest:
    """Sort products [q b] in descending order, equal ones by position, and keep k columns."""
    best, place = products.topk(min(k, products.shape[1]), dim=1)
    positions = positions.gather(1, place)

    # topk returns equal products in any order: sort the rows that have some by position, then stably by product.
    tied = (best[:, 1:] == best[:, :-1]).any(1).nonzero()[:, 0]
    if len(tied):
        by_position, order = positions[tied].sort(dim=1)
        best[tied], place = best[tied].gather(1, order).sort(dim=1, descending=True, stable=True)
        positions[tied] = by_position.gather(1, place)
    missing = k - best.shape[1]
    if missing:
        best = torch.nn.functional.pad(best, (0, missing), value=-torch.inf)
        positions = torch.nn.functional.pad(positions, (0, missing), value=-1)
    return best.masked_fill_(positions < 0, torch.nan), positions


class Index(HasKnobs):
    """Base class of all indexes: `build` one from a gallery, then `rank` queries or find `neighbours` of vectors.

    `add` appends items to the gallery, `save` writes the gallery, the knobs and the learnt arrays to one file, and
    `lab.search.open(path)` restores the index.

    learnt: arrays that an index needs besides its gallery (centroids, anchors); they stay when items are added.
    names, about: the names of the items and the description that were passed to `save`; empty for a new index.
    takes_anchors: whether `build` takes class anchors.
    """

    takes_anchors: ClassVar[bool] = False
    device: Any = argument(
        "Device: cpu, cuda, cuda:1, or auto (a GPU if there is one).", default="auto"
    )
    k: int = knob(
        "Number of neighbours that are kept for each query.",
        default=100,
        ge=1,
        le=MOST_ITEMS,
        scale="log",
    )
    similarity: Literal["cosine", "euclidean"] = knob(
        "Similarity of a pair: cosine, or the negative squared Euclidean distance (for embeddings of any length).",
        default="cosine",
    )
    ties: Literal["gallery", "shuffled"] = knob(
        "Order of equal scores in a ranking: that of the gallery, or shuffled by a hash of the places. Evaluations "
        "shuffle: a gallery that is sorted by class must not help a model that cannot tell items apart.",
        default="gallery",
    )

    def __post_init__(self) -> None:
        self.device = device_of(self.device)
        self.gallery: EmbeddingSet | None = None
        self.learnt: dict[str, np.ndarray] = {}
        self.names: Sequence[str] = ()
        self.about: Mapping[str, Any] = {}

    def build(self, gallery: Any, labels: Any = None, *, anchors: np.ndarray | None = None) -> Self:
        """Index a gallery of g items, and return the index itself.

        Args:
            gallery: an `EmbeddingSet`, in memory, memory-mapped or in shards (`lab.search.galleries`); or vectors
                [g d].
            labels: [g], whole numbers, of such vectors; only a ranking reads them.
            anchors: float [c d], class anchors, for `two_stage`, which needs them, and `faiss_ivf_pq`.

        Raises:
            ValueError: the gallery is empty, misshapen, or holds NaN or infinity; or anchors that do not fit.
        """
        gallery = _set_of(gallery, labels)
        if anchors is not None and not self.takes_anchors:
            raise ValueError(f"{type(self).__name__} takes no anchors; two_stage does.")
        arguments = {}
        if anchors is not None:
            arguments["anchors"] = anchors
        self._build(gallery, **arguments)
        return self

    def _build(self, gallery: EmbeddingSet) -> None:
        """Index an `EmbeddingSet`; an index that takes anchors has them as its second parameter."""
        check_set(gallery, "gallery")
        self.space = Space.of(gallery.vectors, self.knobs.similarity, self.device)
        self._hold(gallery)

    def add(self, more: Any, labels: Any = None) -> Self:
        """Append items to the gallery, a set or vectors and labels, and return the index itself.

        What was learnt from the first gallery (k-means centroids, class anchors) stays as it is. The gallery is copied,
        so add many items at once. Their numbers (`items`) go on behind the greatest of the gallery, unless they are a
        set whose numbers the gallery has not yet: no two items have one number.

        Raises:
            ValueError: no gallery yet, another dimension, misshapen, or NaN or infinity.
        """
        before = self._built()
        numbered = hasattr(more, "vectors")
        more = _set_of(more, labels)
        if len(more) and (not numbered or np.isin(more.items, before.items).any()):
            more = replace(more, items=int(np.max(before.items)) + 1 + np.arange(len(more)))
        self._check_vectors(more.vectors, "added")
        check_set(more, "added set")
        vectors = np.concatenate(
            [before.vectors, more.vectors.astype(before.vectors.dtype, copy=False)]
        )
        labels = np.concatenate([before.labels, more.labels])
        items = np.concatenate([before.items, more.items])
        names = self.names
        about = self.about
        self._again(EmbeddingSet(vectors, labels, items))
        self.names = names  # indexing another gallery forgets the names
        self.about = about
        return self

    def save(
        self, path: str | Path, names: Sequence[str] = (), about: Mapping[str, Any] | None = None
    ) -> Path:
        """Write the index to one safetensors file with checksums; an existing file is replaced.

        Args:
            names: names of the items in the gallery's order, shown by `lab query --index`; by default its own names.
            about: a description of the index, stored as JSON.

        Raises:
            ValueError: no gallery yet, or more names than items. OSError: the disk is full or the folder cannot be
                written.

        Example (`gallery` is that of `lab.search`, `root` a folder):
            >>> path = lab.search.create("exact", k=1).build(gallery).save(root / "it.safetensors")
            >>> lab.search.open(path).add(np.array([[0.6, 0.8]])).neighbours(np.array([0.6, 0.8]))[1]
            array([[3]])
        """
        gallery = self._built()
        names = names if len(names) else self.names
        about = dict(self.about if about is None else about)
        if len(names) > len(gallery):  # fewer are allowed: items may have been added since
            raise ValueError(
                f"There are {len(names):,} names for {len(gallery):,} items; give one for each."
            )
        kept = {"vectors": gallery.vectors, "labels": gallery.labels, "items": gallery.items}
        if len(names):
            packed = arrays.Names.of(names)
            kept |= {"names": packed.joined, "name_ends": packed.ends}
        description = {"index": name_of(type(self)), "knobs": dict(self.knobs), "about": about}
        arrays.write(Path(path), kept | self.learnt, description)
        return Path(path)

    def restored(self, gallery: EmbeddingSet, learnt: Mapping[str, np.ndarray]) -> Self:
        """Restore a saved index from its gallery and its learnt arrays, and return the index itself."""
        check_set(gallery, "gallery")
        self.learnt = dict(learnt)
        self._again(gallery)
        return self

    def _again(self, gallery: EmbeddingSet) -> None:
        """Index another gallery with the arrays that were learnt before."""
        self._build(gallery)

    def rank(
        self,
        query: Any,
        same_source: bool,
        relevant: Relevance | None = None,
        progress: ReportProgress | None = None,
        distractors: bool = False,
    ) -> Ranking:
        """Rank the gallery for each query.

        A gallery item without a class can be a neighbour, but does not count in the ranks of other items, unless
        `distractors` is set. A query without a class has neighbours but no relevant items.

        Args:
            query: q embeddings of the gallery's dimension, a set, or vectors, which have no class.
            same_source: queries and gallery are images of one set; each query is looked up in the gallery by its
                `items` number and removed from its own ranking.
            relevant: judged relevance; by default an item is relevant to a query when their labels are equal.
            progress: called with (done, total).
            distractors: count gallery items without a class as wrong answers.

        Raises:
            ValueError: no gallery yet, another dimension, NaN or infinity, nothing to rank, or judgements that do
                not fit queries and gallery.
        """
        query = _set_of(query)
        gallery = self._built()
        self._check_vectors(query.vectors, "query")
        check_set(query, "query")
        if same_source and len(gallery) < 2:
            raise ValueError(
                "The gallery holds only the query itself, so there is nothing to rank; give two images."
            )
        return self._rank(
            task_of(query, gallery, same_source, relevant, distractors), query.vectors, progress
        )

    def _rank(self, task: Task, vectors: np.ndarray, progress: ReportProgress | None) -> Ranking:
        raise NotImplementedError

    def neighbours(self, vectors: Any, k: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Find the k nearest items of each vector, best first (k defaults to the knob).

        Args:
            vectors: float [q d], or [d] for a single vector, of images in the gallery or others.

        Returns:
            scores float32 [q k] and gallery positions int64 [q k]; NaN and -1 if the index found fewer. The search is
            optimised for speed: items whose scores differ only by float32 rounding may have another order than in
            `rank`, and others of them may be among the first k.

        Raises:
            ValueError: no gallery yet, another dimension, NaN or infinity, or k < 1.
        """
        vectors = self._check_vectors(vectors, "query")
        k = self.knobs.k if k is None else int(k)
        if k < 1:
            raise ValueError(f"k, the number of neighbours, must be at least 1, got {k}.")
        scores, positions = self._nearest(vectors, k)
        return self.space.shown(scores), positions

    def _nearest(self, vectors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Find the neighbours of validated vectors: dot products and gallery positions, [q k]."""
        raise NotImplementedError

    def _hold(self, gallery: EmbeddingSet) -> None:
        """Set the gallery, and forget the names and the description of an earlier one."""
        self.gallery = gallery
        self.names = ()
        self.about = {}

    def _built(self) -> EmbeddingSet:
        """Return the gallery.

        Raises:
            ValueError: the index has not been built yet.
        """
        if self.gallery is None:
            raise ValueError(
                f"{type(self).__name__} has no gallery yet: call build(gallery) first."
            )
        return self.gallery

    def _check_vectors(self, vectors: Any, what: str) -> np.ndarray:
        gallery = self._built().vectors
        vectors = np.atleast_2d(as_array(vectors, f"{what} vectors"))
        check_vectors(vectors, what)
        if vectors.shape[1] != gallery.shape[1]:
            raise ValueError(
                f"The {what} vectors have {vectors.shape[1]} dimensions, the gallery {gallery.shape[1]}; "
                f"embed both with the same model."
            )
        return vectors


def _set_of(vectors: Any, labels: Any = None) -> Any:
    """An `EmbeddingSet`, of the two; or as it was given, in memory or in shards."""
    if labels is None and hasattr(vectors, "vectors"):
        return vectors
    return EmbeddingSet(*parts_of(vectors, labels))


def check_set(images: EmbeddingSet, what: str) -> None:
    """Validate an embedding set; `what` names it in messages.

    Raises:
        ValueError: empty, arrays of different lengths, wrong types or dimensions, NaN or infinity.
    """
    check_vectors(images.vectors, what)
    for name in ("labels", "items"):
        array = as_array(getattr(images, name), f"{name} of the {what}")
        if array.dtype.kind not in "biu":
            raise ValueError(
                f"The {name} of the {what} must be whole numbers, got {array.dtype}; numpy.unique(names, "
                "return_inverse=True) numbers names."
            )
        if array.ndim != 1 or len(array) != len(images.vectors):
            raise ValueError(
                f"The {what} has {len(images.vectors)} vectors but {name} of shape {array.shape}; "
                f"give one of them for each vector."
            )


def check_anchors(anchors: np.ndarray, gallery: EmbeddingSet) -> np.ndarray:
    """Validate class anchors [c d] and return them as an array.

    Raises:
        ValueError: as `check_vectors`, or their width is not that of the gallery.
    """
    anchors = np.asarray(anchors)
    width = gallery.vectors.shape[1]
    check_vectors(anchors, "anchor")
    if anchors.shape[1] != width:
        raise ValueError(
            f"The anchors have {anchors.shape[1]} dimensions, the gallery {width}; take both from the same model."
        )
    return anchors


def check_vectors(vectors: np.ndarray, what: str) -> None:
    """Raise ValueError unless vectors are a finite, non-empty float matrix.

    Raises:
        ValueError: names what is wrong and the first bad row.
    """
    dtype = getattr(vectors, "dtype", type(vectors).__name__)
    shape = getattr(vectors, "shape", ())
    sound = (
        isinstance(dtype, np.dtype) and dtype.kind == "f" and dtype.isnative and dtype.itemsize <= 8
    )
    if not sound or len(shape) != 2:
        raise ValueError(
            f"The {what} vectors must be a float array of numpy [n d], got {dtype} of shape {shape}."
        )
    if 0 in vectors.shape:
        raise ValueError(
            f"The {what} is empty (vectors of shape {vectors.shape}); there is nothing to search."
        )
    for start in range(0, len(vectors), 8192):
        finite = np.isfinite(vectors[start : start + 8192])
        if not finite.all():
            raise ValueError(
                f"Row {start + int(np.flatnonzero(~finite.all(1))[0])} of the {what} vectors holds NaN or infinity; "
                f"leave it out or look at the model that made it."
            )
