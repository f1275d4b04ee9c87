"""Damage the files of a run folder, a model folder, a gallery and an index, and files that others send (vectors,
tables, pictures, archives, shards), and open each through every reader that reads it.

    python scripts/soak/damaged_files.py --trials 6421 --seed 1

Each reader must answer, or refuse with a ValueError or an OSError of one sentence without words of Python, within two
seconds of processor time.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import random
import re
import shutil
import sys
import tarfile
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from PIL import Image

SLOWEST = 2.0
"""Seconds of processor time that a reader may take for a small file."""

NOT_A_SENTENCE = re.compile(
    r"Traceback|object at 0x|NoneType|<class|\b__\w+__\b|positional argument|keyword argument|Errno|site-packages"
    r"|invalid literal|subscriptable|has no attribute|codec can't|'(str|int|list|dict|float|bool|tuple)'|unhashable"
    r"|indices must be|Exceeds the limit|set_int_max|recursion|to unpack|ReadError|unsupported (operand|format)"
    r"|could not convert|not iterable|Cannot specify|real number|out of bounds|too large to convert|dictionary update"
    r"|I/O error|[Pp]ydantic|Input should|broadcast|inhomogeneous|KeyError|TypeError|Error\("
)
"""What no person should read."""

DEEP = 5_000
VALUES: list[Any] = [
    None, True, 0, -1, 10**12, 10**30, -(10**400), 0.5, float("nan"), float("inf"), 1e308, "", "x", "../..", "\ud800",
    "\u202e", "1", [], [1], [None], ["x"], [[]], [{}], {}, {"x": 1}, {"": []}, {"name": []}, {"name": {}},
]  # fmt: skip
"""What a value of a file is replaced by."""


def paths_in(value: Any, path: tuple = ()) -> Iterator[tuple]:
    """The path of every value inside a JSON value: keys and positions, the outermost first."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths_in(inner, (*path, key))
    elif isinstance(value, list):
        for place, inner in list(enumerate(value))[:3]:
            yield from paths_in(inner, (*path, place))


def replaced(value: Any, path: tuple, other: Any) -> Any:
    """A copy of a JSON value with another value at a path."""
    if not path:
        return other
    changed = copy.deepcopy(value)
    inside = changed
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = other
    return changed


def removed(value: Any, path: tuple) -> Any:
    """A copy of a JSON value without the value at a path."""
    changed = copy.deepcopy(value)
    inside = changed
    for key in path[:-1]:
        inside = inside[key]
    del inside[path[-1]]
    return changed


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode("utf-8", "surrogatepass")


def as_yaml(value: Any) -> bytes:
    return yaml.safe_dump(value, sort_keys=False).encode("utf-8", "surrogatepass")


def damaged_text(
    content: bytes, chance: random.Random, write: Callable[[Any], bytes], read: Callable
) -> bytes:
    """A JSON or YAML text with one value replaced, removed or made huge."""
    value = read(content)
    path = chance.choice(list(paths_in(value)))
    kind = chance.random()
    if kind < 0.75:
        return write(replaced(value, path, chance.choice(VALUES)))
    if kind < 0.85 and path:
        return write(removed(value, path))
    mark = b"@@@@"
    marked = write(replaced(value, path, mark.decode()))
    quoted = b'"' + mark + b'"' if b'"' + mark + b'"' in marked else b"'" + mark + b"'"
    huge = chance.choice(
        [
            b"[" * DEEP + b"]" * DEEP,
            b'{"a":' * DEEP + b"1" + b"}" * DEEP,
            b"[" * 300 + b"]" * 300,
            b"9" * 5_000,
            b"-" + b"9" * 300,
            b"1e999",
            b'"' + b"x" * 10_000_000 + b'"',
            b"[" + b"1," * 100_000 + b"1]",
            b'{"a": 1, "a": [], "a": {}}',
            b'"\xff\xfe"',
            b'"\\ud800"',
            b"NaN",
        ]
    )
    return marked.replace(quoted, huge)


