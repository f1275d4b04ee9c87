"""Embed the splits of a run, search, measure, and keep what was found in its folder."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.results import EmbeddingSet
from lab.runs.build import Trained, device_of, metrics_of, testing_loader, trained
from lab.runs.config import RunConfig
from lab.runs.folder import Run, Writer
from lab.training.embedding import embed
from lab.training.evaluation import Evaluation, evaluate
from lab.training.precision import Precision
from lab.training.records import Evaluated, Note, Record

if TYPE_CHECKING:
    from lab.data._base import ImageSet

SPLITS = ("validation", "test")


def evaluate_run(
    run: Run,
    writer: Writer,
    config: RunConfig | None = None,
    splits: tuple[str, ...] | None = None,
    dataset: ImageSet | None = None,
) -> Iterator[Record]:
    """Embed and measure `splits` (by default validation and test, where there are any); replaces what was there.

    Args:
        config: the run's, or a changed one whose `evaluation`, `testing` and `metrics` are used instead.

    Raises:
        ValueError: the run has no checkpoint, or the data set lacks a split.
    """
    config = run.config if config is None else config
    dataset = run.dataset() if dataset is None else dataset
    knobs = config.evaluation.knobs
    model = trained(run, knobs.checkpoint)
    model.encoder.to(device_of(config.training.knobs.device))
    loader = testing_loader(config, dataset, model.encoder)
    for name in splits or [s for s in SPLITS if s in dataset.splits]:
        split = dataset.splits.get(name)
        if split is None:
            raise ValueError(f"{dataset.name} has no split {name!r}; it has {', '.join(dataset.splits)}.")
        query = yield from _embedded(config, model, loader, split.query, f"{name} images")
        gallery = None
        if split.gallery is not None:
            gallery = yield from _embedded(config, model, loader, split.gallery, f"{name} gallery")
        yield from _measured(run, writer, config, dataset, model, name, query, gallery)
    if loader.problems:
        yield Note(problems_sentence(loader.problems))


def embedder(run: Run, split: str = "test") -> Callable[..., Generator[Record, None, EmbeddingSet]]:
    """A function of (dataset, items) that embeds images with a trained run, as the stored ones of `split` were."""
    config = run.config_of(split)
    model = trained(run)
    model.encoder.to(device_of(config.training.knobs.device))

    def of(dataset: ImageSet, items: np.ndarray, what: str = "images") -> Generator[Record, None, EmbeddingSet]:
        return _embedded(config, model, testing_loader(config, dataset, model.encoder), items, what)

    return of


def problems_sentence(problems: list[str]) -> str:
    """How what was wrong with the data is told."""
    shown = "; ".join(problem.rstrip(".") for problem in problems[:5]) + ("; ..." if len(problems) > 5 else ".")
    return f"{len(problems)} problem{'s' * (len(problems) > 1)} in the data, left out of it: {shown}"


def _embedded(config, model: Trained, loader, items: np.ndarray, what: str) -> Generator[Record, None, EmbeddingSet]:
    knobs = config.evaluation.knobs
    device = next(model.encoder.parameters()).device
    return embed(
        model.encoder,
        loader,
        items,
        what=what,
        batch_size=knobs.batch_size,
        flip=knobs.flip,
        beta=knobs.beta,
        precision=Precision(config.training.knobs.precision, device),
    )


def _measured(
    run: Run,
    writer: Writer,
    config: RunConfig,
    dataset: ImageSet,
    model: Trained,
    name: str,
    query: EmbeddingSet,
    gallery: EmbeddingSet | None,
) -> Iterator[Record]:
    knobs = config.evaluation.knobs
    anchors: dict[str, np.ndarray] = {}
    if model.anchors is not None:
        classes = np.unique(dataset.labels[dataset.splits["train"].items])
        anchors = {"anchors": model.anchors, "anchor_labels": classes}
    parts = {"query": query} | ({} if gallery is None else {"gallery": gallery})
    arrays = {f"{part}.{field}": value for part, one in parts.items() for field, value in vars(one).items()}
    told = {"checkpoint": model.checkpoint, "step": model.step, "evaluation": config.evaluation.as_dict()}
    writer.arrays("embeddings", name, arrays | anchors, told)

    found: Evaluation = yield from evaluate(
        query,
        gallery,
        metrics_of(config),
        k=knobs.k,
        similarity=config.similarity,
        relevant=dataset.judged(name, query.items, query.items if gallery is None else gallery.items),
        what=f"{name} queries",
        **anchors,
    )
    result = Evaluated(name, found.values, len(query), found.excluded, found.seconds)
    told |= {key: value for key, value in result.as_json().items() if key not in ("kind", "split")}
    writer.scores(name, told, found.per_query)
    yield result


def scored(run: Run, split: str = "test") -> dict[str, Any]:
    """Column to value of one split, empty when it has not been evaluated."""
    return (run.scores(split) or {}).get("values", {})
