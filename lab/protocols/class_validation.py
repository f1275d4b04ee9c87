"""Choose settings on classes that neither train nor test, then look at the test once."""

from __future__ import annotations

import math

from lab.core.knobs import knob
from lab.protocols._base import (
    Judgement,
    Protocol,
    one_run_per_seed,
    require_test_split,
    require_validation_split,
    scores_of,
    without_recordings,
)
from lab.protocols._outcome import summarise
from lab.protocols._selection import cell, grid, validation_score
from lab.runs.config import RunConfig
from lab.runs.folder import Run
from lab.sweeps import Bench, changed

FIXED = ("data.", "evaluation.splits", "evaluation.checkpoint", "training.select_by")
"""Settings that decide which classes validate and how; they are the same for every candidate."""


class ClassValidation(Protocol):
    """Split the training classes: some train, the others validate; the best settings are then tested once.

    The split seed of the data draws the validation classes; RS@k takes the second half of the classes in their order.

    The candidates are all combinations of `vary`. Each candidate is trained on a part of the training classes and
    ranked by `training.select_by` on the others; no candidate embeds a test image. With `retrain`, as in RS@k, the
    best candidate is trained once more on all training classes, for the same number of steps, and its last checkpoint
    is tested; candidates are then judged by their last checkpoint, too, and the number of steps may be varied.
    Without `retrain`, the best checkpoint of the best candidate is tested.
    """

    source = "RS@k, section 4.2; DML deck, training with test set feedback"

    vary: tuple[str, ...] = knob(
        "Settings to vary, as SECTION.KNOB=VALUE:VALUE; empty: a single candidate.", default=()
    )
    validation: float = knob(
        "Fraction of the training classes kept for validation.",
        default=0.5,
        gt=0,
        lt=1,
        source="RS@k, section 4.2",
    )
    retrain: bool = knob("Train the best candidate again on all training classes.", default=True)
    seeds: int = knob(
        "Number of trainings of the best candidate, each with another seed.",
        default=1,
        ge=1,
        le=1000,
    )

    def conduct(self, config: RunConfig, bench: Bench) -> Judgement:
        candidates = grid(self.knobs.vary)

        # Refuse settings and data that do not fit before anything is trained.
        fixed = [path for path in candidates[0] if path.startswith(FIXED)]
        if fixed:
            raise ValueError(
                f"{self.name}: {fixed[0]} cannot be varied; candidates differ in how they train, and all are judged by "
                "the same score on the same validation classes."
            )
        base = self._candidate(config)
        dataset = base.data.create()
        require_test_split(dataset, self.name)
        require_validation_split(dataset, self.name)
        settings = {f"candidate-{i}": candidate for i, candidate in enumerate(candidates)}
        configs = {name: changed(base, candidate) for name, candidate in settings.items()}

        # Train every candidate and rank them on the validation classes.
        runs = yield from bench.trained(configs, skip_diverged=True)
        rows = []
        scores = {}
        for name, run in runs.items():
            rows.append(
                summarise({"settings": cell(settings[name])}, _split_scores(run, "validation"))
            )
            scores[name] = validation_score(run)
        best = max(scores, key=scores.__getitem__, default=None)
        if best is None or scores[best] == -math.inf:
            raise ValueError(
                f"None of the {len(candidates)} candidates reached a number; lower the learning rate."
            )

        # Train the best candidate with several seeds and test each run.
        final = self._candidate(config).changed("evaluation.splits", ("test",))
        if self.knobs.retrain:
            final = final.changed("data.validation", 0.0)
        final = changed(final, settings[best])
        tested = yield from bench.trained(one_run_per_seed(final, self.knobs.seeds, "chosen-"))
        chosen = {"settings": f"chosen: {cell(settings[best])}"}
        rows.append(summarise(chosen, *(_split_scores(run, "test") for run in tested.values())))

        if self.knobs.retrain:
            how = "trained again on all training classes"
        else:
            how = "its best checkpoint tested"
        note = (
            f"{len(candidates)} candidates, chosen by {config.training.knobs.select_by} on {self.knobs.validation:g} "
            f"of the training classes; the winner was {how}. The test was looked at once."
        )
        return self.outcome(rows, "seeds of the chosen settings", [note])

    def _candidate(self, config: RunConfig) -> RunConfig:
        if "validation" not in config.data.values:
            raise ValueError(
                f"{config.data.name} has no training classes that could validate; choose other data."
            )
        return changed(
            without_recordings(config),
            {
                "data.validation": self.knobs.validation,
                "evaluation.splits": ("validation",),
                "evaluation.checkpoint": "last" if self.knobs.retrain else "best",
            },
        )


def _split_scores(run: Run, split: str) -> dict[str, float]:
    """Return a run's scores by column and split, such as `MAP@R, test`."""
    return {f"{column}, {split}": value for column, value in scores_of(run, split).items()}
