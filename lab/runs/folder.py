"""A run is a folder. `Run` reads one, whatever state it is in; `lab.runs.writer` writes it.

    config.yaml              what was asked for, complete
    meta.json                versions, git, host, process number and its create time, resumptions
    status.json              state, phase, step, sentence; replaced atomically
    images.json              the list of its images, where these are files
    pictures/                those images themselves, where `lab.train` was given them as Python objects
    launch.json              the process that was started in the background, if one was
    sent.json                the cluster that it was handed to, if it was, and the process that sees it through
    metrics.jsonl            one record a line
    log.txt                  what the process said
    checkpoints/             best.safetensors (weights), last.safetensors (everything needed to go on)
    embeddings/SPLIT.safetensors, scores/SPLIT.json, scores/SPLIT.safetensors (one value a query)
    batches/, frames/        batches as the loss saw them; validation embeddings over time
    maps/                    two-dimensional maps of the embeddings, see `lab.maps.kept`
    failure/                 the batch at which training stopped
    remarks.json, marks.json what people wrote of the run, and of single images
    relevance.json        of version 0.2: which images people found right or wrong for which query
    threshold.json        which similarity means the same; see `lab.threshold`
    owner.json            which files this account wrote; see `lab.core.ownership`

Reading imports no torch, except for `dataset`; `lab.runs.building.trained` reads the weights.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from lab.core import arrays, ownership, stored
from lab.core.catalog import OUTSIDE
from lab.core.explain import quoted
from lab.core.files import parse_json, whole, write_json, write_text
from lab.core.image_list import PICTURES, ImageList
from lab.core.results import EmbeddingSet, no_class
from lab.core.stored import MOST_LISTED
from lab.core.words import ADDRESS, EVERYTHING, PATH, PATHS
from lab.runs import boundary, lock
from lab.runs.boundary import Reference, Rights
from lab.runs.config import SECTIONS, RunConfig, read_yaml
from lab.runs.process import Sent, Worker
from lab.runs.schemas import LONG, Measured, record_of, schema_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from lab.data import ImageSet
    from lab.evaluation.identity import Pictures

STATES = ("queued", "running", "stopped", "failed", "finished", "interrupted", "damaged")
QUEUED, RUNNING, STOPPED, FAILED, FINISHED, INTERRUPTED, DAMAGED = STATES
"""States of a run. `interrupted` (its process is gone without a word) and `damaged` (no readable status) are found
out when a folder is read; the others are written."""

ENDED = (STOPPED, FAILED, FINISHED, INTERRUPTED)
"""States that are written when nobody works on a run any more."""

SENT = "sent.json"
"""Where a run was handed over to; see `lab.launchers.background.detached`."""

PUBLISHED = "published"
"""The checkpoint of a folder that `lab export --to huggingface` wrote, which holds nothing else of a run."""

EMBEDDED = {"vectors": "float n d", "labels": "int n", "items": "int n"}
"""Arrays of a file of embeddings, as `arrays.check_shapes` reads it."""

STALE = 120.0
"""Seconds without a sign of life after which a run of another host, whose lock may not be seen, is interrupted."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True)
class Origin:
    """Which weights embeddings and scores are of.

    checkpoint: `best` or `last`, `outside` for what was made elsewhere, None where a file does not tell.
    step: the training step that it was written after. steps: of the whole training, None where that is not told.
    """

    checkpoint: str | None
    step: int
    steps: int | None

    @property
    def words(self) -> str:
        """For people: `best checkpoint, step 800 of 1,000`."""
        if self.checkpoint is None:
            return "of an unknown checkpoint"
        if self.checkpoint == OUTSIDE:
            return f"made elsewhere, step {self.step:,}" if self.step else "made elsewhere"
        of = "" if self.steps is None else f" of {self.steps:,}"
        return f"{self.checkpoint} checkpoint, step {self.step:,}{of}"


