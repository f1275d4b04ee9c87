"""One image file, read with care: upright, RGB, bounded, and a sentence when it cannot be read."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from lab.core.files import other_kind

MAX_PIXELS = 100_000_000
"""Images with more pixels than this are refused before they are decoded (a decompression bomb fits in a few kB)."""

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "PPM")
"""What a file may be, whatever its name says. Pillow's further formats are old or, as PostScript, start a program."""

EXTENSIONS = frozenset({".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm"})

AT_ONCE = 128
"""Files that one thread looks at before the next task: a task a file would take longer than the looking."""

HEIC = frozenset({".heic", ".heif"})
"""Photos of phones in a format that Pillow cannot read."""
CONVERT = "HEIC photos cannot be read here: convert them to JPEG first, as phones and photo programs can"
_HEIC_BRANDS = frozenset({b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"})


def is_heic(head: bytes) -> bool:
    """Whether the first twelve bytes of a file are those of a HEIC photo."""
    return head[4:8] == b"ftyp" and head[8:12] in _HEIC_BRANDS


def nameable(key: str) -> bool:
    """Whether a file's name can be written down; bytes that are no UTF-8 fit in no JSON and no log."""
    return key.encode(errors="ignore").decode() == key


class ImageError(ValueError):
    """An image that is missing, corrupt or too large; the sentence names it."""


def open_rgb(source: Path | bytes, name: str = "", least: int | None = None, most: int = MAX_PIXELS) -> Image.Image:
    """Decode one image, turned upright by its EXIF orientation, transparent parts on white, as RGB.

    Args:
        source: a file, or the bytes of one.
        name: what messages call the image; by default the path.
        least: pixels that either side is needed in: a larger JPEG is decoded at a half, a quarter or an eighth of its
            size, as long as that is enough.
        most: pixels that it may have.

    Raises:
        ImageError: missing, not an image, truncated, or more than `most` pixels.
        MemoryError: there is too little of it to decode the image, which may be a good one.
    """
    with _opened(source, name, most) as image:
        try:
            if least is not None:
                image.draft(None, (least, least))  # of other formats it does nothing
            image.load()
            return as_rgb(image)
        except (OSError, SyntaxError, ValueError, IndexError, MemoryError, EOFError) as error:
            called = name or str(source)
            if isinstance(error, MemoryError) or "out of memory" in str(error):
                raise MemoryError(f"{called} could not be decoded for lack of memory") from None
            raise ImageError(f"{called} is damaged and cannot be decoded: {error}.") from None


def as_rgb(image: Image.Image) -> Image.Image:
    """A decoded image turned upright by its EXIF orientation, transparent parts on white, as RGB.

    Raises:
        ValueError: it has pixels that are no finite number.
    """
    upright = ImageOps.exif_transpose(image)
    if upright.mode in ("RGBA", "LA", "PA") or "transparency" in upright.info:
        layer = upright.convert("RGBA")
        upright = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
    elif upright.mode == "F" and not np.isfinite(np.asarray(upright)).all():
        raise ValueError("it has pixels that are no finite number")
    elif upright.mode.startswith("I") or upright.mode == "F":
        upright = _eight_bits(upright)
    return upright.convert("RGB")


def size_of(source: Path) -> tuple[int, int]:
    """Width and height, from the first bytes only.

    Raises:
        ImageError: missing, empty, not an image, or more than `MAX_PIXELS` pixels.
    """
    with _opened(source, "") as image:
        return image.size


def problems_of(files: Sequence[Path], check: Callable[[Path], object]) -> list[str | None]:
    """What `size_of` or `check_whole` says of each file, None where it is well; looked at by eight threads."""

    def problems(start: int) -> list[str | None]:
        return [problem(file) for file in files[start : start + AT_ONCE]]

    def problem(file: Path) -> str | None:
        try:
            check(file)
        except ImageError as error:
            return str(error)
        return None

    with ThreadPoolExecutor(8) as pool:
        return [one for part in pool.map(problems, range(0, len(files), AT_ONCE)) for one in part]


def check_whole(source: Path) -> None:
    """Make sure that a file is an image and has its end; decodes it only where the end looks wrong.

    Raises:
        ImageError: as `size_of`, or truncated or damaged.
    """
    with _opened(source, "") as image:
        end = _ENDS.get(image.format or "")
    with source.open("rb") as file:
        file.seek(max(0, source.stat().st_size - 32))
        if end is None or end not in file.read():
            open_rgb(source)


_ENDS = {"JPEG": b"\xff\xd9", "PNG": b"IEND"}


def _opened(source: Path | bytes, name: str, most: int = MAX_PIXELS) -> Image.Image:
    name = name or str(source if isinstance(source, Path) else "the image")
    if isinstance(source, Path) and (kind := other_kind(source)):
        raise ImageError(f"{name} is {kind}, not an image.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            image = Image.open(io.BytesIO(source) if isinstance(source, bytes) else source, formats=FORMATS)
    except FileNotFoundError:
        raise ImageError(f"{name} is missing.") from None
    except Image.DecompressionBombError:
        raise ImageError(f"{name} has more than {MAX_PIXELS:,} pixels.") from None
    except UnidentifiedImageError:
        with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
            heic = is_heic(file.read(12))
        if heic:
            raise ImageError(f"{name} is none of the formats that can be read; {CONVERT}.") from None
        raise ImageError(f"{name} is not an image of a known format ({', '.join(FORMATS)}).") from None
    except (OSError, SyntaxError, ValueError) as error:
        raise ImageError(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    if image.width * image.height > most:
        image.close()
        raise ImageError(f"{name} has {image.width} x {image.height} pixels, more than {most:,}.")
    return image


def _eight_bits(image: Image.Image) -> Image.Image:
    """16-bit and floating greys, scaled to their own range; Pillow would clip them at 255."""
    low, high = cast(tuple[float, float], image.getextrema())  # greys have one band
    scale = 255 / (high - low) if high > low else 0
    return image.convert("F").point(lambda value: value * scale - low * scale).convert("L")
