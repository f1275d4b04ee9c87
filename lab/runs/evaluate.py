"""Embed the splits of a run, search, measure, and store embeddings and scores in its folder."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch

from lab.core.records import Evaluated, Note, Record
from lab.core.results import Classifier, EmbeddingSet
from lab.data.images.folders import problems_sentence
from lab.encoders.adapted import Adapted
from lab.evaluation import identity
from lab.evaluation.embedding import embed, rows_of
from lab.evaluation.mixed_precision import MixedPrecision
from lab.evaluation.scores import Evaluation, evaluate, left_out_sentence
from lab.runs.building.fingerprints import fingerprint
from lab.runs.building.on_features import features_state, measure_on_features
from lab.runs.building.parts import check_search, device_of, metrics_of, reranker_of
from lab.runs.building.trained import Trained, open_trained
from lab.runs.config import RunConfig, difference
from lab.runs.folder import Run
from lab.runs.joined import columns, known_images, place_of, recorded
from lab.runs.writer import Writer

if TYPE_CHECKING:
    from lab.data import ImageSet
    from lab.data.images.loading import Loader
    from lab.training.distributed import Processes


MAKING = ("checkpoint", "flip", "beta", "pooling", "scales")
"""Knobs of an evaluation that change the embeddings; the others change how these are searched and measured."""


class Evaluator:
    """Embeds images with a trained run, and measures searches, as its configuration says; it writes nothing.

    Raises:
        ValueError: the configuration does not fit the run.
    """

    def __init__(self, trained: Trained):
        self.trained = trained
        self.config = trained.config
        self.device = device_of(self.config.training.knobs.device)
        self.precision = MixedPrecision(self.config.training.knobs.precision, self.device)
        trained.encoder.to(self.device)
        check_search(self.config, trained.anchors is not None)
        self.metrics = metrics_of(self.config)

    def embed(
        self, loader: Loader, items: np.ndarray, what: str = "images", batch_size: int | None = None
    ) -> Generator[Record, None, EmbeddingSet]:
        """Embed the images at `items` (int64 [n]), `batch_size` at once (by default as configured)."""
        knobs = self.config.evaluation.knobs
        return embed(
            self.trained.encoder,
            loader,
            items,
            what=what,
            batch_size=batch_size or knobs.batch_size,
            precision=self.precision,
            flip=knobs.flip,
            scales=knobs.scales,
            beta=knobs.beta,
        )

    def rows(self, images: torch.Tensor) -> torch.Tensor:
        """Return embeddings [n d] of normalised images [n 3 h w], with gradients, as `embed` computes them."""
        knobs = self.config.evaluation.knobs
        return rows_of(
            self.trained.encoder, images, knobs.flip, knobs.scales, knobs.beta, self.precision
        )

    def split(
        self, name: str, processes: Processes | None = None
    ) -> Generator[Record, None, tuple[EmbeddingSet, EmbeddingSet | None]]:
        """Embed the queries of a split, and its gallery where it has one of its own.

        Args:
            processes: the processes that share the images; each of them has to call this, and gets all embeddings.

        Raises:
            ValueError: the data set lacks the split.
        """
        dataset = self.trained.dataset
        loader = self.trained.loader
        split = dataset.splits.get(name)
        if split is None:
            raise ValueError(
                f"{dataset.name} has no split {name!r}; it has {', '.join(dataset.splits)}."
            )
        parts = {"images": split.query, "gallery": split.gallery}
        embedded: dict[str, EmbeddingSet | None] = dict.fromkeys(parts)
        for what, items in parts.items():
            if items is None:
                continue
            if processes is None:
                embedded[what] = yield from self.embed(loader, items, f"{name} {what}")
                continue
            share = processes.part_of(items, self.config.evaluation.knobs.batch_size)
            part = None
            contents = np.zeros(0, np.int64)
            if len(share):
                part = yield from self.embed(loader, share, f"{name} {what}")
                contents = loader.contents[part.items]
            whole = processes.whole(part, self.device)
            all_contents = processes.rows(torch.from_numpy(contents).to(self.device))
            loader.contents[whole.items] = all_contents.cpu().numpy()
            embedded[what] = whole
        return cast(EmbeddingSet, embedded["images"]), embedded["gallery"]

    @property
    def splits(self) -> list[str]:
        """Names of the splits that the configuration measures, where the data set has them."""
        return [
            name
            for name in self.config.evaluation.knobs.splits
            if name in self.trained.dataset.splits
        ]

    @property
    def anchors(self) -> dict[str, np.ndarray]:
        """The class anchors and the labels of their rows; empty for a model without anchors."""
        if self.trained.anchors is None:
            return {}
        return {"anchors": self.trained.anchors, "anchor_labels": self.trained.classes}

    def measure(
        self,
        name: str,
        query: EmbeddingSet,
        gallery: EmbeddingSet | None,
        dataset: ImageSet | None = None,
        levels: Mapping[str, np.ndarray] | None = None,
    ) -> Generator[Record, None, Evaluation]:
        """Search embeddings of a split's images, or of some of them, and measure.

        Args:
            dataset: the images that were embedded, instead of the run's.
            levels: coarser labels int64 [n] by name, instead of the data set's own.
        """
        images = self.trained.dataset if dataset is None else dataset
        weights = self.trained.classifier
        extras: dict[str, Any] = {
            "levels": images.levels if levels is None else levels,
            **self.anchors,
        }
        if weights is not None:
            extras["classifier"] = Classifier(*weights, self.trained.classes)
        return _measured(
            self.config, self.metrics, name, {"query": query, "gallery": gallery}, images, extras
        )


def _measured(
    config: RunConfig,
    metrics: Mapping[str, Any],
    name: str,
    parts: Mapping[str, EmbeddingSet | None],
    images: ImageSet,
    extras: Mapping[str, Any],
) -> Generator[Record, None, Evaluation]:
    """Search embeddings of a split as a configuration says, and measure. extras: levels, anchors, classifier."""
    knobs = config.evaluation.knobs
    query = cast(EmbeddingSet, parts["query"])
    gallery = parts.get("gallery")
    searched = query if gallery is None else gallery
    return evaluate(
        query,
        gallery,
        metrics,
        similarity=config.similarity,
        what=f"{name} queries",
        relevant=images.judged(name, query.items, searched.items),
        reranker=reranker_of(config),
        k=knobs.k,
        search=knobs.search,
        device=config.training.knobs.device,
        distractors=knobs.distractors,
        **extras,
    )


def _never() -> bool:
    return False


def evaluate_run(
    run: Run,
    writer: Writer,
    config: RunConfig | None = None,
    splits: tuple[str, ...] | None = None,
    dataset: ImageSet | None = None,
    encoder: Any = None,
    processes: Processes | None = None,
    stop: Callable[[], bool] = _never,
) -> Iterator[Record]:
    """Embed and measure `splits` (by default those configured, if any); replaces what was stored.

    Args:
        config: the run's, or a changed one whose `evaluation`, `testing` and `metrics` are used instead.
        encoder: the user's own that the run was trained with; without it, stored embeddings are measured again.
        processes: the processes that share the embedding; the others call `embed_along`.
        stop: called before each split; True leaves out the remaining splits.

    Raises:
        ValueError: the run has no checkpoint, or the data set lacks a split.
    """
    if run.config.outside and encoder is None:
        yield from _measure_stored(run, writer, config or run.config, splits)
        return
    # Load the checkpoint.
    trained = open_trained(run, config=config, encoder=encoder)
    if dataset is not None:
        trained.dataset = dataset
    yield from measure_on_features(trained)
    evaluator = Evaluator(trained)
    network = fingerprint(trained.encoder)
    features = {}
    if isinstance(trained.encoder, Adapted):
        features["features"] = features_state(trained.encoder, trained.config, trained.dataset)
    # Embed, measure and store each split.
    for name in splits or evaluator.splits:
        if stop():
            break
        if processes is not None:
            processes.from_first(name)
        query, gallery = yield from evaluator.split(name, processes)
        evaluation = yield from evaluator.measure(name, query, gallery)
        facts: dict[str, Any] = {
            "checkpoint": trained.checkpoint,
            "step": trained.step,
            "evaluation": trained.config.evaluation.as_dict(),
            "network": network,
            **features,
            "testing": trained.config.testing.as_dict(),
        }
        parts = _parts(query, gallery)
        about = columns(trained.dataset, parts, trained.loader.contents) | evaluator.anchors
        yield from _keep(writer, name, evaluation, parts, about, facts, trained.dataset)
    # Tell which images could not be read by any process.
    problems = trained.loader.problems
    if processes is not None:
        processes.from_first("")
        problems = processes.lists(problems)
    if problems:
        yield Note(problems_sentence(problems))


def embed_along(run: Run, processes: Processes, dataset: ImageSet) -> Iterator[Record]:
    """Embed this process's part of the splits that the first process measures, as long as it goes on."""
    trained = open_trained(run)
    trained.dataset = dataset
    evaluator = Evaluator(trained)
    while name := processes.from_first(""):
        yield from evaluator.split(name, processes)
    processes.lists(trained.loader.problems)


