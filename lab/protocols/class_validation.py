"""Choose settings on classes that neither train nor test, then look at the test once."""

from __future__ import annotations

import math
from collections.abc import Generator

from lab.core.estimates import Estimate
from lab.core.knobs import Knobs, knob
from lab.core.records import Note, Record
from lab.protocols._base import Judgement, Protocol, lean, scores_of, seeds, with_test, with_validation
from lab.protocols._bench import Bench, RunDiverged
from lab.protocols._outcome import OutcomeRow
from lab.protocols._selection import cell, changed, grid, validation_score
from lab.runs.config import RunConfig

FIXED = ("data.", "evaluation.splits", "evaluation.checkpoint", "training.select_by")
"""What decides who validates and how: the same for every candidate."""


class ClassValidation(Protocol):
    """Split the training classes: some train, the others validate; the best settings then meet the test once.

    Which classes validate is drawn by the data's split seed; RS@k takes the second half of them in their own order.

    Candidates are every combination of `vary`. Each is trained on a part of the training classes and ranked by
    `training.select_by` on the others; no candidate ever embeds a test image. With `retrain`, as RS@k does it, the
    winner is trained once more on all training classes, for as many steps, and its last checkpoint is tested;
    candidates are then judged by their last checkpoint, too, and the number of steps may be varied like any knob.
    Without it, the winner's best checkpoint on the validation classes is tested.
    """

    source = "RS@k, section 4.2; DML deck, training with test set feedback"

    class Knobs(Knobs):
        vary: tuple[str, ...] = knob((), "Settings to vary, as SECTION.KNOB=VALUE:VALUE; empty: a single candidate.")
        validation: float = knob(
            0.5,
            "Fraction of the training classes that are kept for validation.",
            gt=0,
            lt=1,
            source="RS@k, section 4.2",
        )
        retrain: bool = knob(True, "Train the best candidate again on all training classes.")
        seeds: int = knob(1, "Number of trainings of the best candidate, each with another seed.", ge=1, le=1000)

    def conduct(self, config: RunConfig, bench: Bench) -> Judgement:
        candidates = grid(self.knobs.vary)
        if fixed := [path for path in candidates[0] if path.startswith(FIXED)]:
            raise ValueError(
                f"{self.name}: {fixed[0]} cannot be varied; candidates differ in how they train, and all are judged by "
                "the same score on the same validation classes."
            )
        base = self._candidate(config)
        dataset = base.data.create()
        with_test(dataset, self.name)
        with_validation(dataset, self.name)
        configs = [changed(base, settings) for settings in candidates]  # refuses what is illegal before any training
        rows, scores = [], []
        bench.ahead({f"candidate-{i}": candidate for i, candidate in enumerate(configs)})
        for i, (settings, candidate) in enumerate(zip(candidates, configs, strict=True)):
            try:
                run = yield from bench.trained(f"candidate-{i}", candidate)
            except RunDiverged as diverged:
                yield Note(str(diverged))
                scores.append(-math.inf)
                continue
            scores.append(validation_score(run))
            values = {f"{c}, validation": Estimate.of([v]) for c, v in scores_of(run, "validation").items()}
            rows.append(OutcomeRow({"settings": cell(settings)}, values))
        best = max(range(len(scores)), key=scores.__getitem__)
        if scores[best] == -math.inf:
            raise ValueError(f"None of the {len(scores)} candidates reached a number; lower the learning rate.")
        final = yield from self._tested(changed(self._final(config), candidates[best]), bench)
        rows.append(OutcomeRow({"settings": f"chosen: {cell(candidates[best])}"}, final))
        return self.outcome(rows, "seeds of the chosen settings", self._notes(config, len(candidates)))

    def _candidate(self, config: RunConfig) -> RunConfig:
        if "validation" not in config.data.values:
            raise ValueError(f"{config.data.name} has no training classes that could validate; choose other data.")
        config = lean(config).changed("data.validation", self.knobs.validation)
        config = config.changed("evaluation.splits", ("validation",))
        return config.changed("evaluation.checkpoint", "last" if self.knobs.retrain else "best")

    def _final(self, config: RunConfig) -> RunConfig:
        config = self._candidate(config).changed("evaluation.splits", ("test",))
        return config.changed("data.validation", 0.0) if self.knobs.retrain else config

    def _tested(self, config: RunConfig, bench: Bench) -> Generator[Record, None, dict[str, Estimate]]:
        scores: dict[str, list[float]] = {}
        of_seed = {seed: config.changed("training.seed", seed) for seed in seeds(config, self.knobs.seeds)}
        bench.ahead({f"chosen-seed-{seed}": changed for seed, changed in of_seed.items()})
        for seed in of_seed:
            run = yield from bench.trained(f"chosen-seed-{seed}", of_seed[seed])
            for column, value in scores_of(run, "test").items():
                scores.setdefault(f"{column}, test", []).append(value)
        return {column: Estimate.of(values) for column, values in scores.items()}

    def _notes(self, config: RunConfig, candidates: int) -> list[str]:
        by = config.training.knobs.select_by
        how = "trained again on all training classes" if self.knobs.retrain else "its best checkpoint tested"
        return [
            f"{candidates} candidates, chosen by {by} on {self.knobs.validation:g} of the training classes; the winner "
            f"was {how}. The test was looked at once."
        ]
