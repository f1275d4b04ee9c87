"""Revisited Oxford and Paris, and SfM-120k's validation: whole photographs at several scales, whitened, judged."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from lab.core.knobs import knob
from lab.core.records import Record
from lab.core.results import EmbeddingSet
from lab.evaluation import whitening
from lab.protocols._base import Judgement, JudgingKnobs, JudgingProtocol
from lab.protocols._outcome import OutcomeRow, measured
from lab.runs.config import RunConfig
from lab.runs.folder import Run

if TYPE_CHECKING:
    from lab.data import ImageSet
    from lab.runs.evaluate import Evaluator

JUDGED = ("easy", "medium", "hard")
VALIDATION = "sfm120k_validation"


PLAIN, CROWDED = "the set's own", "with distractors"


def _galleries(dataset: ImageSet, gallery: EmbeddingSet) -> dict[str, EmbeddingSet]:
    """What the queries are searched in: the set's own images and, where there are distractors, all of them, too."""
    plain = np.array([not dataset.keys[item].startswith("distractors/") for item in gallery.items])
    if plain.all():
        return {PLAIN: gallery}
    return {PLAIN: gallery.take(plain), CROWDED: gallery}


def _means(scores: Mapping[tuple[str, str], Mapping[str, float]]) -> list[OutcomeRow]:
    """As RS@k prints them: the mean over medium and hard, sets and galleries; and over those with distractors alone."""
    crowded = {place: values for place, values in scores.items() if place[1] == CROWDED}
    wanted = {"mean": scores} | ({f"mean, {CROWDED}": crowded} if crowded else {})
    return [
        measured({"set": name}, {"mAP": float(np.mean([v[c] for v in some.values() for c in ("mAP-M", "mAP-H")]))})
        for name, some in wanted.items()
    ]


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

    class Knobs(JudgingKnobs):
        oxford: str | None = knob(None, "Folder that holds Revisited Oxford.")
        paris: str | None = knob(None, "Folder that holds Revisited Paris.")
        validation: str | None = knob(
            None, "Folder of SfM-120k, to measure on its validation list.", path=True, source="RS@k, section 4.1"
        )
        distractors: str | None = knob(None, "Folder of the million distractors.", path=True)
        scales: tuple[float, ...] = knob(
            (2**-0.5, 1.0, 2**0.5), "Factors by which images are resized.", gt=0, le=8, source="RS@k, section 4.3"
        )
        longest: int = knob(
            1024, "Longest side of an image at scale 1.", ge=16, unit="pixels", source="RS@k, section 4.3"
        )
        whitening: Literal["learnt", "pca", "none"] = knob("learnt", "How embeddings are whitened.")
        width: int | None = knob(
            None, "Number of whitened dimensions that are kept; by default all.", ge=1, scale="log"
        )
        images: int = knob(10_000, "Maximum number of training images to learn the whitening from.", ge=2, scale="log")

    def configured(self, config: RunConfig) -> RunConfig:
        self._named()
        return super().configured(config)

    def judge(self, run: Run) -> Judgement:
        from lab.runs.evaluate import Evaluator, open_trained

        self._named()
        config = run.config.changed("evaluation.scales", self.knobs.scales)
        examiner = Evaluator(open_trained(run, config=config))
        sets = list(self._sets())
        whiten = yield from self._whitening(examiner)
        scores: dict[tuple[str, str], dict[str, float]] = {}
        for dataset in sets:
            split = dataset.splits["test"]
            searched = cast("np.ndarray", split.gallery)  # these sets have one
            query = whiten((yield from self._embedded(examiner, dataset, split.query, f"{dataset.name} queries")))
            gallery = whiten((yield from self._embedded(examiner, dataset, searched, f"{dataset.name} images")))
            for which, among in _galleries(dataset, gallery).items():
                scores[dataset.name, which] = yield from self._measured(examiner, dataset, query, among)
        rows = [
            measured({"set": name} | ({"gallery": which} if self.knobs.distractors else {}), values)
            for (name, which), values in scores.items()
        ]
        published = {place: values for place, values in scores.items() if place[0] != VALIDATION}
        rows += [] if len({name for name, _ in published}) < 2 else _means(published)
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

    def _whitening(self, examiner: Evaluator) -> Generator[Record, None, Callable[[EmbeddingSet], EmbeddingSet]]:
        """A function of embeddings."""
        if self.knobs.whitening == "none":
            return lambda embeddings: embeddings
        dataset = examiner.trained.dataset
        if "train" not in dataset.splits:
            raise ValueError(
                f"{dataset.name} has no training images to learn the whitening from; use --protocol.whitening none."
            )
        items = dataset.splits["train"].items
        chosen = items[np.argsort(dataset.labels[items], kind="stable")]  # whole classes, so that pairs match
        chosen = chosen[: self.knobs.images]
        seen = yield from self._embedded(examiner, dataset, chosen, "training images")
        width = self.knobs.width
        if self.knobs.whitening == "pca":
            whiten = whitening.pca(seen.vectors, width)
        else:
            whiten = whitening.learnt(seen.vectors, seen.labels, width)
        return lambda embeddings: replace(embeddings, vectors=whiten(embeddings.vectors))

    def _embedded(
        self, examiner: Evaluator, dataset: ImageSet, items: np.ndarray, what: str
    ) -> Generator[Record, None, EmbeddingSet]:
        from lab.data.images import transforms
        from lab.data.images.loading import Loader
        from lab.runs.building.parts import workers_of

        encoder = examiner.trained.encoder
        seen = transforms.whole(self.knobs.longest, encoder.mean, encoder.std)
        loader = Loader(dataset, seen, workers=workers_of(examiner.config, dataset, self.knobs.longest, 1))
        try:
            return (yield from examiner.embed(loader, items, what, batch_size=1))
        except (AssertionError, RuntimeError) as error:
            if "memory" in str(error):
                raise
            raise ValueError(
                f"{examiner.config.encoder.name} could not embed {what} in their own proportions "
                f"({' '.join(str(error).split())[:160]}); revisited needs an encoder that takes images of any shape."
            ) from error

    def _measured(
        self, examiner: Evaluator, dataset: ImageSet, query: EmbeddingSet, gallery: EmbeddingSet
    ) -> Generator[Record, None, dict[str, float]]:
        import lab.metrics
        from lab.evaluation.scores import evaluate

        metrics = {protocol: lab.metrics.create("revisited_map", protocol=protocol) for protocol in JUDGED}
        evaluation = yield from evaluate(
            query,
            gallery,
            metrics,
            similarity="cosine" if self.knobs.whitening != "none" else examiner.config.similarity,
            relevant=dataset.judged("test", query.items, gallery.items),
            device=examiner.config.training.knobs.device,
            what=f"{dataset.name} queries",
        )
        return {"mAP": evaluation.values["mAP-E"]} if dataset.name == VALIDATION else evaluation.values