def _parts(query: EmbeddingSet, gallery: EmbeddingSet | None) -> dict[str, EmbeddingSet]:
    """Return queries and gallery by name, without a gallery that does not exist."""
    return {"query": query} if gallery is None else {"query": query, "gallery": gallery}


def _measure_stored(
    run: Run, writer: Writer, config: RunConfig, splits: tuple[str, ...] | None
) -> Iterator[Record]:
    """Measure external embeddings: no model can compute them again.

    Args:
        splits: by default those that the configuration names, if it differs from the run's there, else all.
    """
    images = run.dataset()
    metrics = metrics_of(config)
    named = config.evaluation.knobs.splits
    if splits is None and named != run.config.evaluation.knobs.splits:
        splits = named
    for name in splits or run.splits:
        anchors = run.anchors(name)
        split_config = _as_made(run, name, config)
        check_search(split_config, anchors is not None)
        anchor_columns = {}
        if anchors is not None:
            anchor_columns = {"anchors": anchors[0], "anchor_labels": anchors[1]}
        parts = _parts(run.embeddings(name), run.embeddings(name, "gallery"))
        extras = {"levels": images.levels, **anchor_columns}
        evaluation = yield from _measured(split_config, metrics, name, parts, images, extras)
        origin = run.origin(name)
        facts: dict[str, Any] = {"checkpoint": origin.checkpoint, "step": origin.step}
        facts["evaluation"] = split_config.evaluation.as_dict()
        testing = run.header(name).get("testing")
        if testing is not None:
            facts["testing"] = testing
        about = known_images(run, name, images, parts) | anchor_columns
        yield from _keep(writer, name, evaluation, parts, about, facts, images)


