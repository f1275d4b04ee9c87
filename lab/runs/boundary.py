"""What the words of a file may name: entries of the catalogues, names of networks, and paths inside its folder.

A person who types a word may name a program. A word in a file never runs a program. It names a path outside its folder,
an address or a download only where the person has the right to it: this account wrote the file (`lab.core.ownership`),
or the person typed `--allow paths downloads addresses`. The dashboard has no flags: it allows paths below its own
folders of data, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.core.explain import quoted
from lab.core.files import whole
from lab.core.knobs import Knobs, describe
from lab.core.words import (
    ADDRESS,
    ALLOW,
    DOWNLOAD,
    EVERYTHING,
    NAME,
    PATH,
    PROGRAM,
    is_address,
    kind_of,
)

if TYPE_CHECKING:
    from lab.data import ImageSet

roots: Callable[[], tuple[Path, ...] | None] = type(None)
"""The folders that every stored path must be below; None outside the dashboard, which replaces this function."""


@dataclass(frozen=True)
class Reference:
    """Something outside the catalogues that a file names.

    knob: its place, as section.knob. kind: `program`, `path`, `address` or `download`. value: the word itself.
    allowed: whether it may be read. right: the flag that a person types to allow it.
    """

    knob: str
    kind: str
    value: str
    allowed: bool
    right: str


@dataclass(frozen=True)
class Rights:
    """What the words of one file may name.

    what: the file, as a sentence begins with it. folder: that of the run. allow: some of `EVERYTHING`.
    below: further folders that paths may be below. on_page: whether a page of the dashboard reads the file.
    again: how a person gives a program instead.
    """

    what: str
    folder: Path | None = None
    allow: frozenset[str] = frozenset()
    below: tuple[Path, ...] = ()
    on_page: bool = False
    again: str = "give it again: --encoder MODULE:FUNCTION, or in Python encoder=..."

    def reference(self, knob: str, kind: str, value: str) -> Reference:
        """Judge one word."""
        allowed = ALLOW.get(kind) in self.allow or (kind == PATH and self._inside(value))
        right = f"--allow {ALLOW[kind]}" if kind in ALLOW else "--encoder MODULE:FUNCTION"
        return Reference(knob, kind, value, allowed, right)

    def check(self, references: Iterable[Reference]) -> None:
        """Refuse what may not be read.

        Raises:
            ValueError: names the file, the knob, its value, and how a person allows it.
        """
        for reference in references:
            if reference.allowed:
                continue
            if self.on_page:
                raise ValueError(self._why_not_on_page(reference))
            raise ValueError(self._why_not(reference))

    def _inside(self, value: str) -> bool:
        try:
            place = whole(value)
            folders = list(self.below)
            if self.folder is not None:
                folders.append(self.folder)
            return any(place.is_relative_to(whole(folder)) for folder in folders)
        except (ValueError, OSError, RuntimeError):  # not a valid path
            return False

    def _why_not(self, reference: Reference) -> str:
        named = (
            f"{self.what} names the {reference.kind} {quoted(reference.value)} ({reference.knob})"
        )
        if reference.kind == PROGRAM:
            return f"{named}, and no program is run because a file names it; if you trust it, {self.again}."
        if reference.kind == PATH:
            named += ", which lies outside its folder"
        return (
            f"{named}, and this account did not write that; if you trust the sender, add {reference.right} "
            f"(in Python allow={ALLOW[reference.kind]!r})."
        )

    def _why_not_on_page(self, reference: Reference) -> str:
        named = f"{reference.knob}: {reference.value[:200]}"
        if reference.kind == PATH:
            folders = ", ".join(map(str, self.below))
            return (
                f"{named} lies outside the folders that this dashboard may read ({folders}); start it with --data "
                "FOLDER to allow it."
            )
        if reference.kind == ADDRESS:
            return f"{named} is an address, and this dashboard reads only files of this machine; use the command `lab`."
        if reference.kind == PROGRAM:
            return f"{named} is a program, and this dashboard runs none; use the command `lab`."
        return f"{named} would be downloaded, and this dashboard fetches nothing for a run; use the command `lab`."


def chosen(allow: Iterable[str] | str) -> frozenset[str]:
    """Check the words of `--allow`, or of the argument `allow`.

    Raises:
        ValueError: there is no such right; lists them.
    """
    words = frozenset([allow] if isinstance(allow, str) else allow)
    unknown = sorted(map(str, words - EVERYTHING))
    if unknown:
        raise ValueError(f"allow takes {', '.join(sorted(EVERYTHING))}; got {', '.join(unknown)}.")
    return words


def named(
    section: str, entry: Any, values: Mapping[str, Any], downloads: bool = True
) -> Iterator[tuple[str, str, str]]:
    """Find what the knobs of an entry name: yields section.knob, the kind and the value.

    Args:
        entry: the class of the catalogue, or a `Knobs` class.
        values: knob to value, unchecked ones among them. A network that is given as `network` replaces its word.
        downloads: whether to look for weights that would be fetched, which takes seconds.
    """
    knobs: type[Knobs] = entry if issubclass(entry, Knobs) else entry.Knobs
    for declared in describe(knobs):
        value = values.get(declared.name)
        knob = f"{section}.{declared.name}"
        if not isinstance(value, str) or not value:
            continue
        if declared.path:
            yield knob, ADDRESS if is_address(value) else PATH, value
        elif declared.network and values.get("network") is None:
            yield from _of_network(knob, value)
    if downloads and values.get("network") is None and hasattr(entry, "download"):
        weights = entry.download(values)
        if weights:
            yield f"{section}.pretrained", DOWNLOAD, weights


def _of_network(knob: str, value: str) -> Iterator[tuple[str, str, str]]:
    """Find what the word of a network names: a network's name, or an encoder as JSON with knobs of its own."""
    if not value.startswith("{"):
        kind = kind_of(value)
        if kind == PATH:
            yield knob, kind, value.removeprefix("local-dir:")
        elif kind != NAME:
            yield knob, kind, value
        return
    from lab.encoders.adapted import encoder_in

    entry, values = encoder_in(value)
    yield from named(knob, entry, values, downloads=False)  # its weights are those of a run


def check_images(images: ImageSet, rights: Rights) -> None:
    """Refuse a set of images with a file outside the folders: a manifest, a list or a link may lead anywhere.

    Raises:
        ValueError: names the first folder or file that lies outside, and how a person allows it.
    """
    from lab.data.streams.streamed_set import StreamedSet

    if isinstance(images, StreamedSet):
        files = [rights.reference(images.name, PATH, file) for file in images.index.files]
        rights.check(replace(file, value=f"{file.value} or what it links to") for file in files)
    if images.root is None or images.pixels is not None:
        return
    paths = [images.path(i) for i in range(len(images))]
    folders = sorted({path.parent for path in paths})
    rights.check(rights.reference(images.name, PATH, str(folder)) for folder in folders)
    for path in paths:
        if path.is_symlink():
            where = f"{images.name}, of which {path} is a link there"
            rights.check([rights.reference(where, PATH, str(whole(path)))])


def check_elsewhere(program: str) -> None:
    """Refuse to let another process train with a program that a person named in this one.

    Args:
        program: "" for none.

    Raises:
        ValueError: there is one.
    """
    if program:
        raise ValueError(
            f"The encoder is made by the program {program}, which only the process that is given it may run; train "
            "here, without a queue or a launcher."
        )