@dataclass(frozen=True)
class Snapshot:
    """What the small files of a run say at one moment, each read once.

    status: status.json with the state that holds now: `state`, `phase`, `step`, `steps`, `sentence`, `updated`, ...
    written_state: the state as it stands there, whatever became of the process. meta: meta.json, empty without one.
    worker: the process that last worked on the run. launched: the one that was last started for it in the background.
    sender, place, job: the process that handed it to a cluster, which one, and what that calls it; None otherwise.
    """

    status: dict[str, Any]
    written_state: str | None
    meta: dict[str, Any]
    worker: Worker | None
    launched: Worker | None
    sender: Worker | None
    place: Sent | None
    job: str | None

    @property
    def state(self) -> str:
        """The state that holds now."""
        return self.status["state"]

    @property
    def seen_through(self) -> bool:
        """Whether a process of this machine sees the run through elsewhere, at work or waiting for its turn."""
        return (
            self.sender is not None
            and self.sender.alive
            and self.written_state in (QUEUED, RUNNING)
        )

    @property
    def under_way(self) -> bool:
        """Whether the run is in the hands of a cluster, at work or waiting for its turn."""
        return self.seen_through or (self.state == QUEUED and self.sender is not None)

    @property
    def process(self) -> Worker | None:
        """The living process of the run on this host."""
        return next(
            (one for one in (self.launched, self.worker) if one is not None and one.alive), None
        )


def is_run(folder: Path) -> bool:
    """Whether a folder is a run, be it a damaged one: it holds config.yaml, or what only runs hold."""
    return any((folder / name).exists() for name in ("config.yaml", "meta.json", "checkpoints"))


