"""A trained run in use: `lab.load(run)` embeds pictures and finds their neighbours.

    model = lab.load("runs/first")
    for found in model.search("photo.jpg", k=5):
        print(found.rank, found.class_name, found.score)

What is searched are the run's own pictures, others, a gallery in shards, another run's, or an index that was saved.

Example (`root` is the folder of your runs, a `pathlib.Path`):
    >>> import lab
    >>> run = lab.runs.create(lab.runs.RunConfig.of({
    ...     "data": {"name": "emoji7", "test": 0.04, "validation": 0.04}, "augmentation": {"size": 32},
    ...     "sampler": {"name": "m_per_class", "batch_size": 32}, "training": {"steps": 2, "device": "cpu"},
    ... }), root, "in-use")
    >>> records = list(lab.runs.execute(run))
    >>> model = lab.load(run)
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch
from PIL import Image
from torch import nn

import lab.inspect
import lab.search
import lab.threshold
from lab.core.explain import names_arguments
from lab.core.formats import counted
from lab.core.results import EmbeddingSet, as_array
from lab.core.streams import result_of
from lab.data import ImageSet, OfFolder, Unlabelled, below
from lab.data.images.folders import problems_sentence
from lab.data.images.paths import place_finder
from lab.data.images.reading import as_rgb
from lab.inspect import AlikeRegions
from lab.runs import joined
from lab.runs.building.fingerprints import maker_of_run, recorded
from lab.runs.building.parts import testing_transform
from lab.runs.building.trained import FromPixels
from lab.runs.evaluate import Evaluator, evaluator_of
from lab.runs.folder import FINISHED, Run
from lab.runs.store import open_run
from lab.search.galleries import shards
from lab.search.galleries.maker import Maker

if TYPE_CHECKING:
    from lab.core.records import Record
    from lab.data.images.transforms import Transform
    from lab.search import Together

Picture: TypeAlias = "str | Path | Image.Image | np.ndarray | torch.Tensor"
"""A file, a PIL image, or pixels: a uint8 array [h w 3] or a uint8 tensor [3 h w]."""

Pictures: TypeAlias = "Picture | Sequence[Picture]"
"""One picture or several; a folder stands for every picture below it, a tensor [n 3 h w] for n of them."""


@dataclass(frozen=True)
class Neighbour:
    """One picture that a search found.

    rank: 1 for the nearest. score: cosine, or minus the squared distance where the run compares by distance; higher is
    nearer. key: the picture's name in its data set, or its path. class_name: empty for pictures without classes.
    item: its number in its data set; `Model.images.load(item)` gives the picture itself. file: where it has one.
    same: the probability that it is of the query's class, where a threshold is asked for.
    """

    rank: int
    score: float
    key: str
    class_name: str
    item: int
    file: str = ""
    same: float | None = None


Row: TypeAlias = Callable[[int], tuple[str, str, int, str]]
"""Key, class, item and file of a row that is searched."""


@dataclass(frozen=True)
class Searched:
    """What a model searches.

    index: finds neighbours. size: its rows. row: what names one of them. title: what it is, in words.
    classes: whether its rows have any. approximate: the index's name, where it may miss some; else empty.
    """

    index: Any
    size: int
    row: Row
    title: str
    classes: bool = True
    approximate: str = ""


class FromPictures(nn.Module):
    """The encoder with all that comes before it, as the run prepares its test images: resize, crop, scale, normalise.

    Call it with a PIL image, with several of one size or another, or with uint8 pixels [3 h w] or [n 3 h w] of any
    size; it returns embeddings [n d]. Gradients flow to its weights. What only an evaluation adds (mirror images,
    further scales, beta-normalisation) is left to `Model.embed`.

    Example (`model` is that of `lab.model`):
        >>> import torch
        >>> model.encoder(torch.zeros(2, 3, 48, 40, dtype=torch.uint8)).shape
        torch.Size([2, 128])
    """

    def __init__(self, pixels: FromPixels, transform: Transform):
        super().__init__()
        self.pixels, self.transform = pixels, transform

    def forward(
        self, images: Image.Image | torch.Tensor | Sequence[Image.Image | torch.Tensor]
    ) -> torch.Tensor:
        several = _several(images)
        seen = self.transform.batch(
            [as_rgb(one) if isinstance(one, Image.Image) else one for one in several]
        )
        return self.pixels(seen.to(self.pixels.mean.device))


class Model:
    """A trained run, ready to embed and to search; `lab.load` makes one.

    Attributes:
        run: the run.
        encoder: the encoder as a `torch.nn.Module` with its own preprocessing, in evaluation mode on the run's device;
            see `FromPictures`.
        problems: what was left out of a gallery of pictures: one sentence for each that could not be read, and one with
            the number for each other reason.
    """

    def __init__(
        self, run: Run, split: str, gallery: Any = None, custom: Any = None,
        index: str | Path = "exact", knobs: Mapping[str, Any] | None = None,
    ):  # fmt: skip
        self.run, self.split = run, split
        self._given, self._index, self._knobs = gallery, index, dict(knobs or {})
        self._evaluator: Evaluator = evaluator_of(run, split, custom)
        self._searched: Searched | None = None
        self.problems: list[str] = []
        encoder, config = self._evaluator.trained.encoder, self._evaluator.config
        self.similarity = config.similarity
        pixels = FromPixels(encoder).to(self._evaluator.device)
        self.encoder = FromPictures(pixels, testing_transform(config, encoder)).eval()

    @cached_property
    def images(self) -> ImageSet:
        """The pictures that are searched: the run's own, or those that were given."""
        given = self.run if self._given is None else self._given
        return given.dataset() if isinstance(given, Run) else _gallery_of(given)

    @property
    def from_folder(self) -> bool:
        """Whether a folder of pictures is searched, whose classes are its folders."""
        return isinstance(self._given, str | Path) and isinstance(self.images, OfFolder)

    @property
    def gallery(self) -> EmbeddingSet:
        """The embeddings that are searched, those of the split's gallery or of what was given.

        Raises:
            ValueError: they do not belong to the run's images any more.
        """
        return self.searched.index.gallery

    @property
    def searched(self) -> Searched:
        """What `search` looks through.

        Raises:
            ValueError: there is no such gallery or index, or another encoder made it.
        """
        if self._searched is None:
            given = self._given
            if self._index not in lab.search.names():
                self._searched = self._saved(Path(str(self._index)).expanduser())
            elif isinstance(given, shards.Gallery):
                note = self._maker.note_on(Maker.planned(given.about["plan"]), str(given.folder))
                self._searched = self._indexed(
                    given, given.row, f"the {len(given):,} rows of {given.folder}{note}"
                )
            elif given is None or isinstance(given, Run):
                self._searched = self._of_run(given or self.run)
            else:
                result_of(self.embedding())
        assert self._searched is not None
        return self._searched

    def embedding(self) -> Generator[Record, None, None]:
        """Embed pictures that were given, if any, which `searched` does if nobody has; yields how far it is."""
        given = self._given
        if given is None or isinstance(given, shards.Gallery | Run):
            return
        images = self.images
        what = f"images of {given}" if isinstance(given, str | Path) else "given images"
        loader = self._evaluator.trained.loader_of(images)
        vectors = yield from self._evaluator.embed(loader, np.arange(len(images)), what)
        self.problems = [*images.problems, *loader.problems]
        self._searched = self._indexed(
            vectors, _rows_of(images, vectors), f"the {what}", bool(images.class_names)
        )

    def _of_run(self, run: Run) -> Searched:
        split = self.split if run is self.run or self.split in run.splits else "test"
        vectors, images = run.embeddings(split, "gallery") or run.embeddings(split), self.images
        outside = (
            (vectors.items < 0)
            | (vectors.items >= len(images))
            | (vectors.labels >= len(images.class_names))
        )
        if outside.any():
            raise ValueError(
                f"The embeddings of {run.name} name {outside.sum()} images that its data does not have; run: "
                f"lab evaluate {run.path}."
            )
        same = run.path.resolve() == self.run.path.resolve() and split == self.split
        note = "" if same else self._maker.note_on(recorded(run, split), f"Run {run.name}")
        return self._indexed(
            vectors, _rows_of(images, vectors), f"the {split} images of {run.name}{note}"
        )

    def _indexed(
        self, vectors: EmbeddingSet, row: Row, title: str, classes: bool = True
    ) -> Searched:
        """The index of a gallery, built, or found again on the disk."""
        name, knobs = str(self._index), dict(self._knobs)
        folder = vectors.folder if isinstance(vectors, shards.Gallery) else None
        if folder and name == "exact":
            name, knobs = "streamed", {}
        made = {
            "device": self._evaluator.config.training.knobs.device,
            "similarity": self.similarity,
            **knobs,
        }
        index: Any = lab.search.create(name, **made)
        anchors = (
            self.run.anchors(self.split)
            if name == "faiss_ivf_pq" and "lists" not in knobs
            else None
        )
        # two-stage search by compressed vectors (CAM, section 3)
        under = {"anchors": anchors[0]} if anchors else {}
        # it can lie on the disk, and nobody has said where
        if folder and getattr(index.knobs, "folder", "") is None:
            index = lab.search.create(
                name, **made, folder=str(folder / "indexes" / index.folder_name(**under))
            )
        index.build(vectors, **under)
        words = name + (" under the class anchors" if under else "")
        exact = name in ("exact", "streamed", "faiss_flat")
        return Searched(index, len(vectors), row, title, classes, "" if exact else words)

    def _saved(self, path: Path) -> Searched:
        """An index out of a file.

        Raises:
            ValueError: there is none, or its vectors cannot be compared with those of this run.
        """
        index: Any = lab.search.open(path)
        gallery = getattr(index, "gallery", None)  # a file of faiss has none
        kind = index.similarity if gallery is None else index.knobs.similarity
        if kind != self.similarity:
            nearness = {"cosine": "cosine", "euclidean": "distance"}
            raise ValueError(
                f"{path} compares by {nearness[kind]}, but {self.run.name} by {nearness[self.similarity]}, so they do "
                "not belong together; make an index of vectors of this run."
            )
        made = index.about.get("made_by")
        maker = (
            Maker(str(made.get("words")), str(made.get("weights")))
            if isinstance(made, dict)
            else None
        )
        names, note = index.names, self._maker.note_on(maker, str(path))
        classes = index.classes if gallery is None else index.about.get("class_names") or []

        def row(position: int) -> tuple[str, str, int, str]:
            item = position if gallery is None else int(gallery.items[position])
            label = position if gallery is None else int(gallery.labels[position])
            number = "" if gallery is None or label < 0 else str(label)
            class_name = classes[label] if 0 <= label < len(classes) else number
            return (
                names[position] if position < len(names) else f"number {item}",
                class_name,
                item,
                "",
            )

        size = len(index if gallery is None else gallery)
        return Searched(
            index,
            size,
            row,
            f"the {size:,} rows of {path}{note}",
            gallery is not None or bool(classes),
        )

    @property
    def recall(self) -> float | None:
        """Share of the ten nearest that an approximate index finds, measured on rows of the gallery; None if exact."""
        if not self.searched.approximate:
            return None
        # of a gallery in shards: it is measured once
        folder = getattr(self.gallery, "folder", None)
        return lab.search.recall(
            self.searched.index, self.gallery, kept=folder and folder / "indexes" / "recall.json"
        )

    @cached_property
    def _maker(self) -> Maker:
        return maker_of_run(self._evaluator.trained)

    def embed(self, images: Pictures) -> np.ndarray:
        """Embed pictures as the run embedded its own: float32 [n d], one row a picture, in their order.

        Raises:
            ValueError: there is none, or one of them cannot be read; says which.

        Example (`model` is that of `lab.model`):
            >>> from PIL import Image
            >>> model.embed([Image.new("RGB", (40, 40), "red"), Image.new("RGB", (64, 32), "blue")]).shape
            (2, 128)
        """
        collected = _collected(images)
        loader, size = (
            self._evaluator.trained.loader_of(collected),
            self._evaluator.config.evaluation.knobs.batch_size,
        )
        rows = []
        with torch.inference_mode():
            for batch in loader.split(np.arange(len(collected)), size):
                rows.append(
                    self._evaluator.rows(batch.images.to(self._evaluator.device)).cpu().numpy()
                )
        broken = [*getattr(collected, "broken", ()), *loader.problems]
        if broken:  # a row less would put every later one beside the wrong picture
            raise ValueError(problems_sentence(broken))
        return np.concatenate(rows)

    def embed_text(self, texts: str | Sequence[str]) -> np.ndarray:
        """Put words where pictures are: float32 [n d], one row a text.

        Raises:
            ValueError: the run's encoder has no text side, or there is no text.
        """
        encoder: Any = self._evaluator.trained.encoder
        side = getattr(encoder, "embed_text", None) or getattr(
            getattr(encoder, "model", None), "embed_text", None
        )
        if side is None:
            raise ValueError(
                f"The encoder of {self.run.name} has no text side, so it cannot be searched with words; an encoder "
                "with a method embed_text, such as CLIP's two towers, can."
            )
        several = [texts] if isinstance(texts, str) else list(texts)
        if not several or not all(one.strip() for one in several):
            raise ValueError("There is no text to search for; give at least one word.")
        with torch.inference_mode():
            return side(several).float().cpu().numpy()

    @names_arguments
    def search(
        self,
        image: Pictures | None = None,
        k: int = 10,
        *,
        text: str | None = None,
        together: Together = "mean",
        like: Pictures = (),
        unlike: Pictures = (),
        unknown: bool = False,
        least: float | None = None,
    ) -> list[Neighbour]:
        """The `k` nearest pictures to one of your own, to several, or to words; the nearest first.

        Wherever a picture may stand, so may embeddings that `embed` made, float [n d], or an `EmbeddingSet` of them.

        Args:
            image: one picture or several.
            text: words instead of a picture, or besides, for an encoder that has a text side.
            together: what several mean: the `mean` of their vectors, or the `best` score of any of them.
            like, unlike: pictures to move the query towards and away from (`lab.search.rocchio`).
            unknown: leave out what lies below the run's threshold (`lab threshold`): an empty list is a query that
                nothing here is the same as, an unknown one.
            least: leave out what has a lower score.

        Raises:
            ValueError: a picture cannot be read, there is neither picture nor text, k is less than 1, `least` is no
                number, the split has not been embedded, or the run has no threshold and should tell what is unknown.

        Example (`model` is that of `lab.model`):
            >>> pictures = [model.images.load(int(item)) for item in model.gallery.items[:3]]
            >>> [found.rank for found in model.search(pictures[0], k=3)]
            [1, 2, 3]
            >>> len(model.search(pictures[:2], k=3, together="best", unlike=pictures[2]))
            3
        """
        if not isinstance(k, int | np.integer) or k < 1:
            raise ValueError(
                f"k, the number of neighbours, must be a whole number of at least 1, got {k!r}."
            )
        rows = [] if image is None else [self._vectors(image)]
        if text is not None:
            rows.append(self.embed_text(text))
        if not rows:
            raise ValueError("A search needs a picture or a text.")
        if least is not None and not np.isfinite(least):
            raise ValueError(
                f"least, the lowest score that is shown, must be a finite number, got {least!r}."
            )
        if unknown and text is not None:
            raise ValueError(
                "A threshold is one of pictures, and words are less similar to them; leave out unknown."
            )
        unit, found = self.similarity == "cosine", self.searched
        vectors = lab.search.compose(
            np.concatenate(rows),
            self._vectors(like),
            self._vectors(unlike),
            together=together,
            unit=unit,
        )
        scores, positions = lab.search.best_of(found.index, vectors, min(k, found.size))
        nearest = zip(scores.tolist(), positions.tolist(), strict=True)
        listed = [
            Neighbour(at, score, *found.row(position))
            for at, (score, position) in enumerate(nearest, start=1)
        ]
        listed = self._same(listed) if unknown else listed
        return [one for one in listed if least is None or one.score >= least]

    def replaced(self, listed: Sequence[Neighbour]) -> str:
        """Name those of some neighbours whose picture is another one now than when it was embedded, in a sentence.

        Empty where there is none, and where what is searched keeps no digests of picture files. Reads the files.
        """
        given = self._given
        if not listed:
            return ""
        if not (given is None or isinstance(given, Run)) or self._index not in lab.search.names():
            return ""
        run = given or self.run
        split = self.split if run is self.run or self.split in run.splits else "test"
        keys = joined.replaced(
            run, split, self.images, np.array([one.item for one in listed], np.int64)
        )
        return joined.replaced_sentence(run, split, keys)

    def _same(self, listed: list[Neighbour]) -> list[Neighbour]:
        """Those that reach the run's threshold, each with its probability."""
        kept = lab.threshold.stored(self.run)
        chances = kept.same_class([one.score for one in listed]).tolist()
        return [
            replace(one, same=chance)
            for one, chance in zip(listed, chances, strict=True)
            if one.score >= kept.value
        ]

    def save_index(self, path: str | Path, index: str = "exact", **knobs: Any) -> Path:
        """Write an index of the pictures that `search` looks through, with their names and which encoder made them.

        `lab query RUN photo.jpg --index FILE` searches it, and `lab.search.open(path)` opens it.

        Args:
            index: a name in `lab.search`, and its knobs.

        Raises:
            ValueError: there is no such index, or it needs more than vectors, as two_stage does.

        Example (`model` is that of `lab.model`, `root` a folder):
            >>> path = model.save_index(root / "gallery.index", "faiss_ivf", lists=4)
            >>> opened = lab.search.open(path)
            >>> len(opened.names) == len(model.gallery), opened.about["made_by"]["words"][:4]
            (True, 'run ')
        """
        made = {"similarity": self.similarity, "device": str(self._evaluator.device), **knobs}
        built = lab.search.create(index, **made).build(self.gallery)
        maker, images = self._maker, self.images
        names = [
            images.keys[item] if images.root is None else str(images.path(item))
            for item in self.gallery.items
        ]
        about = {
            "made_by": {"words": maker.words, "weights": maker.weights},
            "class_names": list(images.class_names),
        }
        return built.save(path, names, about)

    def _vectors(self, pictures: Pictures) -> np.ndarray:
        """Embeddings [n d] of pictures, of which there may be none."""
        given = getattr(pictures, "vectors", pictures)
        if isinstance(given, np.ndarray | torch.Tensor) and "float" in str(given.dtype):
            return np.atleast_2d(as_array(given, "embeddings"))
        none = isinstance(pictures, list | tuple) and not pictures
        return np.zeros((0, 1), np.float32) if none else self.embed(pictures)

    def why_alike(self, first: Picture, second: Picture) -> AlikeRegions:
        """Which regions of two pictures make their cosine similarity: heat maps over both, and their sums.

        Raises:
            ValueError: a picture cannot be read.

        Example (`model` is that of `lab.model`):
            >>> pictures = [model.images.load(int(item)) for item in model.gallery.items[:2]]
            >>> found = model.why_alike(*pictures)
            >>> found.exact, [one.shape for one in found.maps]
            (True, [(4, 4), (4, 4)])
        """
        both = _collected([first, second])
        seen = self.encoder.transform.batch([both.load(0), both.load(1)])
        knobs, encoder = self._evaluator.config.evaluation.knobs, self._evaluator.trained.encoder
        unit = getattr(getattr(encoder, "knobs", encoder), "normalise", False)
        one, other = self.encoder.transform.finish(seen).to(self._evaluator.device)
        pixels = seen.permute(0, 2, 3, 1).cpu().numpy()
        return lab.inspect.alike_regions(
            encoder.eval(), one, other, flip=knobs.flip, unit=unit and not knobs.beta,
            embed=self._evaluator.rows, by_parts=tuple(knobs.scales) == (1.0,), pictures=(pixels[0], pixels[1]),
        )  # fmt: skip


