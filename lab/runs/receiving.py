"""A run or a model folder that somebody sent as one file: unpacked where it can do no harm, and checked whole.

Nothing in it is run, fetched or read outside its own folder. What it would like to read outside is listed.
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

MOST_BYTES, MOST_FILES, LONGEST = 20 * GB, 200_000, 400
"""What is unpacked of one archive: bytes and entries, folders among them; and characters of a file's path."""

MOST_LISTED = 100_000_000
"""Bytes of the list of files at the end of a ZIP, which Python reads whole; 200,000 long names take as many."""

CODE = (
    *PROGRAMS,
    ".py",
    ".pyc",
    ".so",
    ".dll",
    ".dylib",
    ".sh",
    ".bat",
    ".exe",
    ".pkl",
    ".pickle",
    ".joblib",
)
"""How the names of programs end, and of files that can hold one."""

OURS = "modeling_rankscope.py"
"""The code for transformers in a model folder. It is never unpacked: nothing here needs it."""

DAMAGED = (
    zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, lzma.LZMAError, zlib.error, EOFError, NotImplementedError,
    RuntimeError, OverflowError, UnicodeError, struct.error,
)  # fmt: skip
"""What the libraries of archives raise for a damaged one, or for one that is locked by a password."""

KNOWN = (
    "config.yaml", "config.json", "preprocessor_config.json", "README.md", "model.safetensors", HEAD,
    "meta.json", "status.json", "images.json", "metrics.jsonl", "log.txt", "remarks.json", "relevance.json",
    "threshold.json", "checkpoints/*.safetensors", "embeddings/*.safetensors", "scores/*.json", "scores/*.safetensors",
    "batches/*.safetensors", "frames/*.safetensors", "failure/*.safetensors", "maps/*.safetensors",
    *(f"{PICTURES}/*{suffix}" for suffix in sorted(EXTENSIONS)),
)  # fmt: skip
"""The files of a run or a model that are unpacked. Those that name processes and signatures of the sender's machine
(launch.json, sent.json, owner.json) mean nothing here."""


@dataclass(frozen=True)
class Received:
    """What was unpacked.

    run: the folder as a run. published: whether it is a model folder. holds: what lies in it, a sentence each.
    references: what it would like to read outside its folder. left_out: files of the archive that were not unpacked.
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


def receive(
    archive: Path | str, into: Path | str | None = None, name: str | None = None
) -> Received:
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
    archive, root = Path(archive).expanduser(), default_root(into)
    if archive.is_dir():
        raise ValueError(
            f"{archive} is a folder; `lab receive` takes a ZIP or a tar of a run or model folder."
        )
    with _opened(archive) as opened:
        members, top = _without_top(_members(opened, archive), archive)
        chosen = name or top or archive.name.split(".")[0]
        if name is not None or not NAME.fullmatch(chosen):
            check_name(chosen)
        wanted = [one for one in members if _is_known(one.path)]
        left_out = tuple(visible(str(one.path)) for one in members if not _is_known(one.path))
        folder = root / free_name(root, chosen)
        with making(folder) as unpacked:
            for one in wanted:
                _write(opened, one, unpacked)
            remarks = _check(unpacked, archive)
            facts = (*_holds(Run(unpacked)), *remarks)
            references = Run(unpacked).references()
    run = Run(folder)
    return Received(run, run.checkpoint(PUBLISHED) is not None, facts, references, left_out)


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile | tarfile.TarFile]:
    """Open an archive; whatever its library says of a damaged one becomes a sentence."""
    checked(path)
    with open(path, "rb") as file:  # a sentence of the system, if it cannot be read
        is_zip = zipfile.is_zipfile(file)
    try:
        if is_zip:
            _check_list(path)
        with (
            zipfile.ZipFile(path) if is_zip else tarfile.open(path, "r:*", tarinfo=Entry) as archive
        ):
            yield archive
    except DAMAGED as error:
        # lists what was tried
        known = isinstance(error, tarfile.ReadError) and "could not be opened" in str(error)
        why = "" if known else f" ({explain(error).rstrip('.')})"
        raise ValueError(
            f"{path} cannot be unpacked, since it is no ZIP or tar, or is damaged{why}."
        ) from None


def _check_list(path: Path) -> None:
    """Refuse a ZIP whose list of files would fill the memory.

    Raises:
        ValueError: it would.
    """
    with open(path, "rb") as file:
        whole = file.seek(0, 2)
        # its end has at most 65,557 bytes, and one of 4 GB another 76 before it
        file.seek(max(0, whole - 66_000))
        end = file.read()
    place = end.rfind(b"PK\x05\x06")
    listed = int.from_bytes(end[place + 12 : place + 16], "little")
    if (large := end.rfind(b"PK\x06\x06", 0, place)) >= 0:
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
    total = entries = 0
    for one in opened.infolist() if isinstance(opened, zipfile.ZipFile) else opened:
        entries += 1
        if entries > MOST_FILES:
            raise _too_much(archive)
        if isinstance(one, zipfile.ZipInfo):
            path, length, folder = one.filename, one.file_size, one.is_dir()
            kind = stat.S_IFMT(one.external_attr >> 16)
            ordinary = folder or kind in (0, stat.S_IFREG)
        else:
            path, length, folder, ordinary = (
                one.name,
                one.size,
                one.isdir(),
                one.isdir() or one.isreg(),
            )
        place = PurePosixPath(path)
        outside = place.is_absolute() or ".." in place.parts or "\\" in path or path[1:2] == ":"
        if outside or len(path) > LONGEST or length < 0 or not path.isprintable():
            raise ValueError(
                f"{archive} holds a path that leads out of its folder or is none here: {quoted(path)}."
            )
        ordinary = ordinary and not (isinstance(one, tarfile.TarInfo) and one.issparse())
        if not ordinary:
            raise ValueError(
                f"{archive} holds a link or device, {quoted(path)}; a run is made of files and folders."
            )
        if folder:
            continue
        total += length
        members.append(_Member(place, length, one))
        if total > MOST_BYTES:
            raise _too_much(archive)
    return members


def _without_top(members: list[_Member], archive: Path) -> tuple[list[_Member], str]:
    """Find the one folder with a config.yaml: its files, and its name ("" where the archive itself is that folder).

    Raises:
        ValueError: there is no such folder, there are several, or a file is a program.
    """
    seen = [
        one
        for one in members
        if not any(part.startswith((".", "__MACOSX")) for part in one.path.parts)
    ]
    tops = {one.path.parent for one in seen if one.path.name == "config.yaml"}
    if len(tops) != 1:
        found = f"{len(tops)} of them" if tops else "none"
        raise ValueError(
            f"{archive} must hold one run or model folder with its config.yaml, and it holds {found}; pack one folder."
        )
    for one in seen:
        if one.path.suffix.lower() in CODE and one.path.name != OURS:
            raise ValueError(
                f"{archive} holds the program {quoted(str(one.path))}. A run or model from somebody else is received "
                "without programs: ask for the folder without it, and give the encoder again with --encoder."
            )
    top = tops.pop()
    inside = [
        _Member(one.path.relative_to(top), one.bytes, one.source)
        for one in seen
        if one.path.is_relative_to(top)
    ]
    return inside, top.name


def _is_known(path: PurePosixPath) -> bool:
    """Whether a file belongs to a run or a model. Pictures may lie deeper; fnmatch's * passes over folders."""
    deep = len(path.parts) > 2 and path.parts[0] != PICTURES
    return not deep and any(fnmatch(str(path), pattern) for pattern in KNOWN)