def damaged_bytes(content: bytes, chance: random.Random) -> bytes:
    """A file that is cut, has changed bytes, or has something else before, inside or behind it."""
    kind, place = chance.randrange(5), chance.randrange(len(content) + 1)
    if kind == 0:
        return content[:place]
    if kind == 1:
        changed = bytearray(content)
        for _ in range(chance.choice([1, 1, 4, 40])):
            if changed:
                changed[chance.randrange(len(changed))] = chance.randrange(256)
        return bytes(changed)
    if kind == 2:
        return (
            content[:place]
            + chance.choice([b"\0", b"\xff\xfe", b"{", b"]", b"\n", b'"'])
            + content[place:]
        )
    if kind == 3:
        return content + chance.choice([content, b"x", b"\0" * 64])
    return chance.choice(
        [b"", b"\0", b"null", b"[]", b"{}", b"3", b'"x"', b"\xef\xbb\xbf{}", b"\xff\xfe{\0}\0"]
    )


def damaged_head(content: bytes, chance: random.Random) -> bytes:
    """A safetensors file whose JSON head says something else, at the same length of the data behind it."""
    size = int.from_bytes(content[:8], "little")
    head = json.loads(content[8 : 8 + size])
    kind = chance.random()
    inner = [name for name, text in head.get("__metadata__", {}).items() if text[:1] in "{["]
    if kind < 0.6 and inner:
        name = chance.choice(inner)
        text = damaged_text(head["__metadata__"][name].encode(), chance, as_json, json.loads)
        head["__metadata__"][name] = text.decode("utf-8", "replace")
        new = as_json(head)
    else:
        new = damaged_text(json.dumps(head).encode(), chance, as_json, json.loads)
    if len(new) > 1_000_000:
        new = as_json({})
    return len(new).to_bytes(8, "little") + new + content[8 + size :]