class Run:
    """One run folder. Every property reads the disk anew, except the configuration.

    Args:
        allow: what the words of its files may name, though another account wrote them: some of `EVERYTHING`.

    Raises:
        ValueError: the folder is no run: it has no config.yaml; or there is no such right.

    Example (`run` is that of `lab.runs`):
        >>> run.state, len(run.metrics("stepped"))
        ('finished', 4)
        >>> run.embeddings("test").vectors.shape[1]  # so wide are the embeddings
        128
        >>> 0 <= run.scores("test")["values"]["MAP@R"] <= 1
        True
    """

    def __init__(self, path: Path | str, allow: Iterable[str] | str = ()):
        self.path, self.allow = Path(path), boundary.chosen(allow)
        if not is_run(self.path):
            raise ValueError(f"{self.path} is no run: it holds no config.yaml.")

    def with_rights(self, allow: Iterable[str] | str) -> Run:
        """Return this run with further rights; itself where it has them."""
        if boundary.chosen(allow) <= self.allow:
            return self
        return Run(self.path, self.allow | boundary.chosen(allow))

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    @property
    def name(self) -> str:
        return self.path.name

    @cached_property
    def config_dict(self) -> dict[str, Any]:
        """config.yaml: section to its knobs, or to a list of entries with their knobs; needs no torch.

        Raises:
            ValueError: it is no such file. Names and values are not checked here.
        """
        if not (self.path / "config.yaml").exists():
            raise ValueError(
                f"{self.path} lost its config.yaml; `lab train --resume {self.name}` writes it anew."
            )
        return _sections(read_yaml(self.file("config.yaml")), self.path / "config.yaml")

    @cached_property
    def config(self) -> RunConfig:
        """config.yaml, checked against the declared knobs; `missing` names the entries that are not here.

        Raises:
            ValueError: the file asks for something else that this version does not know.
        """
        return RunConfig.of(self.config_dict, stored=True, rights=self.rights())

    def rights(self, name: str = "config.yaml", content: bytes | None = None) -> Rights:
        """What the words of one of its files may name: everything but programs where this account wrote that file.

        Args:
            content: what the file held, instead of what it holds now.
        """
        what, roots, fetched = f"Run {self.name}", boundary.roots(), fetched_files(self.path)
        if roots is not None:
            return Rights(what, self.path, below=(*roots, *fetched), on_page=True)
        own = ownership.is_own(self.path, name, content)
        return Rights(what, self.path, EVERYTHING if own else self.allow, fetched)

    def references(self) -> tuple[Reference, ...]:
        """List what its files name outside the catalogues, and whether that may be read; nothing of it is read.

        Raises:
            ValueError: its configuration cannot be read.
        """
        found = list(self.config.references(self.rights()))
        if root := self.find("images.json").get("root"):
            found.append(self._images_root(root))
        if address := self.find(SENT).get("address"):
            found.append(self.rights(SENT).reference("sent.address", ADDRESS, address))
        return tuple(found)

    def _images_root(self, root: str) -> Reference:
        """The folder that its list of images names."""
        root = str(self.path.resolve() / PICTURES) if root == PICTURES else root
        return self.rights("images.json").reference("images.root", PATH, root)

    def config_of(self, split: str = "test") -> RunConfig:
        """The configuration that the stored embeddings of a split were made with; `lab evaluate` may change it."""
        header, scores = self.header(split), self.scores(split) or {}
        config = self.config
        for section in ("evaluation", "testing"):  # version 0.2 recorded no testing
            made_by = header.get(section) or scores.get(section)
            if made_by is not None:
                config = config.changed(section, made_by)
        return config

    def header(self, split: str) -> dict[str, Any]:
        """What stands beside the stored embeddings of a split; empty without any."""
        if not NAME.fullmatch(str(split)) or not (path := self.embeddings_file(split)).is_file():
            return {}
        return arrays.header(path, Measured)

    def snapshot(self) -> Snapshot:
        """What the small files say now; to be passed on where several of its values are needed."""
        status, meta, launch, sent = (
            self.find(name) for name in ("status.json", "meta.json", "launch.json", SENT)
        )
        worker, launched, sender = map(self._worker_here, (meta.get("worker"), launch, sent))
        written = status.get("state")
        if not (self.path / "config.yaml").exists():
            status = {
                "state": DAMAGED,
                "sentence": "The run lost its config.yaml; `lab runs check` says what to do.",
            }
        elif written not in STATES:
            status = {
                "state": DAMAGED,
                "sentence": "The run has no readable status.json; resuming writes it anew.",
            }
        elif (
            written == RUNNING
            and not lock.held(self.path)
            and not reports_from_elsewhere(status, worker)
        ):
            status |= {"state": INTERRUPTED, "sentence": lost_sentence(status)}
        elif (
            written == QUEUED and launched is not None and launched.alive
        ):  # it loads what it needs
            status |= {"state": RUNNING, "phase": "starting"}
        elif written == QUEUED and launched is not None:
            status |= {
                "state": INTERRUPTED,
                "sentence": "The process ended before it began; the log may say why.",
            }
        elif (
            written == QUEUED
            and sender
            and sender.here
            and not sent.get("outlives")
            and not sender.alive
        ):
            status |= {
                "state": INTERRUPTED,
                "sentence": "The process that had sent it to a cluster has ended.",
            }
        place = (
            Sent(sent["launcher"], sent.get("address"), sent.get("knobs") or {})
            if sent.get("launcher")
            else None
        )
        return Snapshot(status, written, meta, worker, launched, sender, place, sent.get("job"))

    @property
    def sent_to(self) -> Sent | None:
        """The cluster that it was handed to the last time, to be handed to again; None for an address that another
        account wrote."""
        place = self.snapshot().place
        if place is None or place.address is None:
            return place
        return (
            place
            if self.rights(SENT).reference("sent.address", ADDRESS, place.address).allowed
            else None
        )

    @property
    def status(self) -> dict[str, Any]:
        """status.json with the state that holds now; see `Snapshot`."""
        return self.snapshot().status

    @property
    def state(self) -> str:
        """The state that holds now."""
        return self.status["state"]

    @property
    def written_state(self) -> str | None:
        """The state as status.json has it, whatever became of the process."""
        return self.find("status.json").get("state")

    @property
    def meta(self) -> dict[str, Any]:
        """meta.json; empty while there is none."""
        return self.find("meta.json")

    @property
    def begun(self) -> bool:
        """Whether a training step was ever made."""
        return self.checkpoint("last") is not None or bool(self.metrics("stepped"))

    def signed(self, worker: Worker) -> dict[str, Any]:
        """A process as it is written into this folder: with the folder's own number, which a copy does not have, and a
        mark of this account."""
        record = {**worker.as_dict(), "folder": os.stat(self.path).st_ino}
        return {**record, "mark": ownership.mark_of(json.dumps(record, sort_keys=True))}

    def may_end(self, worker: Worker) -> bool:
        """Whether this account wrote into this folder that the process works on it. Others could name any process."""
        here = {**worker.as_dict(), "folder": os.stat(self.path).st_ino}
        words = json.dumps(here, sort_keys=True)
        records = self.find("launch.json"), self.meta.get("worker") or {}
        return any(ownership.is_mark_of(record.get("mark"), words) for record in records)

    def _worker_here(self, record: Any) -> Worker | None:
        """A process that was written into this very folder: in a copy it is the original's, which a copy must not
        stop."""
        worker = Worker.read(record)
        if worker is not None and worker.here and self.path.is_dir():
            inode = os.stat(self.path).st_ino
            return worker if record.get("folder", inode) == inode else None
        return worker

    def metrics(self, kind: str | None = None) -> list[dict[str, Any]]:
        """The records of metrics.jsonl, all or of one kind (`stepped`, ...); lines that hold none, as a kill leaves
        the last, are left out."""
        path = self.path / "metrics.jsonl"
        content = b""
        if path.is_file():
            with open(self.file("metrics.jsonl"), "rb") as file:
                # a file with a hole in it can be larger than any memory
                content = file.read(MOST_LISTED)
        records = map(stored_record, content.split(b"\n"))
        return [record for record in records if record and kind in (None, record["kind"])]

    def log_tail(self, size: int = 20_000) -> str:
        """The last `size` bytes of log.txt."""
        if not (self.path / "log.txt").is_file():
            return ""
        with open(self.file("log.txt"), "rb") as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - size))
            return log.read(size).decode("utf-8", errors="replace")

    def file(self, name: str) -> Path:
        """Return the path of one of its files, named from the folder on; all readers of stored files take it from here.

        Raises:
            ValueError: it, or the folder that it lies in, is a link that leads out of the run's folder, and this
                account did not make that; or the name itself leads out.
        """
        path = self.path / name
        if ".." in path.parts[len(self.path.parts) :] or name.startswith("/"):
            raise ValueError(
                f"Run {self.name} has no file {quoted(name)}, which would lie outside its folder."
            )
        if path.is_symlink() or ("/" in name and path.parent.is_symlink()):
            rights = self.rights()
            rights.check([rights.reference(name, PATH, str(whole(path)))])
        return path

    def read(self, name: str) -> Any:
        """Return what one of its JSON files holds, checked by its schema; see `lab.runs.schemas.FILES`.

        Raises:
            ValueError: it does not fit its schema, or is a link that leads elsewhere; names the file and the field.
            OSError: it is not there or cannot be read.
        """
        return stored.read(
            self.file(name), schema_of(name), MOST_LISTED if name in LONG else stored.MOST_BYTES
        )

    def find(self, name: str) -> dict[str, Any]:
        """Return what `read` returns; an empty object where there is no file, or one that cannot be read."""
        try:
            return self.read(name)
        except (OSError, ValueError):
            return {}

    def checkpoint(self, name: str) -> Path | None:
        """Path of the `best` or `last` checkpoint, or of the weights of a folder that was `published`; or None."""
        file = "model.safetensors" if name == PUBLISHED else f"checkpoints/{name}.safetensors"
        return self.file(file) if (self.path / file).is_file() else None

    def used_checkpoint(self, name: str | None = None) -> str | None:
        """Which checkpoint is used where `name` is asked for, by default the one that the configuration evaluates:
        that one, or `last` where it is not there. None without any."""
        name_or_default = name or self.config.evaluation.knobs.checkpoint
        return next(
            (one for one in (name_or_default, "last", PUBLISHED) if self.checkpoint(one)), None
        )

    def embeddings_file(self, split: str) -> Path:
        """Return the path of the embeddings of a split, be they there or not."""
        return self.file(f"embeddings/{split}.safetensors")

    @property
    def splits(self) -> tuple[str, ...]:
        """Splits that have been embedded."""
        return tuple(sorted(p.stem for p in (self.path / "embeddings").glob("[!.]*.safetensors")))

    @overload
    def embeddings(self, split: str = "test", part: Literal["query"] = "query") -> EmbeddingSet: ...
    @overload
    def embeddings(self, split: str, part: Literal["gallery"]) -> EmbeddingSet | None: ...
    def embeddings(self, split: str = "test", part: str = "query") -> EmbeddingSet | None:
        """Embeddings of a split's queries, or of its gallery (None: they are searched among each other).

        Raises:
            ValueError: the split has not been embedded; says how to. Or its file is damaged.
        """
        path = self.embeddings_file(split)
        if part != "query" and path.is_file() and f"{part}.vectors" not in arrays.names(path):
            return None  # not worth reading a file of gigabytes
        shapes = {f"{part}.{field}": words for field, words in EMBEDDED.items()}
        columns = self.columns("embeddings", split, shapes)
        arrays.check_shapes(path, columns, shapes)
        vectors, labels, items = (columns[name] for name in shapes)
        return EmbeddingSet(vectors, self.without_nameless(labels, items), items)

    def pictures(self, split: str = "test", items: np.ndarray | None = None) -> Pictures:
        """Which images the numbers of a split stand for, by name and content; see `lab.runs.joined.pictures_of`."""
        from lab.runs.joined import pictures_of

        return pictures_of(self, split, items)

    def without_nameless(self, labels: np.ndarray, items: np.ndarray) -> np.ndarray:
        """Return stored labels, int64 [n], as they are written now: an image without a class has `no_class`.

        Version 0.2 gave every such image a class of its own without a name, behind all others.
        """
        # another writer may store them as uint8, which holds no -1
        labels = labels.astype(np.int64, copy=False)
        last = labels.max(initial=-1)
        if last < 0 or (labels == last).sum() > 1 or not (self.path / "images.json").is_file():
            return labels  # the last class has several images, so it is no single image's own
        names = self.read("images.json").get("class_names", [])
        named = np.array([bool(name.strip()) for name in names], bool)
        if named.all() or last >= len(named):
            return labels
        return np.where((labels >= 0) & ~named[labels.clip(min=0)], no_class(items), labels)

    def anchors(self, split: str = "test") -> tuple[np.ndarray, np.ndarray] | None:
        """Class anchors float32 [c d] and their labels int64 [c], or None for models that have none."""
        shapes = {"anchors": "float c d", "anchor_labels": "int c"}
        kept = self.columns("embeddings", split, shapes)
        if "anchors" not in kept:
            return None
        arrays.check_shapes(self.embeddings_file(split), kept, shapes)
        return kept["anchors"], kept["anchor_labels"]

    def origin(
        self, split: str = "test", of: Literal["embeddings", "scores"] = "embeddings"
    ) -> Origin:
        """Which checkpoint and step the stored embeddings or scores of a split are of."""
        kept = (self.scores(split) or {}) if of == "scores" else self.header(split)
        return Origin(kept.get("checkpoint"), kept.get("step", 0), self.status.get("steps"))

    def scores(self, split: str | None = None) -> dict[str, Any] | None:
        """scores/SPLIT.json: `values`, `queries`, `excluded`, `checkpoint`, `step`, `evaluation`, ...; or None.

        Args:
            split: by default test, or the only one that has scores: a recorded loop's is validation, unless it says
                otherwise.

        None stands for no scores, and for damaged ones.

        Raises:
            ValueError: there is no such split; says of which there are scores.
        """
        there = sorted(file.stem for file in (self.path / "scores").glob("*.json"))
        if split is None:
            split = there[0] if len(there) == 1 else "test"
        if split not in ("train", "validation", "test", *there):
            raise ValueError(
                f"Run {self.name} has no split {split!r}; scores are there of: {', '.join(there) or 'none'}."
            )
        return self.find(f"scores/{split}.json") or None

    def score_warnings(self, split: str | None = None) -> list[str]:
        """What a reader of the scores has to know, each sentence once: that all images are of one class, or that first
        places are tied.

        Args:
            split: by default all that have scores.
        """
        splits = self.splits if split is None else (split,)
        warnings = [
            words for one in splits for words in (self.scores(one) or {}).get("warnings", ())
        ]
        return list(dict.fromkeys(warnings))

    def vectors_stamp(self, split: str) -> str:
        """The checksum of a split's query embeddings; "" where there are none, or none was written."""
        try:
            return arrays.stamp_of(self.embeddings_file(split), "query.vectors")
        except ValueError:  # whoever reads them says what is wrong
            return ""

    def outdated(self, split: str = "test") -> str:
        """Say that the stored scores count images without a class as wrong answers, as version 0.2 did; else empty."""
        scores = self.scores(split)
        if scores is None or "left_out" in scores:
            return ""
        searched = self.embeddings(split, "gallery") or self.embeddings(split)
        unknown = int((~searched.labelled).sum())
        if not unknown:
            return ""
        return (
            f"The {split} scores count {unknown:,} images without a class as wrong answers, as version 0.2 did; to "
            f"leave these out, run: lab evaluate {self.path}."
        )

    def per_query(self, split: str = "test") -> dict[str, np.ndarray]:
        """Column to float64 [q], in the order of the split's query embeddings.

        Raises:
            ValueError: the split has not been evaluated.
        """
        scores = self.scores(split)
        if scores is None:
            raise ValueError(self._lacking("scores", split))  # of an evaluation that was killed
        columns = self.columns("scores", split)
        queries = scores.get("queries", "q")
        path = self.path / "scores" / f"{split}.safetensors"
        arrays.check_shapes(path, columns, {name: f"float {queries}" for name in columns})
        return columns

    def reconfigure(self, config: RunConfig) -> None:
        """Replace config.yaml of a run that has not begun.

        Raises:
            ValueError: it has begun: its checkpoints would no longer fit.
        """
        if (self.path / "meta.json").exists():  # a damaged one, too
            raise ValueError(
                f"Run {self.name} has begun, so its configuration stays; start a new run instead."
            )
        self.write_config(config)

    def write_config(self, config: RunConfig) -> None:
        """Replace config.yaml. It is this account's own where the old one was, or where a person typed the new one."""
        own = config.rights is None or ownership.is_own(self.path, "config.yaml")
        write_text(self.path / "config.yaml", config.as_yaml())
        if own:
            ownership.sign(self.path, "config.yaml")
        self.config, self.config_dict = config, config.as_dict()

    def batches(self) -> dict[int, Path]:
        """Step to the file of a batch as the loss saw it; read one with `lab.core.arrays`."""
        return self._numbered("batches")

    def frames(self) -> dict[int, Path]:
        """Step to the file of the validation embeddings of that step; read one with `lab.core.arrays`."""
        return self._numbered("frames")

    def frame(self, step: int) -> Path:
        """Return the file of the validation embeddings of one step.

        Raises:
            ValueError: there is none; a training at work removes some of them while it goes on.
        """
        if (path := self.frames().get(step)) is not None:
            return path
        raise ValueError(
            f"Run {self.name} holds no embeddings of step {step:,}: a training keeps only some of its steps. Choose "
            "another step."
        )

    def _numbered(self, folder: str) -> dict[int, Path]:
        """Step to its file, of one of its folders."""
        return {
            step: self.file(f"{folder}/{path.name}")
            for step, path in numbered(self.path / folder).items()
        }

    @property
    def failure(self) -> Path | None:
        """The batch at which training stopped, or None; read it with `lab.core.arrays`."""
        return next(iter(self._numbered("failure").values()), None)

    def dataset(self, changed: bool = False) -> ImageSet:
        """The images that the run was made with: those of its list, or read again where there is none.

        Args:
            changed: take them, too, if they are numbered otherwise than those that the run has embedded.

        Raises:
            ValueError: they are not where they were, or cannot be read, or their list is damaged; or there is no list,
                and the data set numbers other images now; or another account wrote that they lie outside the run's
                folder.
        """
        choice, kept = self.config.data, self.image_list()
        choice.check()
        if kept is None:
            rights, images = self.rights(), choice.create()
            if not changed:
                self._check_numbers(images)
        else:
            from lab.data.images import listing

            rights = self.rights("images.json")
            if kept.get("root") is not None:
                root = self._images_root(str(kept["root"]))
                rights.check([root])
                kept = {**kept, "root": root.value}  # its own pictures move with it
            images = listing.from_list(choice.name, choice.values, kept)
        if PATHS not in rights.allow:
            boundary.check_images(images, rights)
        return images

    def _check_numbers(self, images: ImageSet) -> None:
        from lab.evaluation.identity import keys_digest

        written = {split: self.header(split).get("numbers") for split in self.splits}
        if not any(written.values()):  # nothing is embedded yet, or by version 0.2
            return
        now = keys_digest(images)
        if changed := [split for split, digest in written.items() if digest and digest != now]:
            raise ValueError(
                f"{images.called} lists other images than when {self.name} embedded its {changed[0]} split, so the "
                f"numbers in this run stand for other pictures now. Embed the split again: "
                f"lab evaluate {self.path} --split {changed[0]}."
            )

    def image_list(self) -> ImageList | None:
        """images.json; None without one, or where it is of another data set than config.yaml says.

        Raises:
            ValueError: it is damaged.
        """
        path = self.path / "images.json"
        if not path.exists():
            return None
        try:
            kept: ImageList = self.read("images.json")
        except ValueError as error:
            raise ValueError(f"{error} Move it away, to read the images anew.") from None
        written = dict(kept.get("data", {}))
        if "leave_out" in written:  # as version 0.2 called corrections
            written["corrections"] = written.pop("leave_out")
        return kept if written == self.config.data.as_dict() else None

    def columns(
        self, folder: str, split: str, only: Collection[str] | None = None
    ) -> dict[str, np.ndarray]:
        """The arrays of a split in `embeddings` or `scores`, all or those of some names.

        Raises:
            ValueError: there are none; says how to make them. Or their file is damaged.
        """
        if (
            not NAME.fullmatch(split)
            or not (path := self.file(f"{folder}/{split}.safetensors")).is_file()
        ):
            raise ValueError(self._lacking(folder, split))
        return arrays.read(path, only)

    def _lacking(self, folder: str, split: str) -> str:
        if self.checkpoint(PUBLISHED):
            return (
                f"{self.path} is a published model without its pictures; say "
                "which to search, as gallery (--gallery)."
            )
        known = ", ".join(self.splits) or "none yet"
        return f"Run {self.name} holds no {folder} of split {split!r} (it has {known}); run: lab evaluate {self.path}."


