"""Receive a run or a model folder that somebody sent as one file: unpack it safely, and check all of it.

Nothing in it is run, fetched or read outside its own folder. What it names outside is listed.
"""

from __future__ import annotations

import gzip
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import IO, Any

from lab.core.explain import explain, quoted
from lab.core.files import checked, making
from lab.core.formats import GB, counted, size, visible
from lab.core.image_list import PICTURES
from lab.core.tar_entries import Entry
from lab.core.words import PROGRAMS
from lab.data.images.reading import EXTENSIONS
from lab.runs.boundary import Reference
from lab.runs.building.published import HEAD
from lab.runs.check import check
from lab.runs.folder import NAME, PUBLISHED, Run, is_run
from lab.runs.store import check_name, default_root, free_name

MOST_BYTES = 20 * GB
MOST_FILES = 200_000
LONGEST = 400
"""Limits of an archive: bytes and entries, including folders; and characters of a file's path."""

MOST_LISTED = 100_000_000
"""Bytes of the list of files at the end of a ZIP, which Python reads whole; 200,000 long names take as many."""

CODE = (*PROGRAMS, ".py", ".pyc", ".so", ".dll", ".dylib", ".sh", ".bat", ".exe", ".pkl", ".pickle", ".joblib")
"""Suffixes of programs, and of files that can hold a program."""

OURS = "modeling_rankscope.py"
"""The code for transformers in a model folder. It is never unpacked: nothing here needs it."""

DAMAGED = (
    zipfile.BadZipFile,
    tarfile.TarError,
    gzip.BadGzipFile,
    lzma.LZMAError,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    OverflowError,
    UnicodeError,
    struct.error,
)
"""Errors of the libraries of archives for a damaged archive, or one that is locked by a password."""

KNOWN = (
    "config.yaml",
    "config.json",
    "preprocessor_config.json",
    "README.md",
    "model.safetensors",
    HEAD,
    "meta.json",
    "status.json",
    "images.json",
    "metrics.jsonl",
    "log.txt",
    "remarks.json",
    "relevance.json",
    "threshold.json",
    "checkpoints/*.safetensors",
    "embeddings/*.safetensors",
    "scores/*.json",
    "scores/*.safetensors",
    "batches/*.safetensors",
    "frames/*.safetensors",
    "failure/*.safetensors",
    "maps/*.safetensors",
    *(f"{PICTURES}/*{suffix}" for suffix in sorted(EXTENSIONS)),
)
"""Files of a run or a model that are unpacked. Files about processes and signatures of the sender's machine
(launch.json, sent.json, owner.json) have no meaning here."""


@dataclass(frozen=True)
class Received:
    """A folder that was unpacked.

    run: the folder as a run. published: whether it is a model folder. holds: its contents, a sentence each.
    references: what it names outside its folder. left_out: files of the archive that were not unpacked.
    """

    run: Run
    published: bool
    holds: tuple[str, ...]
    references: tuple[Reference, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class _Member:
    """One file of an archive. path: without the folder that everything was packed in."""

    path: PurePosixPath
    bytes: int
    source: Any


def receive(archive: Path | str, into: Path | str | None = None, name: str | None = None) -> Received:
    """Unpack a ZIP or tar of one run or model folder into a new folder, and check every file of it.

    Args:
        into: the folder of runs that it is put into, by default the usual one.
        name: of the new folder; by default that of the packed folder, with a number where it is taken.

    Raises:
        ValueError: it is no such archive; it is too large, leads out of its folder, or holds links, programs or damaged
            files. Nothing is left behind.
        OSError: the archive cannot be read or the folder cannot be written.
        PermissionError: a guest asks.
    """
    archive = Path(archive).expanduser()
    root = default_root(into)
    if archive.is_dir():
        raise ValueError(f"{archive} is a folder; `lab receive` takes a ZIP or a tar of a run or model folder.")
    with _opened(archive) as opened:
        members, top = _without_top(_members(opened, archive), archive)
        chosen = name or top or archive.name.split(".")[0]
        if name is not None or not NAME.fullmatch(chosen):
            check_name(chosen)
        left_out = tuple(visible(str(member.path)) for member in members if not _is_known(member.path))
        folder = root / free_name(root, chosen)
        with making(folder) as unpacked:
            for member in members:
                if _is_known(member.path):
                    _write(opened, member, unpacked)
            remarks = _check(unpacked, archive)
            facts = (*_holds(Run(unpacked)), *remarks)
            references = Run(unpacked).references()
    run = Run(folder)
    return Received(run, run.checkpoint(PUBLISHED) is not None, facts, references, left_out)


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile | tarfile.TarFile]:
    """Open an archive; the errors of its library become a sentence."""
    checked(path)
    with open(path, "rb") as file:  # a sentence of the system, if it cannot be read
        is_zip = zipfile.is_zipfile(file)
    try:
        if is_zip:
            _check_list(path)
        with zipfile.ZipFile(path) if is_zip else tarfile.open(path, "r:*", tarinfo=Entry) as archive:
            yield archive
    except DAMAGED as error:
        known = isinstance(error, tarfile.ReadError) and "could not be opened" in str(error)  # lists what was tried
        why = "" if known else f" ({explain(error).rstrip('.')})"
        raise ValueError(f"{path} cannot be unpacked, since it is no ZIP or tar, or is damaged{why}.") from None