def retyped(content: bytes, chance: random.Random) -> bytes:
    """A safetensors file that is whole, and holds an array of another type, shape or range."""
    from safetensors.numpy import load, save

    arrays = load(content)
    size = int.from_bytes(content[:8], "little")
    told = json.loads(content[8 : 8 + size]).get("__metadata__", {})
    told.pop("crc32", None)
    name = chance.choice(sorted(arrays))
    array = arrays[name]
    kind = chance.randrange(7)
    if kind == 0:
        del arrays[name]
    elif kind == 1:
        arrays[name] = array[: len(array) // 2] if array.ndim else array.reshape(1)
    elif kind == 2:
        arrays[name] = array.reshape(-1).copy()
    elif kind == 3:
        arrays[name] = array.astype(
            chance.choice([np.float16, np.int8, np.uint8, np.float64, bool])
        )
    elif kind == 4:
        arrays[name] = np.full_like(
            array, np.asarray(chance.choice([-1, 7, 100])).astype(array.dtype)
        )
    elif kind == 5:
        arrays[name] = np.zeros((0, *array.shape[1:]), array.dtype)
    elif array.dtype.kind == "f":
        arrays[name] = np.full_like(array, chance.choice([np.nan, np.inf]))
    else:
        arrays[name] = np.full_like(
            array, np.iinfo(array.dtype).max if array.dtype.kind in "iu" else 1
        )
    return save(arrays, told)


def damaged(file: Path, content: bytes, chance: random.Random) -> bytes:
    """A damaged content of a file, by its kind."""
    kind = chance.random()
    if kind < 0.2:
        return damaged_bytes(content, chance)
    if file.suffix == ".json":
        return damaged_text(content, chance, as_json, json.loads)
    if file.suffix == ".yaml":
        return damaged_text(content, chance, as_yaml, yaml.safe_load)
    if file.suffix == ".jsonl":
        lines = content.splitlines()
        place = chance.randrange(len(lines))
        lines[place] = damaged_text(lines[place], chance, as_json, json.loads)
        return b"\n".join(lines) + b"\n"
    if file.suffix == ".safetensors":
        return damaged_head(content, chance) if kind < 0.6 else retyped(content, chance)
    return damaged_bytes(content, chance)


@dataclass(frozen=True)
class Folders:
    """What is damaged. root: the folder of runs; run, model, gallery, index: folders in it, or beside it; sent: single
    files that somebody sends."""

    root: Path
    run: Path
    model: Path
    gallery: Path
    index: Path
    picture: Path
    sent: Path


def make(folder: Path) -> Folders:
    """Train a tiny run in a folder, and write everything beside it that a person could send."""
    import lab.runs
    import lab.threshold
    from lab.__main__ import main as command
    from lab.maps import kept
    from lab.runs import management, marks
    from lab.search.galleries.shards import Writer

    pictures, root = _pictures(folder / "pictures"), folder / "runs"
    sections = {
        "data": {"name": "class_folders", "root": str(pictures), "validation": 0.5, "test": 0.25},
        "augmentation": {"size": 16},
        "encoder": {"name": "small_cnn", "width": 4, "dim": 8},
        "sampler": {"name": "m_per_class", "batch_size": 8, "per_class": 2},
        "training": {"steps": 4, "checkpoint_every": 2, "validate_every": 2},
    }
    run = lab.runs.create(lab.runs.RunConfig.of(sections), root, "run")
    for _ in lab.runs.execute(run):
        pass
    management.annotate(run, "worth a look", ["first"], "tries")
    images = run.dataset()
    marked = {
        0: marks.Mark("drop"),
        1: marks.Mark("relabel", label="class01"),
        2: marks.Mark(tags=("odd",)),
    }
    marks.write(root, images, marked)
    pairs = lab.threshold.measure(run)
    lab.threshold.save(run, pairs, pairs.let_through(0.2))
    chart = kept.Chart(
        run, "test", next(method for method in kept.lab.maps.METHODS if method == "pca")
    )
    chart.keep(kept.pca_map(run, "test"), chart.fingerprint)
    worker = {"host": "elsewhere", "pid": 1, "create_time": 0.0}
    sent = {
        **worker,
        "launcher": "ray",
        "address": "auto",
        "knobs": {},
        "outlives": False,
        "job": None,
    }
    queued = {"waiting": ["run"], "paused": True, "worker": worker}
    drawing = {"worker": worker, "of": chart.fingerprint, "done": 0, "total": 1}
    for path, value in {
        run.path / "launch.json": worker,
        run.path / "sent.json": sent,
        run.path / "maps" / "test.umap.json": drawing,
        root / ".queue.json": queued,
    }.items():
        path.write_text(json.dumps(value))
    for name, output in (("huggingface", "model"), ("faiss", "index")):
        words = [
            "export",
            "run",
            "--to",
            name,
            "--runs",
            str(root),
            "--output",
            str(folder / output),
            "-q",
        ]
        with contextlib.redirect_stdout(io.StringIO()):
            assert command(words) == 0
    writer, found = (
        Writer(folder / "gallery", {"encoder": "run", "rows": 8}, images.class_names),
        run.embeddings("test"),
    )
    for rows in (range(8), range(8, 16)):
        writer.add(found.take(np.array(rows)), [f"{row}.png" for row in rows])
    writer.finish()
    _write_sent(folder / "sent", run.path, pictures)
    picture = images.path(0)
    return Folders(
        root,
        run.path,
        folder / "model",
        folder / "gallery",
        folder / "index",
        picture,
        folder / "sent",
    )


def _write_sent(sent: Path, run: Path, pictures: Path) -> None:
    """Write a file of each kind that a person is sent and names to a command or brings to a page."""
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet
    import torch
    from safetensors.numpy import save_file

    sent.mkdir()
    vectors = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
    labels = np.arange(8) // 2
    np.save(sent / "vectors.npy", vectors)
    np.savez_compressed(sent / "vectors.npz", vectors=vectors, labels=labels)
    save_file(
        {"vectors": vectors, "labels": labels},
        sent / "vectors.safetensors",
        {"keys": json.dumps(list("abcdefgh"))},
    )
    torch.save(
        {"vectors": torch.tensor(vectors), "labels": torch.tensor(labels)}, sent / "vectors.pth"
    )
    lines = [
        f"{'abcdefgh'[row]},c{labels[row]},{','.join(map(str, vectors[row]))}" for row in range(8)
    ]
    (sent / "vectors.csv").write_text("\n".join(["key,label,v0,v1,v2,v3", *lines]))
    table = pa.table({"vector": vectors.tolist(), "label": [f"c{label}" for label in labels]})
    pa.parquet.write_table(table, sent / "vectors.parquet")
    pa.feather.write_feather(table, str(sent / "vectors.arrow"))
    (sent / "corrections.csv").write_text("image,label\na.png,cat\nb.png,\n")
    for ending in ("png", "jpg", "webp", "gif", "bmp", "tif"):
        Image.open(pictures / "class00" / "0.png").save(sent / f"picture.{ending}")
    files = [file for folder in sorted(pictures.iterdir())[:3] for file in sorted(folder.iterdir())]
    with (
        zipfile.ZipFile(sent / "pictures.zip", "w") as archive,
        tarfile.open(sent / "shard.tar", "w") as shard,
    ):
        for file in files:
            archive.write(file, file.relative_to(pictures))
            shard.add(file, str(file.relative_to(pictures)))
    encoded = [{"image": file.read_bytes(), "label": file.parent.name} for file in files]
    pa.parquet.write_table(pa.Table.from_pylist(encoded), sent / "images.parquet")
    with tarfile.open(sent / "run.tar.gz", "w:gz") as packed:
        packed.add(run, "run")


def _pictures(root: Path) -> Path:
    """16 classes of 4 images; a class is a colour."""
    draw = np.random.default_rng(0)
    for number in range(16):
        folder = root / f"class{number:02d}"
        folder.mkdir(parents=True)
        colour = draw.integers(60, 255, 3)
        for place in range(4):
            pixels = draw.integers(0, 60, (20, 20, 3)) + colour
            Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(folder / f"{place}.png")
    return root


def _said(*words: str) -> None:
    """Run a command of `lab`, and let through whatever it raises."""
    from lab.__main__ import main as command

    quiet = io.StringIO()
    with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
        command([*words, "--debug"])


def readers_of_run(folders: Folders) -> dict[str, Callable[[], Any]]:
    """Reader to what calls it, of a run folder."""
    import lab
    import lab.runs
    import lab.threshold
    from lab.launchers.background.queue import Queue
    from lab.maps import kept
    from lab.report import page
    from lab.runs import Run, check, management, marks
    from lab.runs.building.fingerprints import recorded
    from lab.verdict.history import History

    path, there = str(folders.run), ["--runs", str(folders.root)]

    def run() -> Run:
        return Run(folders.run)

    def progress() -> Any:
        return [kept.Chart(run(), "test", method).progress for method in kept.lab.maps.METHODS]

    def queue() -> Any:
        waiting = Queue(folders.root)
        return waiting.names, waiting.paused, waiting.worker, waiting.abandoned, waiting.active()

    def arrays_of_steps() -> Any:
        from lab.core import arrays

        return [arrays.read(file) for file in (*run().batches().values(), *run().frames().values())]

    def embedded() -> Any:
        return [
            (run().embeddings(split), run().anchors(split), run().origin(split).words)
            for split in run().splits
        ]

    def measured() -> Any:
        return [
            (run().per_query(split), run().origin(split, "scores").words) for split in run().splits
        ]

    return {
        "status": lambda: (
            run().status,
            run().state,
            run().written_state,
            run().snapshot().process,
            run().begun,
        ),
        "meta": lambda: (run().meta, recorded(run(), "test")),
        "configuration": lambda: (
            run().config_dict,
            run().config.as_yaml(),
            run().config_of("test"),
        ),
        "check": lambda: check.check(run()),
        "list": lambda: _said("runs", *there),
        "show": lambda: _said("runs", path, *there),
        "show as JSON": lambda: _said("runs", path, "--json", *there),
        "log": lambda: _said("runs", "logs", path, *there),
        "notes": lambda: management.notes(run()),
        "marks": lambda: marks.read(folders.root, run().dataset()),
        "images": lambda: run().dataset().load(0),
        "threshold": lambda: lab.threshold.stored(run()).words,
        "verdict": lambda: _said("runs", "verdict", path, *there),
        "history": lambda: History.of_run(run()),
        "report": lambda: _said("runs", "report", path, *there),
        "page": lambda: page.render([run()]),
        "embeddings": embedded,
        "scores": measured,
        "arrays": arrays_of_steps,
        "maps": lambda: (kept.places(run(), "test"), progress()),
        "queue": queue,
        "query": lambda: _said("query", path, str(folders.picture), *there),
        "evaluate": lambda: lab.load(folders.run).embed([str(folders.picture)]),
        "measure": lambda: lab.threshold.measure(run()),
        "export": lambda: lab.exporters.create("csv").export(
            run(), folders.root.parent / "out.csv"
        ),
    }


def readers(folders: Folders, file: Path) -> dict[str, Callable[[], Any]]:
    """Reader to what calls it, of the folder that a file lies in."""
    import lab
    from lab.search import FaissFile
    from lab.search.galleries.shards import open_gallery

    def gallery() -> Any:
        opened = open_gallery(folders.gallery)
        return (
            opened.digest,
            opened.unit,
            [opened.row(place) for place in range(len(opened))],
            opened.vectors[:],
        )

    if file.is_relative_to(folders.model):
        return {
            "load": lambda: lab.load(folders.model).embed([str(folders.picture)]),
            "query": lambda: _said("query", str(folders.model), str(folders.picture)),
            "show": lambda: _said("runs", str(folders.model)),
            "check": lambda: _said("runs", "check", str(folders.model)),
        }
    if file.is_relative_to(folders.gallery):
        return {
            "gallery": gallery,
            "query": lambda: _said(
                "query", str(folders.run), str(folders.picture), "--gallery", str(folders.gallery)
            ),
        }
    if file.is_relative_to(folders.sent):
        return readers_of_sent(folders, file)
    if file.is_relative_to(folders.index):
        return {
            "index": lambda: FaissFile(folders.index).neighbours(np.ones((1, 8), np.float32), 2)
        }
    return readers_of_run(folders)


def readers_of_sent(folders: Folders, file: Path) -> dict[str, Callable[[], Any]]:
    """Reader to what calls it, of a single file that somebody sends."""
    import lab.data
    import lab.runs
    from lab.data.images import reading, zipped
    from lab.runs.receiving import receive

    made = folders.sent.parent / "made"

    def imported() -> Any:
        return lab.runs.from_embeddings(file, runs=made, name="imported")

    def unpacked() -> Any:
        with file.open("rb") as opened:
            return zipped.unpack(opened, made)

    def streamed() -> Any:
        images = lab.data.create(
            "tar_shards" if file.suffix == ".tar" else "parquet_images", root=str(file)
        )
        return [images.load(place) for place in range(min(3, len(images)))]

    by_name = {
        "vectors": {"import": imported},
        "corrections": {"corrections": lambda: lab.data.read_corrections(file)},
        "picture": {
            "open": lambda: reading.open_rgb(file),
            "check": lambda: (reading.size_of(file), reading.check_whole(file)),
            "query": lambda: _said(
                "query", str(folders.run), str(file), "--runs", str(folders.root)
            ),
        },
        "pictures": {"unpack": unpacked},
        "shard": {"stream": streamed},
        "images": {"stream": streamed},
        "run": {"receive": lambda: receive(file, made)},
    }
    name = file.name.partition(".")[0]
    return {what: _without(made, read) for what, read in by_name[name].items()}


def _without(made: Path, read: Callable[[], Any]) -> Callable[[], Any]:
    """The reader, which leaves nothing behind."""

    def reads() -> Any:
        try:
            return read()
        finally:
            shutil.rmtree(made, ignore_errors=True)

    return reads


def files_of(folders: Folders) -> list[Path]:
    """What is damaged: every small file and array, and what is sent; no program, no index of faiss."""
    kinds = (".json", ".jsonl", ".yaml", ".safetensors")
    places = (folders.root, folders.model, folders.gallery, folders.index)
    kept = [file for place in places for file in sorted(place.rglob("*")) if file.suffix in kinds]
    return [*kept, *sorted(folders.sent.iterdir())]


_opened: set[str] | None = None
"""The files that Python has opened since this was made a set."""


def _note_opened(event: str, given: tuple) -> None:
    if event == "open" and _opened is not None and isinstance(given[0], str | bytes | os.PathLike):
        _opened.add(os.path.realpath(os.fsdecode(given[0])))


def reading_of(folders: Folders, files: list[Path]) -> dict[Path, list[str]]:
    """File to the names of the readers that open it; of a file that Python itself does not open, all."""
    global _opened
    sys.addaudithook(_note_opened)
    opened: dict[str, set[str]] = {}
    for file in files:
        every = readers(folders, file)
        for name, read in every.items():
            key = f"{file.parent.relative_to(folders.root.parent).parts[0]} {name} {sorted(every)}"
            if file.is_relative_to(folders.sent):
                key = f"{file.name} {name}"
            if key not in opened:
                _opened = opened[key] = set()
                assert trouble(read) == "", (name, file, trouble(read))
                _opened = None
            opened[f"{file} {name}"] = opened[key]
    found = {}
    for file in files:
        names = list(readers(folders, file))
        found[file] = [
            name for name in names if os.path.realpath(file) in opened[f"{file} {name}"]
        ] or names
    return found


def trouble(read: Callable[[], Any]) -> str:
    """What is wrong with how a reader answers; empty for an answer, or a refusal in one sentence."""
    began = time.process_time()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        said, wrong = _said_by(read)
    if wrong:
        return wrong
    if (seconds := time.process_time() - began) > SLOWEST:
        return f"took {seconds:.1f} s"
    for words in (
        said,
        *(str(one.message) for one in warned if issubclass(one.category, UserWarning)),
    ):
        if found := NOT_A_SENTENCE.search(words):
            return f"said {found[0]!r}: {words[:300]}"
    return f"said {len(said):,} characters" if len(said) > 2_000 else ""


def _said_by(read: Callable[[], Any]) -> tuple[str, str]:
    """The sentence that a reader refuses with, "" for an answer; and what is wrong with the kind of its error."""
    try:
        read()
    except (ValueError, OSError) as error:
        ours = ("builtins", "lab.core.arrays", "lab.data.images.reading")
        if isinstance(error, UnicodeError) or type(error).__module__ not in ours:
            return "", f"{type(error).__name__}: {str(error)[:200]}"
        return str(error), ""
    except SystemExit as end:
        return str(end), ""
    except BaseException as error:  # anything but a sentence is what is looked for
        return "", f"{type(error).__name__}: {str(error)[:200]}"
    return "", ""


def campaign(
    folders: Folders, trials: int, seed: int, most_readers: int | None = None
) -> Iterator[tuple[str, str]]:
    """Damage files at random, one at a time; yields what was read how, and what was wrong with the answer.

    Args:
        most_readers: how many of the readers that open the file are tried for each damage, drawn at random; all by
            default.
    """
    chance, files = random.Random(seed), files_of(folders)
    reading = reading_of(folders, files)
    for _ in range(trials):
        file = chance.choice(files)
        content = bad = file.read_bytes()
        while bad == content:
            bad = damaged(file, content, chance)
        file.write_bytes(bad)
        try:
            every = [
                (name, read)
                for name, read in readers(folders, file).items()
                if name in reading[file]
            ]
            some = (
                every
                if most_readers is None
                else chance.sample(every, min(most_readers, len(every)))
            )
            for name, read in some:
                if wrong := trouble(read):
                    shown = bad[:120] if len(bad) < 400 else _differs(content, bad)
                    yield f"{file.relative_to(folders.root.parent)} by {name}: {shown!r}", wrong
        finally:
            file.write_bytes(content)


def _differs(content: bytes, bad: bytes) -> bytes:
    """Where a damaged content begins to differ."""
    place = next(
        (at for at, (one, other) in enumerate(zip(content, bad, strict=False)) if one != other), 0
    )
    return bad[max(0, place - 60) : place + 100]


def main() -> None:
    from common import arguments, conclude

    asked, began = arguments(__doc__.splitlines()[0], 6_421), time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    os.environ["LAB_CACHE"] = str(folder / "cache")
    try:
        failed = []
        for what, wrong in campaign(make(folder), asked.trials, asked.seed):
            failed.append(f"{what}: {wrong}")
            print(failed[-1], file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    conclude(
        "damaged files",
        asked.trials,
        failed,
        asked.seed,
        began,
        "runs, models, galleries, indices, files sent",
    )


if __name__ == "__main__":
    main()
