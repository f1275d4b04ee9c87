"""Test on Revisited Oxford and Paris, or on SfM-120k's validation list: whole images, several scales, whitened."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from lab.core.knobs import LARGEST_SIDE, MOST_ITEMS, WIDEST, knob
from lab.core.records import Record
from lab.core.results import EmbeddingSet
from lab.evaluation import whitening
from lab.protocols._base import Judgement, JudgingProtocol
from lab.protocols._outcome import summarise
from lab.runs.config import RunConfig
from lab.runs.folder import Run

if TYPE_CHECKING:
    from lab.data import ImageSet
    from lab.runs.evaluate import Evaluator

JUDGED = ("easy", "medium", "hard")
VALIDATION = "sfm120k_validation"
PLAIN = "the set's own"
CROWDED = "with distractors"


class Revisited(JudgingProtocol):
    """Measure mAP of the protocols easy, medium and hard for a model that was trained on other landmarks.

    Queries are cropped to their boxes. Every image is embedded whole, in its own proportions, at most `longest` pixels
    long, at three scales whose embeddings are averaged. The embeddings are then whitened. The whitening is learnt from
    training images of the run, never from test images: from their matching pairs, or from their covariance alone. With
    both sets, the outcome also has the mean over medium and hard of both; with distractors, each set is measured
    without and with them. `validation` measures on photographs of other landmarks, by which RS@k chose its settings
    (after Tolias et al. 2020); their mAP is the column mAP.

    The encoder has to take images of any shape, so a transformer of fixed size is refused.
    """

    source = "Radenovic et al. 2018; RS@k, section 4 and table 3"

    oxford: str | None = knob("Folder that holds Revisited Oxford.", default=None)
    paris: str | None = knob("Folder that holds Revisited Paris.", default=None)
    validation: str | None = knob(
        "Folder of SfM-120k, to measure on its validation list.",
        default=None,
        path=True,
        source="RS@k, section 4.1",
    )
    distractors: str | None = knob("Folder of the million distractors.", default=None, path=True)
    scales: tuple[float, ...] = knob(
        "Factors by which images are resized.",
        default=(2**-0.5, 1.0, 2**0.5),
        gt=0,
        le=8,
        source="RS@k, section 4.3",
    )
    longest: int = knob(
        "Longest side of an image at scale 1.",
        default=1024,
        ge=16,
        le=LARGEST_SIDE,
        unit="pixels",
        source="RS@k, section 4.3",
    )
    whitening: Literal["learnt", "pca", "none"] = knob(
        "How embeddings are whitened.", default="learnt"
    )
    width: int | None = knob(
        "Number of whitened dimensions that are kept; by default all.",
        default=None,
        ge=1,
        le=WIDEST,
        scale="log",
    )
    images: int = knob(
        "Maximum number of training images to learn the whitening from.",
        default=10_000,
        ge=2,
        le=MOST_ITEMS,
        scale="log",
    )

    def configured(self, config: RunConfig) -> RunConfig:
        self._require_a_set()
        return super().configured(config)

    def judge(self, run: Run) -> Judgement:
        from lab.runs.evaluate import Evaluator, open_trained

        self._require_a_set()
        config = run.config.changed("evaluation.scales", self.knobs.scales)
        evaluator = Evaluator(open_trained(run, config=config))
        sets = list(self._sets())
        whiten = yield from self._whitening(evaluator)

        scores: dict[tuple[str, str], dict[str, float]] = {}  # by data set and gallery
        for dataset in sets:
            split = dataset.splits["test"]
            gallery_items = cast("np.ndarray", split.gallery)  # these sets have a gallery
            query = yield from self._embed(
                evaluator, dataset, split.query, f"{dataset.name} queries"
            )
            query = whiten(query)
            gallery = yield from self._embed(
                evaluator, dataset, gallery_items, f"{dataset.name} images"
            )
            gallery = whiten(gallery)

            # With distractors, measure on the official gallery and on the extended gallery.
            official = np.array(
                [not dataset.keys[item].startswith("distractors/") for item in gallery.items]
            )
            galleries = {PLAIN: gallery.take(official)}
            if not official.all():
                galleries[CROWDED] = gallery
            for gallery_name, searched in galleries.items():
                values = yield from self._measure(evaluator, dataset, query, searched)
                scores[dataset.name, gallery_name] = values

        rows = []
        for (name, gallery_name), values in scores.items():
            setting = {"set": name}
            if self.knobs.distractors:
                setting["gallery"] = gallery_name
            rows.append(summarise(setting, values))
        for name, mean in _means_of_both_sets(scores).items():
            rows.append(summarise({"set": name}, {"mAP": mean}))

        scales = ", ".join(f"{scale:.3g}" for scale in self.knobs.scales)
        notes = [
            f"Scales {scales}; whitening {self.knobs.whitening}, {query.vectors.shape[1]} directions kept."
        ]
        return self.outcome(rows, "seeds", notes)

    def _require_a_set(self) -> None:
        if self.knobs.oxford is None and self.knobs.paris is None and self.knobs.validation is None:
            raise ValueError(
                "revisited needs a set to measure on: --protocol.oxford FOLDER, --protocol.paris FOLDER or "
                "--protocol.validation FOLDER, or several."
            )

    def _sets(self) -> Iterator[ImageSet]:
        import lab.data

        for name, root in (
            ("revisited_oxford", self.knobs.oxford),
            ("revisited_paris", self.knobs.paris),
        ):
            if root is not None:
                yield lab.data.create(name, root=root, distractors=self.knobs.distractors)
        if self.knobs.validation is not None:
            yield lab.data.create(VALIDATION, root=self.knobs.validation)

    def _whitening(
        self, evaluator: Evaluator
    ) -> Generator[Record, None, Callable[[EmbeddingSet], EmbeddingSet]]:
        """Return a function that whitens embeddings."""
        if self.knobs.whitening == "none":
            return lambda embeddings: embeddings
        dataset = evaluator.trained.dataset
        if "train" not in dataset.splits:
            raise ValueError(
                f"{dataset.name} has no training images to learn the whitening from; use --protocol.whitening none."
            )
        items = dataset.splits["train"].items
        # whole classes, so that pairs match
        by_class = items[np.argsort(dataset.labels[items], kind="stable")]
        training = yield from self._embed(
            evaluator, dataset, by_class[: self.knobs.images], "training images"
        )
        if self.knobs.whitening == "pca":
            whiten = whitening.pca(training.vectors, self.knobs.width)
        else:
            whiten = whitening.learnt(training.vectors, training.labels, self.knobs.width)
        return lambda embeddings: replace(embeddings, vectors=whiten(embeddings.vectors))

    def _embed(
        self, evaluator: Evaluator, dataset: ImageSet, items: np.ndarray, description: str
    ) -> Generator[Record, None, EmbeddingSet]:
        """Embed whole images, one at a time; `description` names them in messages and on the progress bar."""
        from lab.data.images import transforms
        from lab.data.images.loading import Loader
        from lab.runs.building.parts import workers_of

        encoder = evaluator.trained.encoder
        transform = transforms.whole(self.knobs.longest, encoder.mean, encoder.std)
        workers = workers_of(evaluator.config, dataset, self.knobs.longest, 1)
        loader = Loader(dataset, transform, workers=workers)
        try:
            return (yield from evaluator.embed(loader, items, description, batch_size=1))
        except (AssertionError, RuntimeError) as error:
            if "memory" in str(error):
                raise
            reason = " ".join(str(error).split())[:160]
            raise ValueError(
                f"{evaluator.config.encoder.name} could not embed {description} in their own proportions "
                f"({reason}); revisited needs an encoder that takes images of any shape."
            ) from error

    def _measure(
        self, evaluator: Evaluator, dataset: ImageSet, query: EmbeddingSet, gallery: EmbeddingSet
    ) -> Generator[Record, None, dict[str, float]]:
        import lab.metrics
        from lab.evaluation.scores import evaluate

        similarity = evaluator.config.similarity
        if self.knobs.whitening != "none":
            similarity = "cosine"
        evaluation = yield from evaluate(
            query,
            gallery,
            {
                protocol: lab.metrics.create("revisited_map", protocol=protocol)
                for protocol in JUDGED
            },
            similarity=similarity,
            relevant=dataset.judged("test", query.items, gallery.items),
            device=evaluator.config.training.knobs.device,
            what=f"{dataset.name} queries",
        )
        if dataset.name == VALIDATION:
            return {"mAP": evaluation.values["mAP-E"]}
        return evaluation.values


def _means_of_both_sets(scores: Mapping[tuple[str, str], Mapping[str, float]]) -> dict[str, float]:
    """Return the mean over medium and hard of Oxford and Paris, as RS@k prints it; {} unless both are measured."""
    official = {key: values for key, values in scores.items() if key[0] != VALIDATION}
    names = {name for name, _ in official}
    if len(names) < 2:
        return {}

    means = {"mean": _mean_over_medium_and_hard(official.values())}
    crowded = [values for key, values in official.items() if key[1] == CROWDED]
    if crowded:
        means[f"mean, {CROWDED}"] = _mean_over_medium_and_hard(crowded)
    return means


def _mean_over_medium_and_hard(scores: Iterable[Mapping[str, float]]) -> float:
    values = []
    for score in scores:
        values += [score["mAP-M"], score["mAP-H"]]
    return float(np.mean(values))
