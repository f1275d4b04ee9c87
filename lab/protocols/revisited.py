"""Revisited Oxford and Paris, and SfM-120k's validation: whole photographs at several scales, whitened, judged."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from lab.core.knobs import LARGEST_SIDE, MOST_ITEMS, WIDEST, knob
from lab.core.records import Record
from lab.core.results import EmbeddingSet
from lab.evaluation import whitening
from lab.protocols._base import Judgement, JudgingProtocol
from lab.protocols._outcome import measured
from lab.runs.config import RunConfig
from lab.runs.folder import Run

if TYPE_CHECKING:
    from lab.data import ImageSet
    from lab.runs.evaluate import Evaluator

JUDGED = ("easy", "medium", "hard")
VALIDATION = "sfm120k_validation"
PLAIN, CROWDED = "the set's own", "with distractors"


class Revisited(JudgingProtocol):
    """mAP of the protocols easy, medium and hard for a model that was trained on other landmarks.

    Queries are cut to their boxes; every image is seen whole, in its own proportions, at most `longest` pixels long, at
    three scales whose embeddings are averaged. The embeddings are then whitened by what the training images of the run
    look like, seen in the same way: learnt from their matching pairs, or by their covariance alone. What whitens is
    never a test image. With both sets, the mean over medium and hard of them is told, too; with distractors, each
    set is measured without and with them. `validation` measures on photographs of other landmarks, by which RS@k chose
    its settings (after Tolias et al. 2020); their mAP is the column mAP.

    The encoder has to take images of any shape, so a transformer of fixed size is refused.
    """

    source = "Radenovic et al. 2018; RS@k, section 4 and table 3"

    oxford: str | None = knob("Folder that holds Revisited Oxford.", default=None)
    paris: str | None = knob("Folder that holds Revisited Paris.", default=None)
    validation: str | None = knob(
        "Folder of SfM-120k, to measure on its validation list.", default=None, path=True, source="RS@k, section 4.1"
    )
    distractors: str | None = knob("Folder of the million distractors.", default=None, path=True)
    scales: tuple[float, ...] = knob(
        "Factors by which images are resized.", default=(2**-0.5, 1.0, 2**0.5), gt=0, le=8, source="RS@k, section 4.3"
    )
    longest: int = knob(
        "Longest side of an image at scale 1.",
        default=1024,
        ge=16,
        le=LARGEST_SIDE,
        unit="pixels",
        source="RS@k, section 4.3",
    )
    whitening: Literal["learnt", "pca", "none"] = knob("How embeddings are whitened.", default="learnt")
    width: int | None = knob(
        "Number of whitened dimensions that are kept; by default all.", default=None, ge=1, le=WIDEST, scale="log"
    )
    images: int = knob(
        "Maximum number of training images to learn the whitening from.",
        default=10_000,
        ge=2,
        le=MOST_ITEMS,
        scale="log",
    )

    def configured(self, config: RunConfig) -> RunConfig:
        self._named()
        return super().configured(config)

    def judge(self, run: Run) -> Judgement:
        from lab.runs.evaluate import Evaluator, open_trained

        self._named()
        config = run.config.changed("evaluation.scales", self.knobs.scales)
        evaluator = Evaluator(open_trained(run, config=config))
        sets = list(self._sets())
        whiten = yield from self._whitening(evaluator)
        scores: dict[tuple[str, str], dict[str, float]] = {}
        for dataset in sets:
            split = dataset.splits["test"]
            searched = cast("np.ndarray", split.gallery)  # these sets have one
            query = whiten((yield from self._embedded(evaluator, dataset, split.query, f"{dataset.name} queries")))
            gallery = whiten((yield from self._embedded(evaluator, dataset, searched, f"{dataset.name} images")))
            plain = np.array([not dataset.keys[item].startswith("distractors/") for item in gallery.items])
            galleries = {PLAIN: gallery} if plain.all() else {PLAIN: gallery.take(plain), CROWDED: gallery}
            for which, among in galleries.items():
                scores[dataset.name, which] = yield from self._measured(evaluator, dataset, query, among)
        rows = [
            measured({"set": name} | ({"gallery": which} if self.knobs.distractors else {}), values)
            for (name, which), values in scores.items()
        ]
        published = {place: values for place, values in scores.items() if place[0] != VALIDATION}
        if len({name for name, _ in published}) > 1:  # as RS@k prints them: the mean over medium and hard
            crowded = {place: values for place, values in published.items() if place[1] == CROWDED}
            for name, some in {"mean": published, f"mean, {CROWDED}": crowded}.items():
                if some:
                    mean = np.mean([values[c] for values in some.values() for c in ("mAP-M", "mAP-H")])
                    rows.append(measured({"set": name}, {"mAP": float(mean)}))
        scales = ", ".join(f"{scale:.3g}" for scale in self.knobs.scales)
        notes = [f"Scales {scales}; whitening {self.knobs.whitening}, {query.vectors.shape[1]} directions kept."]
        return self.outcome(rows, "seeds", notes)

    def _named(self) -> None:
        if self.knobs.oxford is None and self.knobs.paris is None and self.knobs.validation is None:
            raise ValueError(
                "revisited needs a set to measure on: --protocol.oxford FOLDER, --protocol.paris FOLDER or "
                "--protocol.validation FOLDER, or several."
            )

    def _sets(self) -> Iterator[ImageSet]:
        import lab.data

        for name, root in (("revisited_oxford", self.knobs.oxford), ("revisited_paris", self.knobs.paris)):
            if root is not None:
                yield lab.data.create(name, root=root, distractors=self.knobs.distractors)
        if self.knobs.validation is not None:
            yield lab.data.create(VALIDATION, root=self.knobs.validation)

    def _whitening(self, evaluator: Evaluator) -> Generator[Record, None, Callable[[EmbeddingSet], EmbeddingSet]]:
        """A function of embeddings."""
        if self.knobs.whitening == "none":
            return lambda embeddings: embeddings
        dataset = evaluator.trained.dataset
        if "train" not in dataset.splits:
            raise ValueError(
                f"{dataset.name} has no training images to learn the whitening from; use --protocol.whitening none."
            )
        items, width = dataset.splits["train"].items, self.knobs.width
        by_class = items[np.argsort(dataset.labels[items], kind="stable")]  # whole classes, so that pairs match
        seen = yield from self._embedded(evaluator, dataset, by_class[: self.knobs.images], "training images")
        pca = self.knobs.whitening == "pca"
        whiten = whitening.pca(seen.vectors, width) if pca else whitening.learnt(seen.vectors, seen.labels, width)
        return lambda embeddings: replace(embeddings, vectors=whiten(embeddings.vectors))

    def _embedded(
        self, evaluator: Evaluator, dataset: ImageSet, items: np.ndarray, what: str
    ) -> Generator[Record, None, EmbeddingSet]:
        from lab.data.images import transforms
        from lab.data.images.loading import Loader
        from lab.runs.building.parts import workers_of

        encoder = evaluator.trained.encoder
        seen = transforms.whole(self.knobs.longest, encoder.mean, encoder.std)
        loader = Loader(dataset, seen, workers=workers_of(evaluator.config, dataset, self.knobs.longest, 1))
        try:
            return (yield from evaluator.embed(loader, items, what, batch_size=1))
        except (AssertionError, RuntimeError) as error:
            if "memory" in str(error):
                raise
            raise ValueError(
                f"{evaluator.config.encoder.name} could not embed {what} in their own proportions "
                f"({' '.join(str(error).split())[:160]}); revisited needs an encoder that takes images of any shape."
            ) from error

    def _measured(
        self, evaluator: Evaluator, dataset: ImageSet, query: EmbeddingSet, gallery: EmbeddingSet
    ) -> Generator[Record, None, dict[str, float]]:
        import lab.metrics
        from lab.evaluation.scores import evaluate

        metrics = {protocol: lab.metrics.create("revisited_map", protocol=protocol) for protocol in JUDGED}
        evaluation = yield from evaluate(
            query,
            gallery,
            metrics,
            similarity="cosine" if self.knobs.whitening != "none" else evaluator.config.similarity,
            relevant=dataset.judged("test", query.items, gallery.items),
            device=evaluator.config.training.knobs.device,
            what=f"{dataset.name} queries",
        )
        return {"mAP": evaluation.values["mAP-E"]} if dataset.name == VALIDATION else evaluation.values
