"""A run from its first step, or from where it was interrupted, to its scores: a generator of records."""

from __future__ import annotations

import secrets
import shutil
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.core import ownership, records
from lab.core.explain import explain
from lab.core.files import check_allowed, to_disk, write_json, write_text
from lab.core.formats import counted
from lab.core.records import Batched, Evaluated, Note, Record, Saving, Stepped, Validated
from lab.core.words import PROGRAM
from lab.runs import lock, stop_request
from lab.runs.config import RunConfig, difference
from lab.runs.folder import FAILED, FINISHED, INTERRUPTED, QUEUED, RUNNING, STOPPED, Run, working
from lab.runs.management import trash
from lab.runs.store import check_name, default_root, free_name
from lab.runs.threads import is_small, limited, training_threads
from lab.runs.writer import Writer

if TYPE_CHECKING:
    from lab.data import ImageSet
    from lab.runs.custom.modules import Custom
    from lab.training.distributed import Processes
    from lab.training.loop import Parts, Trainer

CHANGEABLE = ("optimiser", "schedule", "training", "testing", "metrics", "evaluation")
FIXED = ("training.seed", "training.whitening")
"""Sections whose knobs may change when a run is resumed, and knobs of them that may not."""

HEARTBEAT = 1.0
"""Least seconds between two status files while all is well."""


def create(config: RunConfig, root: Path | str | None = None, name: str | None = None) -> Run:
    """Make a run folder below `root` (by default `default_root()`), queued; training is `execute`.

    Args:
        name: of the folder; by default the time, the loss and the data set. A run of that name that ended before its
            first step makes room: it goes to the trash.

    Raises:
        ValueError: a run of that name exists, or the name is no plain file name.
        OSError: the disk is full or the folder cannot be written; the name is then as free as it was.

    Example (`config` and `root` are those of `lab.runs`):
        >>> fresh = lab.runs.create(config, root, "second")
        >>> fresh.state, sorted(path.name for path in fresh.path.iterdir())
        ('queued', ['.lock', 'config.yaml', 'owner.json', 'status.json'])
    """
    check_allowed()
    root = default_root(root)
    if name is None:
        name = free_name(
            root, f"{time.strftime('%Y%m%d-%H%M%S')}-{config.loss.name}-{config.data.name}"
        )
    with new_folder(root, name) as half_made:
        config = fill(half_made, config)
    run = Run(root / name)
    run.config = (
        config  # a person's own words, so that this process may run a program that they name
    )
    return run


@contextmanager
def new_folder(root: Path, name: str) -> Iterator[Path]:
    """Yield a folder to fill; if the block ends well it becomes the run of that name, else it is deleted.

    Raises:
        ValueError: a run of that name exists, or the name is no plain file name.
    """
    check_available(root, name)
    folder = root / name
    half_made = root / f".{name}.{secrets.token_hex(4)}.tmp"
    try:
        half_made.mkdir(parents=True)
        making = lock.take(half_made)  # such a folder without a lock was left behind
        yield half_made
        if folder.exists():
            check_available(root, name)  # again: another process may have taken the name meanwhile
            trash(Run(folder))
        half_made.rename(folder)
        to_disk(root)
        making.release()
    except BaseException:
        shutil.rmtree(half_made, ignore_errors=True)
        check_available(root, name)  # another process may have been quicker
        raise


def check_available(root: Path | str, name: str) -> None:
    """Refuse a name that `create` would refuse.

    Raises:
        ValueError: it is no plain file name, or another run has it.

    Example (`run` and `root` are those of `lab.runs`):
        >>> lab.runs.check_available(root, "first")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ValueError: There is a run 'first' in ... already; choose another name or resume that one.
    """
    check_name(name)
    folder = Path(root) / name
    is_abandoned = False
    if (folder / "config.yaml").is_file():
        run = Run(folder)
        is_abandoned = (
            run.state in (FAILED, STOPPED, INTERRUPTED) and not run.begun and not working(run)
        )
    if folder.exists() and not is_abandoned:
        raise ValueError(
            f"There is a run {name!r} in {root} already; choose another name or resume that one."
        )