def load(
    run: Run | str | Path,
    split: str = "test",
    gallery: Any = None,
    runs: str | Path | None = None,
    encoder: nn.Module | str | None = None,
    index: str | Path = "exact",
    allow: Iterable[str] | str = (),
    **knobs: Any,
) -> Model:
    """Open a trained run for use.

    Args:
        run: a run, its folder or its name; or what `lab export --to huggingface` wrote of one, its folder or
            hf://OWNER/NAME, which embeds pictures and searches a `gallery`.
        split: the embedded split of the run whose pictures `search` looks through.
        gallery: what to look through instead: a folder of pictures or a list of files or images; the folder of a
            gallery in shards (`lab embed --shards`); or a run that the same encoder made, its folder or its name.
        runs: the folder of runs, for a name (by default $LAB_RUNS, else runs).
        encoder: the program, for a run that was trained with one: the module that `lab.train` was given,
            `module:function` that makes it, or its file; it gets the run's weights.
        index: a name in `lab.search`, with its knobs; or a file or folder that holds an index, which is searched
            instead of a gallery. Beside shards an index is kept, and found again the next time.
        allow: what a run that another account wrote may read outside its folder: `paths`, `downloads`, `addresses`.

    Raises:
        ValueError: there is no such run, or it has no trained encoder.

    Example (`run` is that of `lab.model`):
        >>> import lab
        >>> model = lab.load(run)
        >>> picture = model.images.load(int(model.gallery.items[0]))
        >>> len(model.search(picture, k=5))
        5
        >>> len(lab.load(run, index="faiss_ivf", lists=4).search(model.gallery.vectors[0], k=5))
        5
    """
    opened = open_run(run, runs, allow)
    if opened.used_checkpoint() is None and (opened.config.outside or opened.state == FINISHED):
        raise ValueError(
            f"Run {opened.name} holds embeddings but no encoder, so it cannot embed pictures; search its vectors with "
            "lab.search, or load a run that was trained here."
        )
    if index in lab.search.names():
        lab.search.create(str(index), **knobs)  # a misspelt knob, or argument, is told now
    elif given := [*(["gallery"] if gallery is not None else []), *knobs]:
        raise ValueError(
            f"The saved index {index} says what is searched and how, so leave out {', '.join(given)}."
        )
    custom = None
    if encoder is not None:
        from lab.runs.custom.modules import again

        custom = again(encoder, opened)
    return Model(opened, split, _place(gallery, runs, opened.allow), custom, index, knobs)