def _sections(read: dict[str, Any], path: Path) -> dict[str, Any]:
    """Check what a configuration consists of; the name of an entry stands for a mapping with that name.

    Raises:
        ValueError: a section is something else; names it.
    """
    sections = {}
    for name, value in read.items():
        values = value if isinstance(value, list) else [value]
        entries = [
            {"name": one} if isinstance(one, str) else one for one in values if one is not None
        ]
        many = name in SECTIONS and SECTIONS[name].many
        if not all(isinstance(one, dict) for one in entries) or (
            value is not None and many != isinstance(value, list)
        ):
            kind = "a list of names or mappings" if many else "a name or a mapping of knobs"
            raise ValueError(f"{path}: {quoted(name)} must be {kind}, got {quoted(value)}.")
        if value is not None:
            sections[str(name)] = entries if many else entries[0]
    return sections


def fetched_files(folder: Path) -> tuple[Path, ...]:
    """Return where the files of a model folder lie that the Hub's library fetched: in its cache every file of
    MODEL/snapshots/REVISION is a link into MODEL/blobs. Empty for all other folders."""
    blobs = folder.absolute().parent.parent / "blobs"
    return (blobs,) if folder.absolute().parent.name == "snapshots" and blobs.is_dir() else ()


def numbered(folder: Path) -> dict[int, Path]:
    """Step to its file, of the files `step_N.safetensors` in a folder, in order."""
    by_step = {
        int(p.stem.rpartition("_")[2]): p
        for p in folder.glob("step_*.safetensors")
        if p.stem[5:].isdigit()
    }
    return dict(sorted(by_step.items()))


