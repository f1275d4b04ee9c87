"""A data set of images in large files; it takes little memory for any number of images.

Files are local or remote, and are read through fsspec: a folder of this machine, `s3://`, `gs://`, `hf://`,
`memory://`. Credentials are never a knob and never stored: the library behind an address reads its own variables and
files (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or ~/.aws for s3://, GOOGLE_APPLICATION_CREDENTIALS for gs://,
HF_TOKEN for hf://), on every machine that reads. A reader of the index sees the addresses of the files in it, and no
more.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from PIL import Image

from lab.core.knobs import knob
from lab.data._base import ImageRecords, ImageSet, content_digest
from lab.data._splits import class_disjoint
from lab.data.images.folders import classes_sentence
from lab.data.images.reading import open_rgb
from lab.data.streams import index as indexes


class StreamedSet(ImageSet):
    """Base of `tar_shards` and `parquet_images`. `index` says where each image is."""

    _root: str = knob(
        "Folder of the files, or one of them; s3://, gs:// and hf:// addresses go through fsspec.",
        path=True,
        alias="root",
    )
    test: float = knob(
        "Fraction of the classes that are kept for testing.", default=0.5, ge=0, lt=1
    )
    validation: float = knob(
        "Fraction of the training classes that are kept for validation.", default=0.2, ge=0, lt=1
    )
    split_seed: int = knob(
        "Random seed of the split of the classes into training, validation and test.",
        default=0,
        ge=0,
    )
    _system = cast(Any, None)
    _opened_by = -1  # number of the process that opened the file system

    def _indexed(self) -> indexes.ImageIndex:
        """Return the index of the files below `knobs.root`, built if there is none."""
        raise NotImplementedError(f"{type(self).__name__} must define _indexed.")

    @property
    def system(self) -> Any:
        """The file system of the files, opened by the process that reads."""
        if self._opened_by != os.getpid():
            self._system = file_system(self.knobs.root, fresh=True)[0]
            self._opened_by = os.getpid()
        return self._system

    def _files(self, ending: str) -> tuple[list[str], list[str]]:
        """Return the files with this ending, and their states."""
        self._system, files, states = listed(self.knobs.root, (ending,))
        self._opened_by = os.getpid()
        return files, states

    def _read(self) -> ImageRecords:
        self.index = index = self._indexed()
        knobs = self.knobs
        splits = class_disjoint(
            np.asarray(index.labels), knobs.split_seed, knobs.test, knobs.validation
        )
        return ImageRecords(
            index.names, index.labels, index.class_names, splits, problems=index.problems
        )

    @property
    def classes_sentence(self) -> str:
        return classes_sentence(self.class_names, self.labels, "the names in the files:")

    def _encoded(self, i: int) -> bytes:
        """Return the file of the i-th image."""
        raise NotImplementedError(f"{type(self).__name__} must define _encoded.")

    def load(self, i: int) -> Image.Image:
        return open_rgb(self._encoded(i), self.keys[i], self.least)

    def with_content(self, i: int) -> tuple[Image.Image, int]:
        encoded = self._encoded(i)  # fetched once
        return open_rgb(encoded, self.keys[i], self.least), content_digest(encoded)

    @property
    def state(self) -> str:
        """The state of the index, which changes with the sizes and times of the files that it was made of."""
        return self.index.path.stem

    def __reduce__(self) -> Any:
        return functools.partial(type(self), **dict(self.knobs)), ()


def file_system(address: str, fresh: bool = False) -> tuple[Any, str]:
    """Return the file system of an address, and the path on it.

    Args:
        fresh: of this process alone; connections that were opened before a fork are of no use after it.

    Raises:
        ImportError: the library for such addresses is missing; says which.
        ValueError: there is no such kind of address.
    """
    import fsspec

    options = {"skip_instance_cache": True} if fresh else {}
    try:
        return fsspec.core.url_to_fs(address, **options)
    except (ImportError, ValueError) as error:
        raise type(error)(f"{address} cannot be read: {str(error).rstrip('.')}.") from None


STATES = (
    "ETag",
    "etag",
    "md5Hash",
    "sha",
    "blob_id",
    "generation",
    "mtime",
    "LastModified",
    "last_modified",
    "updated",
    "created",
)
"""Facts of a file by which stores show that it was written again; the first that exists is taken."""


def listed(root: str, endings: Sequence[str]) -> tuple[Any, list[str], list[str]]:
    """Return the file system, the files below an address with such endings, sorted, and the state of each.

    An address of one file is that file. A state is a text of the size and of what the store says of the content or the
    time of the last change: a file that was written again has another state.

    Raises:
        ValueError: it cannot be listed (not there, no permission, no credentials), or holds no such file.
    """
    system, path = file_system(root)
    files = {}
    try:
        for name, facts in system.find(path, detail=True).items():
            if name.endswith(tuple(endings)):
                files[name] = facts
    except Exception as error:  # each library has its own: botocore, gcsfs, aiohttp
        raise ValueError(
            f"{root} cannot be listed: {said_by(error)}. "
            "Credentials come from the variables and files of the store's own library; see `lab list data tar_shards`."
        ) from None
    if not files:
        raise ValueError(f"{root} holds no file that ends in {' or '.join(endings)}.")
    names = sorted(files)
    states = []
    for name in names:
        facts = files[name]
        change = next((facts[key] for key in STATES if facts.get(key)), "")
        states.append(f"{int(facts.get('size') or 0)} bytes, {change}")
    return system, names, states


def said_by(error: Exception) -> str:
    """Return the message of a store's library, in one line without a full stop."""
    words = str(error).strip()
    if len(words) > 1 and words[0] == words[-1] and words[0] in "'\"":  # a text as Python writes it
        words = words[1:-1]
    lines = words.splitlines()
    return lines[0].rstrip(".: ") if lines else type(error).__name__
