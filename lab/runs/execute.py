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
"""Sections whose knobs a run may change when it goes on, and knobs of them that it may not."""

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
        name = free_name(root, f"{time.strftime('%Y%m%d-%H%M%S')}-{config.loss.name}-{config.data.name}")
    with new_folder(root, name) as half_made:
        config = fill(half_made, config)
    run = Run(root / name)
    run.config = config  # as a person typed it, so that this process may run a program that it names
    return run


@contextmanager
def new_folder(root: Path, name: str) -> Iterator[Path]:
    """Yield a folder to fill; when the block ends well it is the run of that name, else it goes.

    Raises:
        ValueError: a run of that name exists, or the name is no plain file name.
    """
    check_available(root, name)
    folder, half_made = root / name, root / f".{name}.{secrets.token_hex(4)}.tmp"
    try:
        half_made.mkdir(parents=True)
        making = lock.take(half_made)  # what is left behind under such a name, and is not locked, nobody finishes
        yield half_made
        if folder.exists():
            check_available(root, name)  # again: the name may have been taken meanwhile
            trash(Run(folder))
        half_made.rename(folder)
        to_disk(root)
        making.release()
    except BaseException:
        shutil.rmtree(half_made, ignore_errors=True)
        check_available(root, name)  # somebody else may have been quicker
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
    run = Run(folder) if (folder / "config.yaml").is_file() else None
    refused = run and run.state in (FAILED, STOPPED, INTERRUPTED) and not run.begun and not working(run)
    if folder.exists() and not refused:
        raise ValueError(f"There is a run {name!r} in {root} already; choose another name or resume that one.")


def fill(folder: Path, config: RunConfig) -> RunConfig:
    """Write into a new folder what a queued run has; return its configuration, whose paths hold from anywhere."""
    for choice in config.choices:
        choice.check()  # what this account writes counts as its own words from here on
    write_status(folder, QUEUED, "waiting", config.training.knobs.steps)
    config = findable(config)
    if config.training.knobs.precision == "auto":
        from lab.evaluation.mixed_precision import chosen  # brings torch
        from lab.kernels.devices import device_or_cpu

        config = config.changed("training.precision", chosen("auto", device_or_cpu(config.training.knobs.device)))
    write_text(folder / "config.yaml", config.as_yaml())
    ownership.sign(folder, "config.yaml")
    return config


def write_status(folder: Path, state: str, phase: str, steps: int, sentence: str = "") -> None:
    """Write the first status.json of a folder that nobody else knows yet."""
    status = {"state": state, "phase": phase, "step": 0, "steps": steps, "sentence": sentence, "updated": time.time()}
    write_json(folder / "status.json", status)


def findable(config: RunConfig) -> RunConfig:
    """The configuration with data paths that hold from any working folder: runs are resumed and browsed elsewhere."""
    for knob, path in tuple(config.paths()):
        config = config.changed(knob, str(path))
    return config