def _check_list(path: Path) -> None:
    """Check that the list of files of a ZIP does not fill the memory.

    Raises:
        ValueError: it would.
    """
    with open(path, "rb") as file:
        whole = file.seek(0, 2)
        file.seek(max(0, whole - 66_000))  # its end has at most 65,557 bytes, and one of 4 GB another 76 before it
        end = file.read()
    place = end.rfind(b"PK\x05\x06")
    listed = int.from_bytes(end[place + 12 : place + 16], "little")
    large = end.rfind(b"PK\x06\x06", 0, place)
    if large >= 0:
        listed = max(listed % 0xFFFFFFFF, int.from_bytes(end[large + 40 : large + 48], "little"))
    if listed > MOST_LISTED:
        raise _too_much(path)


def _too_much(archive: Path) -> ValueError:
    return ValueError(
        f"{archive} holds more than {counted(MOST_FILES, 'file')} or {size(MOST_BYTES)}; unpack it yourself, if you "
        "trust the sender."
    )


def _members(opened: zipfile.ZipFile | tarfile.TarFile, archive: Path) -> list[_Member]:
    """List the files of an archive; links, devices and paths that lead out of it are refused."""
    members: list[_Member] = []
    total = 0
    entries: Any = opened
    if isinstance(opened, zipfile.ZipFile):
        entries = opened.infolist()
    for number, entry in enumerate(entries, 1):
        if number > MOST_FILES:
            raise _too_much(archive)
        if isinstance(entry, zipfile.ZipInfo):
            path = entry.filename
            length = entry.file_size
            is_folder = entry.is_dir()
            is_file = stat.S_IFMT(entry.external_attr >> 16) in (0, stat.S_IFREG)
        else:
            path = entry.name
            length = entry.size
            is_folder = entry.isdir()
            is_file = entry.isreg() and not entry.issparse()
        # Refuse what would be written outside the folder, and what is neither file nor folder.
        place = PurePosixPath(path)
        outside = place.is_absolute() or ".." in place.parts or "\\" in path or path[1:2] == ":"
        if outside or len(path) > LONGEST or length < 0 or not path.isprintable():
            raise ValueError(f"{archive} holds a path that leads out of its folder or is none here: {quoted(path)}.")
        if not is_folder and not is_file:
            raise ValueError(f"{archive} holds a link or device, {quoted(path)}; a run is made of files and folders.")
        if is_folder:
            continue
        total += length
        members.append(_Member(place, length, entry))
        if total > MOST_BYTES:
            raise _too_much(archive)
    return members


