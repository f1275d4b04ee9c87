"""JPEG files decoded on a GPU by torchvision (nvJPEG), the images of a batch at once, and cropped there.

A loading process looks at the head of each file only. What nvJPEG would read otherwise than Pillow does, or not at all,
it decodes itself: other formats, photos that have to be turned upright, CMYK, and files that lack their end.

torchvision 0.29 calls its decoders deprecated in favour of TorchCodec, and has no date for their end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import torch
from PIL import Image
from torchvision.io import ImageReadMode, decode_jpeg
from torchvision.transforms.v2 import functional as F

from lab.data.images.reading import ImageError, is_plain_jpeg, open_rgb
from lab.data.images.transforms import Transform

Cropped = tuple[int, torch.Tensor | None, torch.Tensor, dict[int, str]]
"""Step, uint8 [n 3 h w] (None: no image), positions [n] of the images, and a sentence for each that is left out."""

Loaded = tuple[int, "torch.Tensor | Undecoded | None", torch.Tensor, dict[int, str]]
"""The same as it comes from a loading process."""


@dataclass(frozen=True)
class Undecoded:
    """Images of a part of one batch as they come from a loading process.

    data: uint8, all sources one after the other; one tensor, since each takes a file descriptor on its way. shapes: of
    the sources. names: of the images. seeds: of their crops, if these are drawn.
    """

    data: torch.Tensor
    shapes: Sequence[torch.Size]
    names: Sequence[str]
    seeds: Sequence[int] | None

    @classmethod
    def of(cls, sources: Sequence[torch.Tensor], names: Sequence[str], seeds: Sequence[int] | None) -> Self:
        """sources: of each image uint8 [bytes], a file to decode, or uint8 [3 h w]."""
        return cls(torch.cat([one.reshape(-1) for one in sources]), [one.shape for one in sources], names, seeds)

    @property
    def sources(self) -> list[torch.Tensor]:
        parts = self.data.split([shape.numel() for shape in self.shapes])
        return [part.view(shape) for part, shape in zip(parts, self.shapes, strict=True)]


def source_of(file: bytes, name: str) -> torch.Tensor:
    """A file that a GPU may decode, uint8 [bytes], or the decoded image, uint8 [3 h w].

    Raises:
        ImageError: it is no image, or is damaged.
    """
    if is_plain_jpeg(file, name):
        return torch.frombuffer(bytearray(file), dtype=torch.uint8)
    return as_tensor(open_rgb(file, name))


def as_tensor(image: Image.Image | torch.Tensor) -> torch.Tensor:
    """uint8 [3 h w] of an image."""
    return image if isinstance(image, torch.Tensor) else F.pil_to_tensor(image)


def on_device(loaded: Iterable[Loaded], transform: Transform, device: torch.device) -> Iterator[Cropped]:
    """The same with images decoded and cropped on a device; what turns out to be damaged is left out."""
    for step, made, kept, failed in loaded:
        if not isinstance(made, Undecoded):
            yield step, made, kept, failed
            continue
        images, lost = _decoded(made, device)
        there = [place for place, image in enumerate(images) if image is not None]
        failed = {**failed, **{int(kept[place]): sentence for place, sentence in lost.items()}}
        seeds = None if made.seeds is None else [made.seeds[place] for place in there]
        whole = [image for image in images if image is not None]
        cropped = transform.batch(whole, seeds) if whole else None
        yield step, cropped, kept[torch.tensor(there, dtype=torch.int64)], failed


def _decoded(made: Undecoded, device: torch.device) -> tuple[list[torch.Tensor | None], dict[int, str]]:
    """Images uint8 [3 h w] on a device, None for damaged ones, and a sentence for each of these by its place."""
    sources = made.sources
    files = [place for place, source in enumerate(sources) if source.ndim == 1]
    decoded = dict(zip(files, _of_files([sources[place] for place in files], device), strict=True))
    images: list[torch.Tensor | None] = []
    lost = {}
    for place, source in enumerate(sources):
        image = decoded.get(place)
        if image is None and source.ndim == 1:  # Pillow reads it, or says what is wrong with it
            try:
                image = as_tensor(open_rgb(source.numpy().tobytes(), made.names[place]))
            except ImageError as error:
                lost[place] = str(error)
        elif image is None:
            image = source
        images.append(None if image is None else image.to(device))
    return images, lost


def _of_files(files: Sequence[torch.Tensor], device: torch.device) -> list[torch.Tensor | None]:
    """Each file as an image, or None where it cannot be decoded."""
    if not files:
        return []
    try:
        return list(decode_jpeg(list(files), mode=ImageReadMode.RGB, device=device))
    except torch.OutOfMemoryError:
        raise
    except RuntimeError:  # one of them is damaged
        return [None] if len(files) == 1 else [one for file in files for one in _of_files([file], device)]