def fill(folder: Path, config: RunConfig) -> RunConfig:
    """Write the files of a queued run into a new folder; return its configuration, with absolute paths."""
    for choice in config.choices:
        choice.check()  # from here on the words in the file count as this account's own
    write_status(folder, QUEUED, "waiting", config.training.knobs.steps)
    config = findable(config)
    if config.training.knobs.precision == "auto":
        from lab.evaluation.mixed_precision import chosen  # brings torch
        from lab.kernels.devices import device_or_cpu

        config = config.changed(
            "training.precision", chosen("auto", device_or_cpu(config.training.knobs.device))
        )
    write_text(folder / "config.yaml", config.as_yaml())
    ownership.sign(folder, "config.yaml")
    return config


def write_status(folder: Path, state: str, phase: str, steps: int, sentence: str = "") -> None:
    """Write the first status.json of a folder that nobody else knows yet."""
    status = {
        "state": state,
        "phase": phase,
        "step": 0,
        "steps": steps,
        "sentence": sentence,
        "updated": time.time(),
    }
    write_json(folder / "status.json", status)


def findable(config: RunConfig) -> RunConfig:
    """Return the configuration with absolute data paths: runs are resumed and browsed from other folders."""
    for knob, path in tuple(config.paths()):
        config = config.changed(knob, str(path))
    return config


def _never() -> bool:
    return False


def execute(
    run: Run,
    stop: Callable[[], bool] = _never,
    processes: Processes | None = None,
    custom: Custom | None = None,
) -> Iterator[Record]:
    """Train and evaluate a run, from its last checkpoint if it has one; writes the folder, yields every record.

    Args:
        stop: called in every step; if it returns True, or the folder holds a request (`lab runs stop` from another
            machine), the run saves a checkpoint and ends as `stopped`.
        processes: the processes that share the batches; only the first writes the folder and measures, the others
            train and embed along.
        custom: the encoder and loss that `lab.train` was given, where the configuration does not name a catalogued one.

    Raises:
        ValueError: the data, a choice or the device does not fit; the status then says so, too.
        lab.training.loop.Stopped: training diverged; the batch is in the folder `failure`.
        OSError: the disk is full or a file cannot be written. The folder stays readable.

    Example (`config` and `root` are those of `lab.runs`):
        >>> short = lab.runs.create(config, root, "short")
        >>> records = list(lab.runs.execute(short, stop=lambda: True))
        >>> short.state, short.status["step"]  # asked to stop at once; executed again, it goes on from there
        ('stopped', 1)
    """
    changed = go_by_checkpoint(run)
    check_at_hand(run, custom)
    if processes is not None and not processes.first:
        yield from _along(run, stop, processes)
        return
    with Writer(run) as writer:
        # else a request that was left while it waited is for this training
        if not run.snapshot().under_way:
            stop_request.clear(run)
        if changed:
            run.write_config(run.config)
            writer.log(changed)
            yield Note(changed)
        try:
            execution = _Execution(run, writer, stop_request.poll(run, stop), processes, custom)
            yield from _recorded(writer, execution)
        finally:
            stop_request.clear(run)


def go_by_checkpoint(run: Run) -> str:
    """Set `run.config` to the configuration of its last checkpoint; paths of data, the device and the processes may
    have changed since and are those of config.yaml.

    Returns a sentence on other differences of config.yaml; empty if there are none, or nothing was trained yet.
    """
    from lab.training import checkpoint

    path = run.checkpoint("last")
    try:
        stored = checkpoint.config_in(path) if path else None
    except ValueError:  # it is damaged, which is reported when it is read
        stored = None
    if stored is None:  # of version 0.2 or before
        return ""
    config = RunConfig.of(stored, stored=True, rights=run.rights())
    goes_on = "the training goes on by the checkpoint, and it is written anew"
    try:
        written = run.config
    except (ValueError, OSError) as error:
        run.config = _restored(run, config)
        return f"config.yaml cannot be used ({explain(error).rstrip('.')}); {goes_on}."
    movable = {path for path, _ in config.paths()} | {"training.device", "training.workers"}
    # Take from config.yaml what may change; report every other difference.
    changed = difference(config, written)
    for knob in movable & changed.keys():
        section, _, name = knob.partition(".")
        if name in (run.config_dict.get(section) or {}):
            config = config.changed(knob, changed.pop(knob)[1])
    run.config = _restored(run, config)
    if not changed:
        return ""
    facts = []
    for knob, (kept, written_value) in changed.items():
        facts.append(f"{knob} is {written_value} there and {kept} in the checkpoint")
    return f"config.yaml was changed: {', '.join(facts)}; {goes_on}. --config FILE takes a change."