def _without_top(members: list[_Member], archive: Path) -> tuple[list[_Member], str]:
    """Find the only folder with a config.yaml: its files, and its name ("" if the archive itself is that folder).

    Raises:
        ValueError: there is no such folder, there are several, or a file is a program.
    """
    visible_members = []
    for member in members:
        if not any(part.startswith((".", "__MACOSX")) for part in member.path.parts):
            visible_members.append(member)
    tops = {member.path.parent for member in visible_members if member.path.name == "config.yaml"}
    if len(tops) != 1:
        count = f"{len(tops)} of them" if tops else "none"
        raise ValueError(
            f"{archive} must hold one run or model folder with its config.yaml, and it holds {count}; pack one folder."
        )
    top = tops.pop()
    inside = []
    for member in visible_members:
        if member.path.suffix.lower() in CODE and member.path.name != OURS:
            raise ValueError(
                f"{archive} holds the program {quoted(str(member.path))}. A run or model from somebody else is "
                "received without programs: ask for the folder without it, and give the encoder again with --encoder."
            )
        if member.path.is_relative_to(top):
            inside.append(_Member(member.path.relative_to(top), member.bytes, member.source))
    return inside, top.name


def _is_known(path: PurePosixPath) -> bool:
    """Return whether a file belongs to a run or a model. Pictures may be in deeper folders."""
    deep = len(path.parts) > 2 and path.parts[0] != PICTURES
    return not deep and any(fnmatch(str(path), pattern) for pattern in KNOWN)


def _write(opened: zipfile.ZipFile | tarfile.TarFile, member: _Member, folder: Path) -> None:
    """Write one file below a folder; no more bytes than the archive's list said."""
    place = folder / member.path
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ValueError(f"The archive holds {quoted(str(member.path.parent))} as a file and as a folder.") from None
    source: IO[bytes] | None
    if isinstance(opened, zipfile.ZipFile):
        source = opened.open(member.source)
    else:
        source = opened.extractfile(member.source)
    if source is None:
        raise ValueError(f"{member.path} is no file.")
    try:
        with source, open(place, "xb") as target:
            left = member.bytes
            while piece := source.read(min(left, 1 << 20)):
                target.write(piece)
                left -= len(piece)
    except FileExistsError:
        raise ValueError(f"The archive holds {quoted(str(member.path))} twice.") from None
    if left:
        raise ValueError(f"The archive is damaged: {quoted(str(member.path))} is cut short.")


def _check(folder: Path, archive: Path) -> list[str]:
    """Check every file that was unpacked, and return remarks on them.

    Raises:
        ValueError: a file is damaged; names it as it is called in the archive.
    """
    try:
        if not is_run(folder):
            raise ValueError("it holds no run")
        damages = check(Run(folder))
        for damage in damages:
            if not damage.changed:
                named = damage.file in damage.sentence
                raise ValueError(damage.sentence if named else f"{damage.file}: {damage.sentence}")
        return [damage.sentence for damage in damages]
    except ValueError as error:
        shown = str(error).replace(f"{folder}/", "").replace(str(folder), "the folder")
        raise ValueError(f"{archive} is not received, and nothing was kept of it: {shown}") from None


def _holds(run: Run) -> tuple[str, ...]:
    """Say what a folder holds, a sentence each."""
    config = run.config
    published = run.checkpoint(PUBLISHED) is not None
    kind = "a model" if published else "a run"
    facts = [f"{kind}: {config.encoder.name}, {config.loss.name}, {config.data.name}"]
    if not published:
        status = run.status
        facts.append(f"state {status['state']}, step {status.get('step', 0):,} of {status.get('steps', 0):,}")
    weights = [name for name in ("best", "last") if run.checkpoint(name)]
    if weights:
        facts.append(f"checkpoints: {', '.join(weights)}")
    for split in run.splits:
        rows, width = run.embeddings(split).vectors.shape
        facts.append(f"embeddings of {split}: {rows:,} queries, {width} numbers each")
    pictures = sum(path.is_file() for path in (run.path / PICTURES).rglob("*"))
    if pictures:
        facts.append(counted(pictures, "picture"))
    total = sum(path.stat().st_size for path in run.path.rglob("*") if path.is_file())
    facts.append(f"{size(total)} in all")
    facts += config.missing
    return tuple(map(visible, facts))