def _place(gallery: Any, runs: str | Path | None, allow: Iterable[str]) -> Any:
    """The run or the gallery in shards that a path or a name stands for; pictures as they were given."""
    if not isinstance(gallery, str | Path):
        return gallery
    path = Path(gallery).expanduser()
    if shards.is_gallery(path):
        return shards.open_gallery(path)
    if path.is_file() or (path.is_dir() and not (path / "config.yaml").is_file()):
        return path
    try:
        return open_run(gallery, runs, allow)
    except ValueError:
        raise ValueError(f"{gallery} is neither a folder of images nor a run.") from None


def _rows_of(images: ImageSet, vectors: EmbeddingSet) -> Row:

    def row(position: int) -> tuple[str, str, int, str]:
        item, label = int(vectors.items[position]), int(vectors.labels[position])
        file = "" if images.root is None else str(images.path(item))
        return images.keys[item], images.class_name(label), item, file

    return row


def _collected(pictures: Pictures) -> ImageSet:
    """Pictures of whatever kind as a set of images."""
    if isinstance(pictures, str | Path) and Path(pictures).is_dir():
        return below(pictures)
    if isinstance(pictures, str | Path) and not Path(pictures).exists():
        raise ValueError(f"There is no picture or folder {pictures}.")
    return Unlabelled(_several(pictures, files=True))


