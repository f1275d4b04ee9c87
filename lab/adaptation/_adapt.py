"""Both runs made, and what is to be said of them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from lab.adaptation._comparison import Comparison, compare, compare_on
from lab.adaptation._plan import BASELINE, Plan, plan_head
from lab.core.records import Record
from lab.core.streams import result_of
from lab.encoders import OUTPUT
from lab.encoders.adapted import Adapted
from lab.integrations.importing.run import plain_name
from lab.runs.building.layer_features import keep_layers
from lab.runs.building.on_features import features_state
from lab.runs.building.parts import encoder_and_loss
from lab.runs.execute import create, execute, findable
from lab.runs.folder import FINISHED, Run
from lab.runs.store import default_root, free_name, list_runs


@dataclass(frozen=True)
class Adaptation:
    """run: with the head. baseline: the run of the network as it came. comparison: both on the same queries.
    others: both on other data."""

    run: Run
    baseline: Run
    comparison: Comparison
    others: tuple[Comparison, ...] = ()

    @property
    def sentences(self) -> list[str]:
        """The verdict, and one for each other data set."""
        return [self.comparison.sentence, *(one.sentence for one in self.others)]


def adapt_steps(
    plan: Plan,
    also: Sequence[str] = (),
    name: str | None = None,
    runs: Path | str | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Generator[Record, None, Adaptation | None]:
    """Measure the network as it came, unless that was done before with these weights on these images; train and measure
    the head; yields progress.

    Args:
        also: other data to measure both on; see `compare_on`. name: of the run. stop: asked in every step.

    Returns:
        None if it was stopped.
    """
    root = default_root(runs)
    stem = plain_name(plan.stem)[:70]
    baseline = _measured_before(plan, root)
    yield from _embedded_once(plan, root)
    if baseline is None:
        # what cannot be built is refused before there is a run of it
        encoder_and_loss(plan.baseline, num_classes=2)
        baseline = create(plan.baseline, root, free_name(root, f"{stem}-{BASELINE}"))
        yield from execute(baseline, stop)
    run = create(plan.head, root, name or free_name(root, f"{stem}-{_kind(plan)}"))
    yield from execute(run, stop)
    if FINISHED not in (run.state, baseline.state) or run.state != baseline.state:
        return None
    found = []
    for data in dict.fromkeys(also):
        found.append((yield from compare_on(baseline, run, data)))
    return Adaptation(run, baseline, compare(baseline, run), tuple(found))


def _embedded_once(plan: Plan, root: Path) -> Generator[Record, None, None]:
    """Make the features of both runs in one pass, where the head is put on a layer: the baseline needs the output.

    A layer or a whitening that the network does not have is refused here, before there is a run.
    """
    encoder = cast(Adapted, encoder_and_loss(plan.head, num_classes=2)[0])
    if encoder.layer_used == OUTPUT:
        return
    yield from keep_layers(encoder, plan.head, plan.images, root, (OUTPUT, encoder.layer_used))


def _kind(plan: Plan) -> str:
    """What the run is called after its source: its layer, its whitening, its head."""
    knobs = plan.head.encoder.knobs
    parts = []
    if knobs.layer is not None:
        parts.append(f"layer{knobs.layer}")
    if knobs.whiten is not None:
        parts.append(f"whitened{knobs.whiten}")
    if knobs.dim is not None:
        parts.append(knobs.head)
    return "-".join(parts)


def baseline_of(run: Run, runs: Iterable[Run]) -> Run | None:
    """Of some runs the finished one that measured the network as it came, on which this run trained a head: with the
    same weights, on the same images. Runs of version 0.2 say only where these were."""

    def features(one: Run) -> tuple:
        values = one.config.encoder.values
        return (
            one.config.encoder.name,
            one.config.data.as_dict(),
            *map(values.get, ("base", "weights", "vectors")),
        )

    mine = features(run)
    if mine[0] != "adapted":
        return None
    for one in runs:
        if (
            one.name == run.name
            or features(one) != mine
            or one.config.encoder.values["dim"] is not None
        ):
            continue
        if one.state == FINISHED and _states(one) == _states(run):
            return one
    return None


def _states(run: Run) -> set[Any]:
    """What the splits of a run on features tell of the network's weights and of the images; None for those of version
    0.2. A run that was measured again after something changed has several."""
    return {run.header(split).get("features") for split in run.splits}


def _measured_before(plan: Plan, root: Path) -> Run | None:
    """A finished run of a plan's baseline that used the weights, or vectors, and the images as they are now."""
    wanted = findable(plan.baseline).as_dict()
    finished = (
        run
        for run in list_runs(root)
        if run.name.partition(f"-{BASELINE}")[1] and run.state == FINISHED
    )
    alike = [run for run in finished if run.config_dict == wanted]
    if not alike:
        return None
    encoder, _ = encoder_and_loss(plan.baseline, num_classes=2)
    now = features_state(cast(Adapted, encoder), plan.baseline, plan.images)
    found = next((run for run in alike if _states(run) == {now}), None)
    if found is not None:
        # a person has typed the same again, so this process may run a program it names
        found.config = plan.baseline
    return found


def adapt(
    source: Run | Path | str, *, also: Sequence[str] = (), name: str | None = None, runs: Path | str | None = None,
    listen: Callable[[Record], object] = lambda _: None, **choices: Any,
) -> Adaptation:  # fmt: skip
    """Keep a network and train a head on its features: seconds, where training the network takes minutes.

    Args:
        source: a run, its name or folder, with vectors of your own, too; a folder of class folders; or a data set's
            name.
        also: other data to measure both on: what was lost elsewhere?
        name, runs: of the run, and its folder.
        listen: called with each record.
        choices: `encoder`, `weights`, `loss`, `head`, `dim` and sections, as `plan_head` takes them.

    Raises:
        ValueError: a head cannot be trained on it; one sentence.

    Example (`root` is that of `lab.runs`):
        >>> import lab, numpy
        >>> random = numpy.random.default_rng(0)
        >>> kinds = numpy.repeat(numpy.arange(12), 6)
        >>> centres = random.normal(size=(12, 8))
        >>> points = numpy.c_[centres[kinds], 3 * random.normal(size=(72, 8))]  # half of the numbers are noise
        >>> source = lab.runs.from_embeddings(
        ...     points.astype("float32"), [f"kind {k}" for k in kinds], normalise=True, name="mine", runs=root
        ... )
        >>> made = lab.adapt(source, head="linear", dim=8, runs=root, training={"steps": 60, "device": "cpu"})
        >>> made.run.name, made.baseline.name, made.comparison.split
        ('mine-linear', 'mine-as-it-came', 'test')
    """
    generator = adapt_steps(plan_head(source, runs=runs, **choices), also, name, runs)
    made = result_of(generator, listen)
    assert made is not None, "nobody stopped it"
    return made
