"""Embed the splits of a run, search, measure, and keep what was found in its folder."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.core.records import Evaluated, Note, Record
from lab.core.results import EmbeddingSet
from lab.evaluation.embedding import embed
from lab.evaluation.precision import Precision
from lab.evaluation.scores import Evaluation, evaluate
from lab.runs.building.parts import Trained, check_search, device_of, metrics_of, reranker_of, testing_loader, trained
from lab.runs.config import RunConfig
from lab.runs.folder import Run
from lab.runs.writer import Writer

if TYPE_CHECKING:
    from lab.data import ImageSet
    from lab.data.images.loading import Loader


class Examiner:
    """A trained run that embeds images and measures searches as a configuration says; it writes nothing.

    Args:
        config: the run's by default, or a changed one whose `evaluation`, `testing` and `metrics` are used instead.

    Raises:
        ValueError: the run has no checkpoint, or the configuration does not fit it.
    """

    def __init__(self, run: Run, config: RunConfig | None = None):
        self.config = run.config if config is None else config
        knobs = self.config.evaluation.knobs
        self.model: Trained = trained(run, knobs.checkpoint, knobs.pooling)
        self.model.encoder.to(device_of(self.config.training.knobs.device))
        check_search(self.config, self.model.anchors is not None)
        self.metrics = metrics_of(self.config)

    def loader(self, dataset: ImageSet) -> Loader:
        """Loads the images of a data set as this configuration wants to see them."""
        return testing_loader(self.config, dataset, self.model.encoder)

    def embed(
        self, loader: Loader, items: np.ndarray, what: str = "images", batch_size: int | None = None
    ) -> Generator[Record, None, EmbeddingSet]:
        """Embed the images at `items` (int64 [n]), `batch_size` at once (by default as configured)."""
        knobs = self.config.evaluation.knobs
        device = next(self.model.encoder.parameters()).device
        return embed(
            self.model.encoder,
            loader,
            items,
            what=what,
            batch_size=batch_size or knobs.batch_size,
            flip=knobs.flip,
            scales=knobs.scales,
            beta=knobs.beta,
            precision=Precision(self.config.training.knobs.precision, device),
        )

    def split(self, loader: Loader, name: str) -> Generator[Record, None, tuple[EmbeddingSet, EmbeddingSet | None]]:
        """Embed the queries of a split, and its gallery where it has one of its own.

        Raises:
            ValueError: the data set lacks the split.
        """
        dataset = loader.image_set
        split = dataset.splits.get(name)
        if split is None:
            raise ValueError(f"{dataset.name} has no split {name!r}; it has {', '.join(dataset.splits)}.")
        query = yield from self.embed(loader, split.query, f"{name} images")
        gallery = None
        if split.gallery is not None:
            gallery = yield from self.embed(loader, split.gallery, f"{name} gallery")
        return query, gallery

    def anchors(self, dataset: ImageSet) -> dict[str, np.ndarray]:
        """The class anchors and the labels of their rows; empty for a model without anchors."""
        if self.model.anchors is None:
            return {}
        classes = np.unique(dataset.labels[dataset.splits["train"].items])
        return {"anchors": self.model.anchors, "anchor_labels": classes}

    def measure(
        self,
        dataset: ImageSet,
        name: str,
        query: EmbeddingSet,
        gallery: EmbeddingSet | None,
        levels: Mapping[str, np.ndarray] | None = None,
    ) -> Generator[Record, None, Evaluation]:
        """Search embeddings of a split's images, all or some of them, and measure.

        Args:
            levels: coarser labels int64 [n] by name, instead of the data set's own.
        """
        searched = query if gallery is None else gallery
        return evaluate(
            query,
            gallery,
            self.metrics,
            k=self.config.evaluation.knobs.k,
            similarity=self.config.similarity,
            relevant=dataset.judged(name, query.items, searched.items),
            levels=dataset.levels if levels is None else levels,
            reranker=reranker_of(self.config),
            device=self.config.training.knobs.device,
            what=f"{name} queries",
            search=self.config.evaluation.knobs.search,
            **self.anchors(dataset),
        )


def evaluate_run(
    run: Run,
    writer: Writer,
    config: RunConfig | None = None,
    splits: tuple[str, ...] | None = None,
    dataset: ImageSet | None = None,
) -> Iterator[Record]:
    """Embed and measure `splits` (by default those configured, where there are any); replaces what was there.

    Args:
        config: the run's, or a changed one whose `evaluation`, `testing` and `metrics` are used instead.

    Raises:
        ValueError: the run has no checkpoint, or the data set lacks a split.
    """
    examiner = Examiner(run, config)
    dataset = run.dataset() if dataset is None else dataset
    loader = examiner.loader(dataset)
    for name in splits or [s for s in examiner.config.evaluation.knobs.splits if s in dataset.splits]:
        query, gallery = yield from examiner.split(loader, name)
        found = yield from examiner.measure(dataset, name, query, gallery)
        result = Evaluated(name, found.values, len(query), found.excluded, found.seconds)
        scores = {key: value for key, value in result.as_json().items() if key not in ("kind", "split")}
        embeddings = _columns(query, gallery) | examiner.anchors(dataset)
        writer.evaluation(name, embeddings, found.per_query, scores, _told(examiner))
        yield result
    if loader.problems:
        yield Note(problems_sentence(loader.problems))


def examiner_of(run: Run, split: str = "test") -> Examiner:
    """What embeds further images as the stored ones of `split` were embedded.

    Raises:
        ValueError: the weights that those are of are gone, so new embeddings would not fit them.
    """
    examiner = Examiner(run, run.config_of(split))
    origin, model = run.origin(split), examiner.model
    if origin.checkpoint and (origin.checkpoint, origin.step) != (model.checkpoint, model.step):
        raise ValueError(
            f"The {split} embeddings of {run.name} are of its {origin.words}, but it holds a {model.checkpoint} "
            f"checkpoint of step {model.step:,} now; embed them again: lab evaluate {run.path} --split {split}."
        )
    return examiner


def embedder(run: Run, split: str = "test") -> Callable[..., Generator[Record, None, EmbeddingSet]]:
    """A function of (dataset, items) that embeds images with a trained run, as the stored ones of `split` were.

    Raises:
        ValueError: the weights that those are of are gone, so new embeddings would not fit them.
    """
    examiner = examiner_of(run, split)

    def of(dataset: ImageSet, items: np.ndarray, what: str = "images") -> Generator[Record, None, EmbeddingSet]:
        return examiner.embed(examiner.loader(dataset), items, what)

    return of


def problems_sentence(problems: list[str]) -> str:
    """How what was wrong with the data is told."""
    shown = "; ".join(problem.rstrip(".") for problem in problems[:5]) + ("; ..." if len(problems) > 5 else ".")
    return f"{len(problems)} problem{'s' * (len(problems) > 1)} in the data, left out of it: {shown}"


def _told(examiner: Examiner) -> dict[str, Any]:
    """What stands beside embeddings and scores: how they were made."""
    model = examiner.model
    return {"checkpoint": model.checkpoint, "step": model.step, "evaluation": examiner.config.evaluation.as_dict()}


def _columns(query: EmbeddingSet, gallery: EmbeddingSet | None) -> dict[str, np.ndarray]:
    parts = {"query": query} | ({} if gallery is None else {"gallery": gallery})
    return {f"{part}.{field}": value for part, one in parts.items() for field, value in vars(one).items()}