def _as_made(run: Run, split: str, config: RunConfig) -> RunConfig:
    """Return the configuration with the settings that the stored embeddings of a split were computed with.

    Raises:
        ValueError: other settings were given.
    """
    stored = run.config_of(split)
    changed = difference(run.config, config).keys() & difference(stored, config).keys()
    fixed = {f"evaluation.{knob}" for knob in (*MAKING, "batch_size")}
    lost = [path for path in sorted(changed) if path.startswith("testing.") or path in fixed]
    if lost:
        instead = "" if config.imported else ", or give the encoder: --encoder module:function"
        raise ValueError(
            f"The {split} embeddings of {run.name} are measured as they are stored, so {', '.join(lost)} cannot be "
            f"changed; leave it out{instead}."
        )
    kept = {knob: stored.evaluation.values[knob] for knob in MAKING}
    config = config.changed("evaluation", {**config.evaluation.as_dict(), **kept})
    return config.changed("testing", stored.testing.as_dict())


def _keep(
    writer: Writer,
    name: str,
    evaluation: Evaluation,
    parts: Mapping[str, EmbeddingSet],
    about: Mapping[str, np.ndarray],
    facts: dict[str, Any],
    images: ImageSet,
) -> Iterator[Record]:
    """Write a split. about: which images the embeddings are of, and anchors."""
    embeddings = dict(about)
    for part, rows in parts.items():
        embeddings[f"{part}.vectors"] = rows.vectors
        embeddings[f"{part}.labels"] = rows.labels
        embeddings[f"{part}.items"] = rows.items
    facts["place"] = place_of(images, writer.run.config)
    facts["numbers"] = identity.keys_digest(images)
    facts["images"] = recorded(writer.run.name, embeddings, facts["place"]).digest
    result = Evaluated(
        name,
        evaluation.values,
        queries=len(evaluation.ranking),
        excluded=evaluation.excluded,
        seconds=evaluation.seconds,
        unlabelled=evaluation.unlabelled,
        left_out=evaluation.left_out,
        warnings=tuple(evaluation.warnings),
    )
    scores = {key: value for key, value in result.as_json().items() if key not in ("kind", "split")}
    writer.evaluation(name, embeddings, evaluation.per_query, scores, facts)
    yield result
    left_out = left_out_sentence(evaluation.left_out, len(parts.get("gallery", parts["query"])))
    if left_out:
        yield Note(f"{name.capitalize()}: {left_out}")


def evaluator_of(run: Run, split: str = "test", encoder: Any = None) -> Evaluator:
    """Return what embeds further images as the stored ones of `split` were embedded.

    Args:
        encoder: the user's own that the run was trained with.

    Raises:
        ValueError: the weights of the stored embeddings are gone, so new embeddings would not fit them.
    """
    trained = open_trained(run, config=run.config_of(split), encoder=encoder)
    origin = run.origin(split)
    if origin.checkpoint and (origin.checkpoint, origin.step) != (trained.checkpoint, trained.step):
        raise ValueError(
            f"The {split} embeddings of {run.name} are of its {origin.words}, but it holds a {trained.checkpoint} "
            f"checkpoint of step {trained.step:,} now; embed them again: lab evaluate {run.path} --split {split}."
        )
    return Evaluator(trained)