def _restored(run: Run, config: RunConfig) -> RunConfig:
    """Return the configuration of a checkpoint, with the rights of config.yaml as it is or as it is written again."""
    if not ownership.is_own(run.path, "config.yaml"):
        return config.with_rights(run.rights(content=config.as_yaml().encode()))
    return config


def take_config(run: Run, config: RunConfig) -> None:
    """Replace the configuration of a run that is resumed, in its last checkpoint and in config.yaml.

    Raises:
        ValueError: it differs in a knob that cannot change during a training; names the first such knob.
    """
    from lab.training import checkpoint

    go_by_checkpoint(run)
    config = findable(config)
    for knob, (kept, given) in difference(run.config, config).items():
        if knob.partition(".")[0] not in CHANGEABLE or knob.endswith(".name") or knob in FIXED:
            raise ValueError(
                f"{knob} is {kept} in the run and {given} in the file: a run that goes on keeps its data, network, "
                "batches, loss and seed. Train a new one for that."
            )
    with Writer(run) as writer:
        path = run.checkpoint("last")
        state = checkpoint.load(path) if path else {"progress": {"step": 0}}
        step = state["progress"]["step"]
        if step > config.training.knobs.steps:
            raise ValueError(
                f"training.steps is {config.training.knobs.steps}, and the run made {step} already; give more."
            )
        if path:
            checkpoint.save(path, {**state, "config": config.as_dict()})
        run.write_config(config)
        writer.log("The training goes on by the configuration given with --config.")


def take_over(run: Run) -> None:
    """Make a run this account's own, after a person has allowed all that its files name: the queue, which has no flags,
    may then go on with its training.

    Raises:
        ValueError: its files name something that was not allowed.
    """
    run.rights().check(reference for reference in run.references() if reference.kind != PROGRAM)
    for name in ("config.yaml", "images.json"):
        if (run.path / name).is_file():
            ownership.sign(run.path, name)


def check_at_hand(run: Run, custom: Custom | None = None) -> None:
    """Refuse to train if encoder or loss are neither in the run's folder nor given again; the run stays as it is.

    Raises:
        ValueError: says what is missing and how to go on.
    """
    try:
        config = run.config
    except (ValueError, OSError):
        return  # the error is reported, and stored in the folder, when the training begins
    if config.imported:
        raise ValueError(
            f"Run {run.name} holds embeddings that were made elsewhere, so there is nothing to train."
        )
    if run.state == FINISHED and run.checkpoint("last") is None:
        raise ValueError(
            f"Run {run.name} is finished and came without its last checkpoint, so its training cannot go on; train it "
            f"anew: lab train --config {run.path / 'config.yaml'}."
        )
    # Which parts of the user's own are not given?
    missing = {}
    for name in ("encoder", "loss"):
        choice = getattr(config, name)
        if choice.outside and getattr(custom, name, None) is None:
            missing[name] = choice.values.get("what")
    if config.program and config.rights is not None and getattr(custom, "encoder", None) is None:
        missing["encoder"] = config.program
    if list(missing) == ["encoder"]:
        raise ValueError(
            f"Run {run.name} was trained with an encoder of your own ({missing['encoder']}), which its folder does not "
            f"hold, and no program is run because a file names it; give it again: lab train --resume {run.name} "
            f"--encoder MODULE:FUNCTION, or lab.resume({run.name!r}, encoder=...)."
        )
    if missing:
        articles = {"encoder": "an encoder", "loss": "a loss"}
        named = " and ".join(f"{articles[name]} ({what})" for name, what in missing.items())
        again = ", ".join(f"{name}=..." for name in missing)
        raise ValueError(
            f"Run {run.name} was trained with {named} of your own, which its folder does not hold; go on in Python "
            f"and give it again: lab.resume({run.name!r}, {again})."
        )


def _recorded(writer: Writer, execution: _Execution) -> Iterator[Record]:
    """Yield the records of an execution, and write into the folder how it ends."""
    try:
        yield from execution.records()
    except GeneratorExit:
        with suppress(OSError):
            writer.status(STOPPED, phase="stopped", sentence="Stopped between two checkpoints.")
        raise
    except BaseException as error:
        state = FAILED
        sentence = "Interrupted."
        if isinstance(error, KeyboardInterrupt):
            state = STOPPED
        else:
            sentence = explain(error, resumable=True)
        trace = traceback.format_exc()
        with suppress(OSError):  # a full disk must not hide why the run ended
            writer.log(f"{sentence}\n{trace}")
        with suppress(OSError):
            writer.status(state, phase=state, sentence=sentence)
        raise