def write_images(folder: Path, images: ImageSet, config: RunConfig) -> None:
    """Write the list of a run's images, where they are no more than a list."""
    from lab.data.images import listing

    if (listed := listing.to_list(images)) is not None:
        write_json(folder / "images.json", {"data": config.data.as_dict(), **listed}, indent=None)
        ownership.sign(folder, "images.json")


def lost_sentence(status: dict[str, Any]) -> str:
    """What is said of a run whose process is gone."""
    return f"The process ended without a word at about step {status.get('step', 0)}."


def working(run: Run) -> bool:
    """Whether a process of this host is at work on the run, or about to be."""
    return lock.held(run.path) or launched_lives(run)


def launched_lives(run: Run) -> bool:
    """Whether the process that was started for the run lives, be it at work yet or not."""
    launched = run.snapshot().launched
    return launched is not None and launched.alive


def reports_from_elsewhere(status: dict[str, Any], worker: Worker | None) -> bool:
    """Whether another process works on a run by its signs of life: its lock may not be seen here, or be deleted."""
    fresh = time.time() - (status.get("updated") or 0) < STALE
    elsewhere = worker is not None and (
        not worker.here or (worker.pid != os.getpid() and worker.alive)
    )
    return status.get("state") == RUNNING and fresh and elsewhere


def stored_record(line: bytes) -> dict[str, Any] | None:
    """The record that a line of metrics.jsonl holds; None for a line that is none."""
    try:
        return record_of(parse_json(line))
    except ValueError:
        return None
