"""Tar shards as WebDataset writes them, here or in an object store: `cat/1.jpg`, or `0001.jpg` beside `0001.cls`."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from lab.core.tar_entries import Entry
from lab.data.images.folders import HIDDEN, LeftOut, class_at, class_depth, is_hidden, sentences
from lab.data.images.reading import EXTENSIONS, MOST_BYTES, ImageError, nameable, too_large
from lab.data.streams.index import ImageIndex, IndexedImage, built
from lab.data.streams.streamed_set import StreamedSet, said_by

RULES = 3
"""Number of the rules of what is an image and a class; an index that older rules made is built again."""

LONGEST = 4096
"""Bytes of a class's name."""


class TarShards(StreamedSet):
    """Images in uncompressed tar files. Members of one name before the first dot belong together.

    A sample's class is the text of its `.cls` member or, without one, the outermost folder that its image lies in,
    as in a folder of class folders: the one below where the outermost ones are called train, validation or test, or
    where one folder holds all others. The first time all heads of all shards are read, and where each image lies is
    kept among the caches (`LAB_CACHE`); after that an image is one read of its bytes, in the worker that decodes
    it. Classes are shared out by seed. Files elsewhere need the library of their store (`rankscope[s3]`,
    `rankscope[gcs]`) and its own credentials, which are never stored here.

    Raises:
        ValueError: no tar file can be listed there, one is damaged or compressed, a sample has two images, or none
            holds an image with a class.
        ImportError: the library for such addresses is missing.
    """

    def _indexed(self) -> ImageIndex:
        files, states = self._files(".tar")

        def images(problems: list[str]) -> Iterator[IndexedImage]:
            return _in_folders(list(_images(self.system, files, problems)), problems)

        return built("tar", [self.knobs.root, states, RULES], files, images)

    def _encoded(self, i: int) -> bytes:
        where, name = self.index.files[self.index.file[i]], self.keys[i]
        start, size = int(self.index.place[i]), int(self.index.size[i])
        if size > MOST_BYTES:
            raise too_large(name)
        try:
            # By name: s3fs has another argument in the place of the first.
            return self.system.cat_file(where, start=start, end=start + size)
        except Exception as error:  # each store has its own
            raise ImageError(f"{name} cannot be read from {where}: {said_by(error)}.") from None


def _images(system: Any, files: list[str], problems: list[str]) -> Iterator[IndexedImage]:
    for number, path in enumerate(files):
        try:
            with (
                system.open(path, "rb") as file,
                tarfile.open(fileobj=file, mode="r:", tarinfo=Entry) as archive,
            ):
                yield from _samples(archive, number, PurePosixPath(path).name, problems)
        except tarfile.TarError as error:
            raise ValueError(
                f"{path} is no whole, uncompressed tar file ({error}); images in a compressed one cannot be found by "
                "their place, so unpack it with gunzip first."
            ) from None


def _in_folders(images: list[IndexedImage], problems: list[str]) -> Iterator[IndexedImage]:
    """Give images without a .cls the class of their folder, by the rule of `lab.data.images.folders`."""
    # without the name of the shard
    paths = [PurePosixPath(image.name).parts[1:] for image in images]
    in_folders = [parts for parts, image in zip(paths, images, strict=True) if not image.class_name]
    wrapping = 0
    while (
        in_folders
        and len({parts[0] for parts in in_folders}) == 1
        and all(len(parts) > 2 for parts in in_folders)
    ):
        in_folders = [parts[1:] for parts in in_folders]
        wrapping += 1
    depth = wrapping + class_depth(in_folders)
    for parts, image in zip(paths, images, strict=True):
        class_name = image.class_name or class_at(parts, depth)
        if class_name:
            yield replace(image, class_name=class_name)
        elif len(problems) < 100:
            problems.append(
                f"{image.name} has neither a .cls beside it nor a class folder, and is left out."
            )


def _samples(
    archive: tarfile.TarFile, number: int, shard: str, problems: list[str]
) -> Iterator[IndexedImage]:
    """The images of one shard; members of a sample lie side by side."""
    sample: str | None = None
    image: tarfile.TarInfo | None = None
    label = ""
    hidden: LeftOut = {HIDDEN: []}
    for member in archive:
        archive.members = []  # type: ignore[attr-defined]  # else it keeps every one
        if not member.isreg():
            continue
        path = PurePosixPath(member.name)
        if any(map(is_hidden, path.parts)):
            hidden[HIDDEN].append(f"{shard}/{member.name}")
            continue
        key = str(path.parent / path.name.partition(".")[0])
        if key != sample:
            yield from _one(image, label, number, shard, problems)
            sample, image, label = key, None, ""
        if path.suffix.lower() in EXTENSIONS:
            if image is not None:
                raise ValueError(
                    f"{shard} has two images of one sample, {image.name} and {member.name}: names up to the first dot "
                    "are alike, so which of them is meant is not clear; give each its own name, or leave one out."
                )
            image = member
        elif path.name.partition(".")[2].lower() == "cls" and member.size <= LONGEST:
            content = archive.extractfile(member)
            label = content.read().decode(errors="backslashreplace").strip() if content else ""
    yield from _one(image, label, number, shard, problems)
    problems += sentences(hidden)


def _one(
    image: tarfile.TarInfo | None, label: str, number: int, shard: str, problems: list[str]
) -> Iterator[IndexedImage]:
    if image is None:
        return
    key = f"{shard}/{image.name}"
    if nameable(f"{image.name}{label}"):
        yield IndexedImage(number, image.offset_data, image.size, label, key)
    elif len(problems) < 100:
        problems.append(f"{ascii(key)} has a name that cannot be written down and is left out.")
