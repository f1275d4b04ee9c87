"""Choose settings on classes that neither train nor test, then look at the test once."""

from __future__ import annotations

import math

from lab.core.knobs import knob
from lab.protocols._base import Judgement, Protocol, lean, scores_of, seeded, with_test, with_validation
from lab.protocols._outcome import measured
from lab.protocols._selection import cell, grid, validation_score
from lab.runs.config import RunConfig
from lab.runs.folder import Run
from lab.sweeps import Bench, changed

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

    vary: tuple[str, ...] = knob(
        "Settings to vary, as SECTION.KNOB=VALUE:VALUE; empty: a single candidate.", default=()
    )
    validation: float = knob(
        "Fraction of the training classes kept for validation.", default=0.5, gt=0, lt=1, source="RS@k, section 4.2"
    )
    retrain: bool = knob("Train the best candidate again on all training classes.", default=True)
    seeds: int = knob("Number of trainings of the best candidate, each with another seed.", default=1, ge=1, le=1000)

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
        settings = {f"candidate-{i}": one for i, one in enumerate(candidates)}
        configs = {name: changed(base, one) for name, one in settings.items()}  # refuses what is illegal beforehand
        runs = yield from bench.trained(configs, skip_diverged=True)
        rows = [measured({"settings": cell(settings[name])}, _named(run, "validation")) for name, run in runs.items()]
        scores = {name: validation_score(run) for name, run in runs.items()}
        best = max(scores, key=scores.__getitem__, default=None)
        if best is None or scores[best] == -math.inf:
            raise ValueError(f"None of the {len(candidates)} candidates reached a number; lower the learning rate.")
        final = self._candidate(config).changed("evaluation.splits", ("test",))
        final = changed(final.changed("data.validation", 0.0) if self.knobs.retrain else final, settings[best])
        tested = yield from bench.trained(seeded(final, self.knobs.seeds, "chosen-"))
        chosen = {"settings": f"chosen: {cell(settings[best])}"}
        rows.append(measured(chosen, *(_named(run, "test") for run in tested.values())))
        how = "trained again on all training classes" if self.knobs.retrain else "its best checkpoint tested"
        note = (
            f"{len(candidates)} candidates, chosen by {config.training.knobs.select_by} on {self.knobs.validation:g} "
            f"of the training classes; the winner was {how}. The test was looked at once."
        )
        return self.outcome(rows, "seeds of the chosen settings", [note])

    def _candidate(self, config: RunConfig) -> RunConfig:
        if "validation" not in config.data.values:
            raise ValueError(f"{config.data.name} has no training classes that could validate; choose other data.")
        return changed(
            lean(config),
            {
                "data.validation": self.knobs.validation,
                "evaluation.splits": ("validation",),
                "evaluation.checkpoint": "last" if self.knobs.retrain else "best",
            },
        )


def _named(run: Run, split: str) -> dict[str, float]:
    """A run's scores, each column with its split."""
    return {f"{column}, {split}": value for column, value in scores_of(run, split).items()}