def execute(
    run: Run,
    stop: Callable[[], bool] = lambda: False,
    processes: Processes | None = None,
    custom: Custom | None = None,
) -> Iterator[Record]:
    """Train and evaluate a run, from its last checkpoint if it has one; writes the folder, yields every record.

    Args:
        stop: asked in every step; when it says yes, or somebody left a request in the folder (`lab runs stop` from
            another machine), the run saves a checkpoint and ends as `stopped`.
        processes: those that share the batches; only the first writes the folder and measures, the others train and
            embed along.
        custom: the encoder and loss that `lab.train` was given, where the configuration does not name one of ours.

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
        if not run.snapshot().under_way:  # else a request that was left while it waited is meant for this training
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
    """Let `run.config` be what its last checkpoint was trained by; where data lies, and the device and processes that
    are used, may have changed since and are those of config.yaml.

    Returns a sentence on what else config.yaml says otherwise; empty where it says nothing else, or nothing was trained
    yet.
    """
    from lab.training import checkpoint

    path = run.checkpoint("last")
    try:
        stored = checkpoint.config_in(path) if path else None
    except ValueError:  # it is damaged, which is said when it is read
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
    changed = difference(config, written)
    for knob in movable & changed.keys():
        section, _, name = knob.partition(".")
        if name in (run.config_dict.get(section) or {}):
            config = config.changed(knob, changed.pop(knob)[1])
    run.config = _restored(run, config)
    facts = ", ".join(
        f"{knob} is {there} there and {kept} in the checkpoint" for knob, (kept, there) in changed.items()
    )
    return f"config.yaml was changed: {facts}; {goes_on}. --config FILE takes a change." if facts else ""


def _restored(run: Run, config: RunConfig) -> RunConfig:
    """The configuration of a checkpoint, with the rights of config.yaml as it is now or as this writes it anew."""
    if not ownership.is_own(run.path, "config.yaml"):
        return config.with_rights(run.rights(content=config.as_yaml().encode()))
    return config


def take_config(run: Run, config: RunConfig) -> None:
    """Let a run go on by another configuration: its last checkpoint and config.yaml hold that one from now on.

    Raises:
        ValueError: it differs in what a training cannot change on its way; names the first such knob.
    """
    from lab.training import checkpoint

    go_by_checkpoint(run)
    config = findable(config)
    for knob, (kept, there) in difference(run.config, config).items():
        if knob.partition(".")[0] not in CHANGEABLE or knob.endswith(".name") or knob in FIXED:
            raise ValueError(
                f"{knob} is {kept} in the run and {there} in the file: a run that goes on keeps its data, network, "
                "batches, loss and seed. Train a new one for that."
            )
    with Writer(run) as writer:
        path = run.checkpoint("last")
        state = checkpoint.load(path) if path else {"progress": {"step": 0}}
        if (step := state["progress"]["step"]) > config.training.knobs.steps:
            raise ValueError(
                f"training.steps is {config.training.knobs.steps}, and the run made {step} already; give more."
            )
        if path:
            checkpoint.save(path, {**state, "config": config.as_dict()})
        run.write_config(config)
        writer.log("The training goes on by the configuration given with --config.")


def take_over(run: Run) -> None:
    """Make a run this account's own, after a person has allowed all that its files name: its training may then go on in
    the queue, which has no flags.

    Raises:
        ValueError: its files name something that was not allowed.
    """
    run.rights().check(one for one in run.references() if one.kind != PROGRAM)
    for name in ("config.yaml", "images.json"):
        if (run.path / name).is_file():
            ownership.sign(run.path, name)


def check_at_hand(run: Run, custom: Custom | None = None) -> None:
    """Refuse to train what a run's folder does not hold and nobody has given again; the run stays as it is.

    Raises:
        ValueError: says what is missing and how to go on.
    """
    try:
        config = run.config
    except (ValueError, OSError):
        return  # what is wrong with it is said, and kept in the folder, when the training begins
    if config.imported:
        raise ValueError(f"Run {run.name} holds embeddings that were made elsewhere, so there is nothing to train.")
    if run.state == FINISHED and run.checkpoint("last") is None:
        raise ValueError(
            f"Run {run.name} is finished and came without its last checkpoint, so its training cannot go on; train it "
            f"anew: lab train --config {run.path / 'config.yaml'}."
        )
    missing = {
        name: getattr(config, name).values.get("what")
        for name in ("encoder", "loss")
        if getattr(config, name).outside and getattr(custom, name, None) is None
    }
    if config.program and config.rights is not None and getattr(custom, "encoder", None) is None:
        missing["encoder"] = config.program
    if list(missing) == ["encoder"]:
        raise ValueError(
            f"Run {run.name} was trained with an encoder of your own ({missing['encoder']}), which its folder does not "
            f"hold, and no program is run because a file names it; give it again: lab train --resume {run.name} "
            f"--encoder MODULE:FUNCTION, or lab.resume({run.name!r}, encoder=...)."
        )
    if missing:
        called = " and ".join(f"{'an' if name == 'encoder' else 'a'} {name} ({what})" for name, what in missing.items())
        again = ", ".join(f"{name}=..." for name in missing)
        raise ValueError(
            f"Run {run.name} was trained with {called} of your own, which its folder does not hold; go on in Python "
            f"and give it again: lab.resume({run.name!r}, {again})."
        )


def _recorded(writer: Writer, execution: _Execution) -> Iterator[Record]:
    """The records of an execution, while the folder is told how it ends."""
    try:
        yield from execution.records()
    except GeneratorExit:
        with suppress(OSError):
            writer.status(STOPPED, phase="stopped", sentence="Stopped between two checkpoints.")
        raise
    except BaseException as error:
        sentence = "Interrupted." if isinstance(error, KeyboardInterrupt) else explain(error, resumable=True)
        state = STOPPED if isinstance(error, KeyboardInterrupt) else FAILED
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
        self, run: Run, writer: Writer, stop: Callable[[], bool], processes: Processes | None, custom: Custom | None
    ):
        self.run, self.writer, self.stop, self.processes, self.custom = run, writer, stop, processes, custom

    def records(self) -> Iterator[Record]:
        """Yield what happens, all of it in one thread where the network is small."""
        import torch

        from lab.kernels.devices import device_or_cpu

        config, available = self.run.config, torch.get_num_threads()
        threads = 1 if is_small(config) else available
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
        dataset = self.run.dataset(changed=True)
        self.writer.images(dataset)
        parts = yield from on_features(parts_of(config, dataset, self.custom), config, dataset, self.run.path.parent)
        self.writer.describe(meta(str(parts.device)) | self._program(config))
        problems = problems_sentence(dataset.problems) if dataset.problems else ""
        for sentence in (dataset.classes_sentence, problems, dataset.unlabelled_sentence):
            if sentence:
                yield self._kept(Note(sentence))

        trainer = Trainer(parts, knobs, self.run.path / "checkpoints", self.processes, self.stop)
        done = trainer.resume()
        self.writer.truncate(done)
        if knobs.whitening and not done:
            yield from start_from_whitening(config, dataset, parts)
        if done:
            yield self._kept(Note(f"Resumed after step {done}."))
        yield Note(announcement(config, parts, 1 if self.processes is None else self.processes.world))
        untrained = None
        if parts.validator is not None and knobs.keep_frames and not done and self.processes is None:
            untrained = yield from parts.validator.embedded(parts.encoder, parts.validator.query)
            self.writer.moment(0, vars(untrained), knobs.keep_frames)
        if not done:
            for record in trainer.checkups.before(untrained):
                yield self._kept(record)
        yield from self._trained(trainer)
        if (step := trainer.progress.step) < knobs.steps:
            self.writer.status(STOPPED, phase="stopped", step=step, sentence=f"Stopped after step {step}.")
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
        given: dict[str, Any] = {"dataset": dataset, "encoder": self.custom and self.custom.encoder}
        for record in evaluate_run(self.run, self.writer, **given, processes=self.processes, stop=self.stop):
            yield self._kept(record)
            if isinstance(record, Evaluated):
                scores[record.split] = record.as_json()["values"]  # NaN has no place in JSON
        if self.stop():
            self.writer.status(STOPPED, phase="stopped", sentence="Stopped during the evaluation.")
            return
        problems = list(dict.fromkeys([*parts.loader.image_set.problems, *parts.loader.problems]))
        if problems:  # said again here: what was said before hours of training is out of sight
            yield self._kept(Note(problems_sentence(problems)))
        self.writer.status(FINISHED, phase="finished", scores=scores, sentence="", eta_seconds=None)

    def _program(self, config: RunConfig) -> dict[str, Any]:
        """What meta.json keeps of the program that makes the network: its words and its digest."""
        given: Any = None if self.custom is None else self.custom.program
        if given is None and config.program and config.rights is None:
            from lab.encoders.foreign import program_record

            given = program_record(config.program)
        return {} if given is None else {"program": dict(given)}

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
                    if first:  # not before: whoever waits for the first step should not wait for a compiler
                        self.writer.describe({"kernels": kernels.path(str(trainer.parts.device))})
                    first = False
        except Stopped as stopped:
            self.writer.of_step("failure", stopped.step, stopped.batch, {"sentence": str(stopped)})
            self.writer.status(RUNNING, step=stopped.step)
            raise

    def _kept(self, record: Record) -> Record:
        """Write what a record says to the folder, and hand it on."""
        knobs = self.run.config.training.knobs
        if not isinstance(record, records.TRANSIENT):
            self.writer.append({**record.as_json(), "at": round(time.time(), 3)})
        if isinstance(record, Stepped):
            told = record.as_json()  # without NaN
            facts = {name: told[name] for name in ("step", "steps", "loss", "eta_seconds")}
            self.writer.status(RUNNING, every=HEARTBEAT, phase="training", **facts)
        elif isinstance(record, records.Embedding | records.Searching):
            self.writer.status(RUNNING, every=HEARTBEAT)  # a sign of life: validating can take long
        elif isinstance(record, Saving):
            self.writer.sync()
        elif isinstance(record, Note):
            self.writer.log(record.sentence)
        elif isinstance(record, Batched) and knobs.keep_batches:
            self.writer.of_step("batches", record.step, record.tensors, {"loss": record.loss}, knobs.keep_batches)
        elif isinstance(record, Validated) and knobs.keep_frames:
            self.writer.moment(record.step, vars(record.embeddings), knobs.keep_frames)
        return record


def announcement(config: RunConfig, parts: Parts, processes: int = 1) -> str:
    """What is about to be trained, in one line."""
    knobs = config.training.knobs
    wrapped = "".join(f" in {wrapper.name}" for wrapper in config.wrappers)
    statistics = {"shared": "over all of them", "refuse": "refused"}
    workers = parts.loader.workers
    loaded = f", loaded ahead by {counted(workers, 'process', 'processes')}" if workers else ""
    among = f", shared by {processes} processes (batch normalisation {statistics[knobs.processes_batchnorm]})"
    return (
        f"Training {config.encoder.name} with {config.loss.name}{wrapped} on {config.data.name}: "
        f"{len(parts.items):,} images of {len(parts.classes):,} classes, {knobs.steps:,} steps of "
        f"{config.sampler.knobs.batch_size:,} images{loaded}, on {parts.device}{among if processes > 1 else ''}."
    )