def _along(run: Run, stop: Callable[[], bool], processes: Processes) -> Iterator[Record]:
    """Train as one of several processes that is not the first: write nothing."""
    from lab.runs.building.on_features import on_features, start_from_whitening
    from lab.runs.building.parts import parts_of
    from lab.runs.evaluate import embed_along
    from lab.training.loop import Trainer

    config = run.config
    dataset = run.dataset(changed=True)
    parts = yield from on_features(parts_of(config, dataset), config, dataset, run.path.parent)
    trainer = Trainer(parts, config.training.knobs, run.path / "checkpoints", processes, stop)
    if not trainer.resume() and config.training.knobs.whitening:
        yield from start_from_whitening(config, dataset, parts)
    yield from trainer.run()
    if trainer.progress.step == config.training.knobs.steps:
        processes.from_first("")  # its checkpoints are written
        yield from embed_along(run, processes, dataset)


class _Execution:
    def __init__(
        self,
        run: Run,
        writer: Writer,
        stop: Callable[[], bool],
        processes: Processes | None,
        custom: Custom | None,
    ):
        self.run = run
        self.writer = writer
        self.stop = stop
        self.processes = processes
        self.custom = custom

    def records(self) -> Iterator[Record]:
        """Yield all records; one thread does all the work where the network is small."""
        import torch

        from lab.kernels.devices import device_or_cpu

        config = self.run.config
        threads = 1 if is_small(config) else torch.get_num_threads()
        with limited(threads, device_or_cpu(config.training.knobs.device)):
            yield from self._records()

    def _records(self) -> Iterator[Record]:
        from lab.core.installed.environment import meta
        from lab.data.images.folders import problems_sentence
        from lab.runs.building.on_features import on_features, start_from_whitening
        from lab.runs.building.parts import parts_of
        from lab.training.loop import Trainer

        config = self.run.config
        knobs = config.training.knobs
        self.writer.claim()
        self.writer.status(RUNNING, phase="loading", steps=knobs.steps, sentence="")
        # Load the data, build what trains, and tell what a reader of the run should know.
        dataset = self.run.dataset(changed=True)
        self.writer.images(dataset)
        parts = yield from on_features(
            parts_of(config, dataset, self.custom), config, dataset, self.run.path.parent
        )
        self.writer.describe(meta(str(parts.device)) | self._program(config))
        problems = problems_sentence(dataset.problems) if dataset.problems else ""
        for sentence in (dataset.classes_sentence, problems, dataset.unlabelled_sentence):
            if sentence:
                yield self._kept(Note(sentence))

        # Continue from the last checkpoint, or begin.
        trainer = Trainer(parts, knobs, self.run.path / "checkpoints", self.processes, self.stop)
        done = trainer.resume()
        self.writer.truncate(done)
        if knobs.whitening and not done:
            yield from start_from_whitening(config, dataset, parts)
        if done:
            yield self._kept(Note(f"Resumed after step {done}."))
        yield Note(
            announcement(config, parts, 1 if self.processes is None else self.processes.world)
        )
        untrained = None
        # The first frame of the map is the untrained encoder; the signs before training read it, too.
        if (
            parts.validator is not None
            and knobs.keep_frames
            and not done
            and self.processes is None
        ):
            untrained = yield from parts.validator.embedded(parts.encoder, parts.validator.query)
            self.writer.moment(0, vars(untrained), knobs.keep_frames)
        if not done:
            for record in trainer.checkups.before(untrained):
                yield self._kept(record)
        yield from self._trained(trainer)
        step = trainer.progress.step
        if step < knobs.steps:
            self.writer.status(
                STOPPED, phase="stopped", step=step, sentence=f"Stopped after step {step}."
            )
            return

        yield from self._evaluated(dataset, parts)

    def _evaluated(self, dataset: ImageSet, parts: Parts) -> Iterator[Record]:
        """Measure the trained network on every split, and end the run."""
        from lab.data.images.folders import problems_sentence
        from lab.runs.evaluate import evaluate_run

        steps = self.run.config.training.knobs.steps
        self.writer.status(RUNNING, phase="evaluating", step=steps, eta_seconds=None)
        scores: dict[str, Any] = {}
        if self.processes is not None:
            self.processes.from_first("its checkpoints are written")
        encoder = None if self.custom is None else self.custom.encoder
        # Measure; a request to stop ends it between two splits.
        evaluated = evaluate_run(
            self.run,
            self.writer,
            dataset=dataset,
            encoder=encoder,
            processes=self.processes,
            stop=self.stop,
        )
        for record in evaluated:
            yield self._kept(record)
            if isinstance(record, Evaluated):
                scores[record.split] = record.as_json()["values"]  # NaN has no place in JSON
        if self.stop():
            self.writer.status(STOPPED, phase="stopped", sentence="Stopped during the evaluation.")
            return
        problems = list(dict.fromkeys([*parts.loader.image_set.problems, *parts.loader.problems]))
        if problems:  # repeated here: the first note is out of sight after hours of training
            yield self._kept(Note(problems_sentence(problems)))
        self.writer.status(FINISHED, phase="finished", scores=scores, sentence="", eta_seconds=None)

    def _program(self, config: RunConfig) -> dict[str, Any]:
        """Return the part of meta.json on the program that makes the network: its words and its digest."""
        program: Any = None if self.custom is None else self.custom.program
        if program is None and config.program and config.rights is None:
            from lab.encoders.foreign import program_record

            program = program_record(config.program)
        return {} if program is None else {"program": dict(program)}

    def _trained(self, trainer: Trainer) -> Iterator[Record]:
        import torch

        from lab import kernels
        from lab.training.loop import Stopped

        first = True
        device = trainer.parts.device.type
        try:
            with limited(training_threads(self.run.config, torch.get_num_threads()), device):
                for record in trainer.run():
                    yield self._kept(record)
                    if first:  # not before, or the first step would wait for a compiler
                        self.writer.describe({"kernels": kernels.path(str(trainer.parts.device))})
                    first = False
        except Stopped as stopped:
            self.writer.of_step("failure", stopped.step, stopped.batch, {"sentence": str(stopped)})
            self.writer.status(RUNNING, step=stopped.step)
            raise

    def _kept(self, record: Record) -> Record:
        """Write a record to the folder, and return it."""
        knobs = self.run.config.training.knobs
        if not isinstance(record, records.TRANSIENT):
            self.writer.append({**record.as_json(), "at": round(time.time(), 3)})
        if isinstance(record, Stepped):
            values = record.as_json()  # without NaN
            facts = {name: values[name] for name in ("step", "steps", "loss", "eta_seconds")}
            self.writer.status(RUNNING, every=HEARTBEAT, phase="training", **facts)
        elif isinstance(record, records.Embedding | records.Searching):
            self.writer.status(RUNNING, every=HEARTBEAT)  # a sign of life: validating can take long
        elif isinstance(record, Saving):
            self.writer.sync()
        elif isinstance(record, Note):
            self.writer.log(record.sentence)
        elif isinstance(record, Batched) and knobs.keep_batches:
            self.writer.of_step(
                "batches", record.step, record.tensors, {"loss": record.loss}, knobs.keep_batches
            )
        elif isinstance(record, Validated) and knobs.keep_frames:
            self.writer.moment(record.step, vars(record.embeddings), knobs.keep_frames)
        return record


def announcement(config: RunConfig, parts: Parts, processes: int = 1) -> str:
    """Return a line on what is about to be trained."""
    knobs = config.training.knobs
    wrapped = "".join(f" in {wrapper.name}" for wrapper in config.wrappers)
    line = (
        f"Training {config.encoder.name} with {config.loss.name}{wrapped} on {config.data.name}: "
        f"{len(parts.items):,} images of {len(parts.classes):,} classes, {knobs.steps:,} steps of "
        f"{config.sampler.knobs.batch_size:,} images"
    )
    workers = parts.loader.workers
    if workers:
        line += f", loaded ahead by {counted(workers, 'process', 'processes')}"
    line += f", on {parts.device}"
    if processes > 1:
        statistics = {"shared": "over all of them", "refuse": "refused"}[knobs.processes_batchnorm]
        line += f", shared by {processes} processes (batch normalisation {statistics})"
    return f"{line}."