def _gallery_of(gallery: Any) -> ImageSet:
    """Pictures to search, in which each file of a list comes once, whatever its path is spelt like."""
    if not isinstance(gallery, list | tuple):
        return _collected(gallery)
    place_of = place_finder()
    first: dict[Any, Any] = {}
    for number, one in enumerate(gallery):
        first.setdefault(place_of(Path(one)) if isinstance(one, str | Path) else number, one)
    images = _collected(list(first.values()))
    if repeats := len(gallery) - len(first):
        images.problems.append(
            f"{counted(repeats, 'further spelling')} of files that the gallery holds already."
        )
    return images


def _several(source: Any, files: bool = False) -> list[Any]:
    """One picture or several as a list of them.

    Raises:
        ValueError: there is none, or one is no picture; says what it should be.
    """
    alone = isinstance(source, str | Path | Image.Image) or getattr(source, "ndim", None) == 3
    pictures = list(source) if not alone and isinstance(source, Iterable) else [source]
    if not pictures:
        raise ValueError("There is no picture to embed; give at least one.")
    kinds = "a PIL image or a uint8 tensor [3 h w]"
    if files:
        kinds = "a file, a PIL image, a uint8 tensor [3 h w] or a uint8 array [h w 3]"
    for one in pictures:
        dtype, shape = getattr(one, "dtype", None), list(getattr(one, "shape", ()))
        tensor = dtype == torch.uint8 and len(shape) == 3 and shape[0] == 3
        array = (
            isinstance(one, np.ndarray) and dtype == np.uint8 and len(shape) == 3 and shape[2] == 3
        )
        if not (
            tensor
            or isinstance(one, Image.Image)
            or (files and (array or isinstance(one, str | Path)))
        ):
            description = type(one).__name__ if dtype is None else f"{dtype} of shape {shape}"
            raise ValueError(f"A picture is {kinds}, with pixels from 0 to 255; got {description}.")
    return pictures
