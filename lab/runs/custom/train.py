"""`lab.train`: one call from an encoder, data and a loss, each the user's own or a name, to a finished run.

`lab.resume` continues a training that was stopped, with the objects that it was begun with.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from PIL import Image
from torch import nn

from lab.core.catalog import OUTSIDE
from lab.core.explain import last_line
from lab.core.records import Record
from lab.encoders.foreign import SIDE, program_record
from lab.runs.building.parts import parts_of
from lab.runs.building.trained import read_checkpoint
from lab.runs.config import RunConfig
from lab.runs.custom import dataset
from lab.runs.custom.modules import Custom, CustomEncoder, again, custom_loss, wrong_kind
from lab.runs.execute import check_at_hand, execute, fill, new_folder
from lab.runs.folder import Run, write_images
from lab.runs.store import default_root, free_name, open_run


def _never() -> bool:
    return False


def train(
    encoder: Any = "small_cnn",
    data: Any = "emoji7",
    loss: Any = "recall_at_k",
    *,
    validation: Any = None,
    test: Any = None,
    steps: int | None = None,
    batch_size: int | None = None,
    normalise: bool | None = None,
    name: str | None = None,
    runs: Path | str | None = None,
    listen: Callable[[Record], None] | None = None,
    stop: Callable[[], bool] = _never,
    **sections: Any,
) -> Run:
    """Train, evaluate, and return the run, which the pages and commands take like any other.

    Encoder, data and loss are each your own object, a name of the catalogue, or a mapping of a name and its knobs.
    Pictures of your own data are read once and stored in the run folder. An encoder or a loss of your own is not: give
    it again later: `lab.load(run, encoder=module)`, `lab.resume(run, encoder=module, loss=callable)`.

    Args:
        encoder: a module from normalised images float32 [n 3 h w] to embeddings [n d]. It is trained in place, and
            holds the evaluated weights afterwards. Its attributes `input_size`, `mean` and `std` say how it wants its
            images, else they are at most 224 pixels wide and normalised as ImageNet's.
        data: a torch data set of (image, label): a PIL image, or a tensor [3 h w] or [1 h w] of pixels 0 to 1 (floating
            point) or 0 to 255 (uint8); a number from 0, or a word. Random changes that it makes are made once; those of
            each step are the run's own (`augmentation`).
        loss: a callable of embeddings [n d] and labels int64 [n] that returns a scalar tensor. A module's weights are
            trained along.
        validation, test: further data sets, or shares of the classes of `data` (by default a quarter each). Only
            together with data of your own.
        steps, batch_size: of the training, by default 400, and the sampler's.
        normalise: whether embeddings get unit length; by default what the loss wants.
        name: of the run, by default the time, the loss and the data.
        runs: folder of runs, by default `lab.runs.default_root()`.
        listen: called with each record, for instance `lab.core.records.Stepped`.
        stop: called in every step; True ends the training.
        sections: other sections of a configuration (`sampler`, `optimiser`, `training`, `metrics`, ...), as in YAML.

    Raises:
        ValueError: an argument does not fit, in one sentence; no run is left behind.
        lab.training.loop.Stopped: training diverged.
        OSError: the disk is full or the folder cannot be written.

    Example (`root` is that of `lab.runs`):
        >>> import lab, torch
        >>> random = torch.Generator().manual_seed(0)
        >>> data = [(torch.rand(3, 16, 16, generator=random), i % 8) for i in range(64)]
        >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 16 * 16, 8))
        >>> def loss(embeddings, labels):
        ...     same = labels[:, None] == labels[None, :]
        ...     return ((embeddings @ embeddings.T - same.float()) ** 2).mean()
        >>> run = lab.train(net, data, loss, steps=2, batch_size=8, name="own", runs=root, training={"device": "cpu"})
        >>> run.state, run.splits, len(run.dataset())
        ('finished', ('test', 'validation'), 64)
    """
    if steps is not None:
        sections["training"] = {**(sections.get("training") or {}), "steps": steps}
    if batch_size is not None:
        sections["sampler"] = {
            **_as_mapping(sections.get("sampler") or {}),
            "batch_size": batch_size,
        }
    request = _Request(encoder, data, loss, validation, test, normalise, sections)
    run, custom = request.begin(default_root(runs), name)
    return _executed(run, custom, listen, stop)


def _executed(
    run: Run, custom: Custom, listen: Callable[[Record], None] | None, stop: Callable[[], bool]
) -> Run:
    for record in execute(run, stop, custom=custom):
        if listen is not None:
            listen(record)
    return run


def resume(
    run: Run | str | Path,
    encoder: nn.Module | str | None = None,
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] | None = None,
    *,
    runs: Path | str | None = None,
    allow: Iterable[str] | str = (),
    listen: Callable[[Record], None] | None = None,
    stop: Callable[[], bool] = _never,
) -> Run:
    """Train on from the last checkpoint of a run, evaluate, and return the run.

    What `lab.train` was given as objects of your own is given again: the folder holds their weights, not their code.
    The pictures are in the folder. The result is that of a training that was never interrupted.

    Args:
        run: a run, its folder or its name.
        encoder: the program that the run was begun with, as `lab.load` takes it; its weights are replaced by those of
            the checkpoint. None for an encoder of the catalogue.
        loss: the callable that the run was begun with. None for a loss of the catalogue.
        runs: folder of runs, for a name; by default `lab.runs.default_root()`.
        allow: what a run that another account wrote may read outside its folder: `paths`, `downloads`, `addresses`.
        listen, stop: as `lab.train` has them.

    Raises:
        ValueError: there is no such run, an object is missing or one too many, or does not fit the checkpoint; the run
            is then as it was.
        lab.training.loop.Stopped: training diverged.
        OSError: the disk is full or the folder cannot be written.

    Example (`root` is that of `lab.runs`):
        >>> import lab, torch
        >>> random = torch.Generator().manual_seed(0)
        >>> data = [(torch.rand(3, 16, 16, generator=random), i % 8) for i in range(64)]
        >>> def net():
        ...     return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 16 * 16, 8))
        >>> known = {"name": "to-go-on", "runs": root, "training": {"device": "cpu"}}
        >>> run = lab.train(net(), data, "smooth_ap", steps=3, batch_size=8, stop=lambda: True, **known)
        >>> run.state, run.status["step"]
        ('stopped', 1)
        >>> lab.resume("to-go-on", encoder=net(), runs=root).state
        'finished'
    """
    run = open_run(run, runs, allow)
    config = run.config
    if loss is not None and not config.loss.outside:
        raise ValueError(
            f"This run was trained with {config.loss.name}, which is built by itself; leave loss out."
        )
    own_encoder = None if encoder is None else again(encoder, run)
    own_loss = None if loss is None else custom_loss(loss)
    custom = Custom(own_encoder, own_loss)
    check_at_hand(run, custom)
    _check_fit(run, custom)
    return _executed(run, custom, listen, stop)


def _check_fit(run: Run, custom: Custom) -> None:
    """Refuse objects that do not fit the last checkpoint, before anything is written; the others get its weights."""
    if run.checkpoint("last") is None:
        return
    parts = parts_of(run.config, run.dataset(), custom)
    if custom.loss is not None:
        custom.loss.try_out(cast(int, parts.encoder.trained_dim))
    _, state = read_checkpoint(run, "last")
    for name in ("encoder", "loss"):
        if getattr(custom, name) is not None:
            try:
                getattr(parts, name).load_state_dict(state[name])
            except RuntimeError as error:
                raise ValueError(
                    f"The {name} does not fit run {run.name}: {last_line(error)}"
                ) from None


@dataclass(frozen=True)
class _Request:
    """The arguments of `train`.

    Raises:
        ValueError: encoder, data or loss is neither a name nor of the expected kind.
    """

    encoder: Any
    data: Any
    loss: Any
    validation: Any
    test: Any
    normalise: bool | None
    sections: Mapping[str, Any]

    def __post_init__(self) -> None:
        if not (_named(self.encoder) or isinstance(self.encoder, nn.Module)):
            raise ValueError(wrong_kind("encoder", self.encoder, "a torch.nn.Module"))
        if not (_named(self.data) or dataset.is_dataset(self.data)):
            raise ValueError(wrong_kind("data", self.data, "a torch data set with a length"))
        if not _named(self.loss):
            custom_loss(self.loss)
        if _named(self.data) and not (self.validation is None and self.test is None):
            raise ValueError(
                "validation and test go with data of your own; catalogued data has knobs for them, for instance "
                "data={'name': 'class_folders', 'root': ..., 'validation': 0.2}."
            )

    def config(self, data: Mapping[str, Any] | None = None, **encoder: Any) -> RunConfig:
        """Return the configuration; the user's own parts are in it by their names.

        Args:
            data, encoder: facts about the user's own data and encoder, once they were examined.
        """
        sections = dict(self.sections)
        custom: dict[str, dict[str, Any]] = {}
        for section, part in (("data", self.data), ("encoder", self.encoder), ("loss", self.loss)):
            if _named(part):
                sections[section] = part
            else:
                custom[section] = {
                    "name": OUTSIDE,
                    "what": str(getattr(part, "__name__", type(part).__name__)),
                }
        if "data" in custom:
            custom["data"] = {"name": OUTSIDE, **(data or {})}
        if "encoder" in custom:
            custom["encoder"] |= {"normalise": self.unit, **encoder}
        elif self.normalise is not None:
            sections["encoder"] = {**_as_mapping(self.encoder), "normalise": self.normalise}
        # a stored configuration may name entries that are not installed; a new one may not
        RunConfig.of(sections)
        return RunConfig.of({**sections, **custom}, stored=True)

    @property
    def unit(self) -> bool:
        """Whether embeddings get unit length."""
        if self.normalise is not None or not _named(self.loss):
            return self.normalise is not False
        return bool(RunConfig.of({"loss": self.loss}).encoder.values["normalise"])

    def begin(self, root: Path, name: str | None) -> tuple[Run, Custom]:
        """Create a queued run after checking that it can be trained; return it with the user's own parts of it."""
        config = self.config()  # a wrong name or knob is reported before any image is read
        named = name or free_name(
            root, f"{time.strftime('%Y%m%d-%H%M%S')}-{config.loss.name}-{config.data.name}"
        )
        with new_folder(root, named) as folder:
            listed = None
            encoder = None
            data_facts = None
            # The user's own images are listed in the run's folder.
            if not _named(self.data):
                seed = config.training.knobs.seed
                listed = dataset.keep(folder, self.data, self.validation, self.test, seed)
                data_facts = listed.knobs.model_dump()
                config = self.config(data_facts)
                write_images(folder, listed, config)
            # Images have the size of the augmentation or of the encoder, else that of the first picture.
            if not _named(self.encoder):
                size = config.augmentation.knobs.size or getattr(self.encoder, "input_size", None)
                if size is None and listed is not None:
                    with Image.open(folder / str(listed.root) / listed.keys[0]) as first:
                        size = min(SIDE, *first.size)
                encoder = CustomEncoder(self.encoder, int(size or SIDE), self.unit)
                config = self.config(data_facts, dim=encoder.dim)
                config = config.changed("augmentation.size", encoder.input_size)
            if encoder is not None and config.training.knobs.whitening:
                raise ValueError(
                    "training: whitening starts the last layer of our encoders; leave it out for your own."
                )
            # Build everything once, so that errors appear before the run is in its place.
            config = fill(folder, config)
            program = None if encoder is None else program_record(self.encoder)
            loss = None if _named(self.loss) else custom_loss(self.loss)
            custom = Custom(encoder, loss, program)
            parts = parts_of(config, Run(folder).dataset(), custom)
            if custom.loss is not None:
                custom.loss.try_out(cast(int, parts.encoder.trained_dim))
        run = Run(root / named)
        run.config = (
            config  # the user's own words, so that this process may run a program that they name
        )
        return run, custom


def _as_mapping(part: str | Mapping[str, Any]) -> dict[str, Any]:
    return {"name": part} if isinstance(part, str) else dict(part)


def _named(part: Any) -> bool:
    """Return whether it names an entry of a catalogue."""
    return isinstance(part, str | Mapping)