def _write(opened: zipfile.ZipFile | tarfile.TarFile, member: _Member, folder: Path) -> None:
    """Write one file below a folder; no more bytes than the archive's list said."""
    place = folder / member.path
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ValueError(
            f"The archive holds {quoted(str(member.path.parent))} as a file and as a folder."
        ) from None
    source: IO[bytes] | None
    source = (
        opened.open(member.source)
        if isinstance(opened, zipfile.ZipFile)
        else opened.extractfile(member.source)
    )
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
    """Check every file that was unpacked, and return what should be known of them.

    Raises:
        ValueError: one is damaged; names it as it is called in the archive.
    """
    try:
        if not is_run(folder):
            raise ValueError("it holds no run")
        found = check(Run(folder))
        for one in found:
            if not one.changed:
                raise ValueError(
                    one.sentence if one.file in one.sentence else f"{one.file}: {one.sentence}"
                )
        return [one.sentence for one in found]
    except ValueError as error:
        shown = str(error).replace(f"{folder}/", "").replace(str(folder), "the folder")
        raise ValueError(
            f"{archive} is not received, and nothing was kept of it: {shown}"
        ) from None


def _holds(run: Run) -> tuple[str, ...]:
    """Say in words what lies in a folder."""
    config = run.config
    published = run.checkpoint(PUBLISHED) is not None
    names = {part: getattr(config, part).name for part in ("encoder", "loss", "data")}
    said = [
        f"{'a model' if published else 'a run'}: {names['encoder']}, {names['loss']}, {names['data']}"
    ]
    if not published:
        status = run.status
        said.append(
            f"state {status['state']}, step {status.get('step', 0):,} of {status.get('steps', 0):,}"
        )
    weights = [one for one in ("best", "last") if run.checkpoint(one)]
    if weights:
        said.append(f"checkpoints: {', '.join(weights)}")
    for split in run.splits:
        rows, width = run.embeddings(split).vectors.shape
        said.append(f"embeddings of {split}: {rows:,} queries, {width} numbers each")
    pictures = sum(one.is_file() for one in (run.path / PICTURES).rglob("*"))
    if pictures:
        said.append(counted(pictures, "picture"))
    total = sum(one.stat().st_size for one in run.path.rglob("*") if one.is_file())
    said.append(f"{size(total)} in all")
    said += config.missing
    return tuple(map(visible, said))
