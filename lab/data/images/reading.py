"""One image file, read with care: upright, RGB, bounded, and a sentence when it cannot be read."""

from __future__ import annotations

import io
import itertools
import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import numpy as np
from PIL import Image, UnidentifiedImageError

from lab.core.files import other_kind
from lab.core.formats import size as size_in_words
from lab.data.images.metadata import TURNS, orientation_of, without_metadata

MAX_PIXELS = 100_000_000
"""Images with more pixels than this are refused before they are decoded (a decompression bomb fits in a few kB)."""

MOST_BYTES = 2_000_000_000
"""Bytes of an image's file: so many as `MAX_PIXELS` take with four numbers of 32 bits each, and some."""

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "PPM")
"""Formats that are read, whatever a file's name says. Pillow's further formats are old or, as PostScript, start a
program."""

_OF_JPEG = (".jpg", ".jpeg", ".jpe", ".jif", ".jfif", ".pjpeg", ".mpo")
EXTENSIONS = frozenset(
    {
        *_OF_JPEG,
        ".png",
        ".apng",
        ".webp",
        ".bmp",
        ".gif",
        ".tif",
        ".tiff",
        ".ppm",
        ".pgm",
        ".pbm",
        ".pnm",
    }
)
"""Suffixes of those formats. A file without one may be an image, too: `has_signature` decides."""

HEAD = 16
"""Bytes at the beginning of a file that say what it is."""
_OF_TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_SIGNATURES = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a", b"BM", *_OF_TIFF)

BITS = 258
PHOTOMETRIC = 262
"""Tags of a TIFF: how many bits a grey has, and whether zero is black."""

FEW_BITS = {"L;2": 85, "L;4": 17}
"""Greys of a PNG with two or four bits, to the factor that stretches them to eight."""

AT_ONCE = 128
"""Files of one task of a thread: a task for each file would take longer than reading its head."""

HEIC = frozenset({".heic", ".heif"})
"""Photos of phones in a format that Pillow cannot read."""
CONVERT = (
    "HEIC photos cannot be read here: convert them to JPEG first, as phones and photo programs can"
)
_HEIC_BRANDS = frozenset({b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"})


def is_heic(head: bytes) -> bool:
    """Return whether the first twelve bytes of a file are those of a HEIC photo."""
    return head[4:8] == b"ftyp" and head[8:12] in _HEIC_BRANDS


def has_signature(head: bytes) -> bool:
    """Return whether a file that begins with these bytes (`HEAD` of them) is of one of `FORMATS`."""
    if head[:1] == b"P" and head[1:2] in b"123456" and head[2:3].isspace():
        return True
    return head.startswith(_SIGNATURES) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP")


def nameable(key: str) -> bool:
    """Return whether a file's name can be written down; bytes that are not UTF-8 fit in no JSON and no log."""
    return key.encode(errors="ignore").decode() == key


class ImageError(ValueError):
    """An image that is missing, corrupt or too large; the sentence names it."""


def too_large(name: str) -> ImageError:
    """Return the error of a file that is larger than any image that is read."""
    return ImageError(
        f"{name} is larger than {size_in_words(MOST_BYTES)}, so it is no image that is read here."
    )


def open_rgb(
    source: Path | bytes, name: str = "", least: int | None = None, most: int = MAX_PIXELS
) -> Image.Image:
    """Decode one image, turned upright by its EXIF orientation, transparent parts on white, as RGB.

    Greys of 12 and 16 bits keep their scale: 4,095 or 65,535 becomes 255. A TIFF whose zero is white is turned over.
    Greys of 32 bits and of floating numbers, which have no scale of their own, are stretched from their smallest to
    their largest value. Metadata never decide whether an image is read: only the orientation is used.

    Args:
        source: a file, or the bytes of one.
        name: what messages call the image; by default the path.
        least: pixels that either side is needed in: a larger JPEG is decoded at a half, a quarter or an eighth of its
            size, as long as that is enough.
        most: pixels that it may have.

    Raises:
        ImageError: missing, not an image, truncated, damaged in any way, or more than `most` pixels.
        MemoryError: there is too little of it to decode the image, which may be a good one.
    """
    if not name:
        name = str(source) if isinstance(source, Path) else "the image"
    with _quiet, _opened(source, name, most) as image:
        size = image.size
        try:
            return _decoded(image, least)
        except Exception as error:  # decoders raise a dozen unrelated kinds
            failure = error
        if (
            isinstance(failure, MemoryError) or "out of memory" in str(failure)
        ) and not _fits_memory(size):
            raise MemoryError(f"{name} could not be decoded for lack of memory") from None
        bare = without_metadata(_bytes_of(source))
        if bare is not None:
            with suppress(Exception), Image.open(io.BytesIO(bare), formats=FORMATS) as image:
                return _decoded(image, least)
    raise _damaged(name, failure)


def _decoded(image: Image.Image, least: int | None) -> Image.Image:
    """Decode an image that was just opened."""
    orientation = None
    if image.format == "TIFF":
        # Pillow turns a TIFF while it loads it, and raises where another tag is odd: it is given no EXIF to read.
        orientation = orientation_of(image)
        unread: Any = Image.Exif()
        unread._loaded = True
        image._exif = unread
    if least is not None:
        image.draft(None, (least, least))  # of other formats it does nothing
    return _upright_rgb(image, orientation)


def _fits_memory(size: tuple[int, int]) -> bool:
    """Return whether so many pixels can be decoded here, so that a lack of memory is the file's own fault."""
    import psutil

    return 40 * size[0] * size[1] < psutil.virtual_memory().available


def as_rgb(image: Image.Image, name: str = "the image") -> Image.Image:
    """Return an image that Pillow opened, in the form that `open_rgb` describes; the image itself stays as it is.

    Args:
        name: what messages call the image.

    Raises:
        ImageError: it was not decoded before, and cannot be; or it has pixels that are no finite number.
    """
    try:
        with _quiet:
            return _upright_rgb(image)
    except Exception as error:  # a file that was opened before is read only now
        raise _damaged(name, error) from None


def _damaged(name: str, error: Exception) -> ImageError:
    reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return ImageError(f"{name} is damaged and cannot be decoded: {reason}.")


def _upright_rgb(image: Image.Image, orientation: int | None = None) -> Image.Image:
    """Decode an image; orientation: 1 to 8, by default what the image says."""
    depth = _grey_depth(image)
    raw = _raw_mode(image)
    image.load()
    if raw in FEW_BITS and isinstance(image.info.get("transparency"), int):
        # Pillow stretches the pixels, but not the value that is none
        image.info["transparency"] *= FEW_BITS[raw]
    if orientation is None:
        orientation = orientation_of(image)
    turn = TURNS.get(orientation)
    upright = image if turn is None else image.transpose(turn)
    is_16_bits = upright.mode == "I" and image.format in ("PNG", "PPM")
    # The depth first: the other steps work with 8 bits only.
    if is_16_bits or upright.mode.startswith("I;16") or upright.mode in ("I", "F"):
        if is_16_bits or upright.mode.startswith("I;16"):
            upright = _of_16_bits(upright, image.info.get("transparency"), depth)
        else:
            upright = _stretched(upright)
        if _zero_is_white(image):
            upright = _inverted(upright)
    elif upright.mode in ("RGBA", "RGBa", "LA", "La", "PA") or "transparency" in upright.info:
        upright = _on_white(upright)
    rgb = upright.convert("RGB")
    rgb.info = {}
    return rgb


def _raw_mode(image: Image.Image) -> str:
    """Return how the pixels of a PNG are stored; empty for other formats, and once it is decoded."""
    tiles: Any = getattr(image, "tile", ())
    if image.format != "PNG" or not tiles:
        return ""
    return str(tiles[0][3])


def _grey_depth(image: Image.Image) -> int:
    """Return the bits of a grey that Pillow holds in 16 bits; a TIFF may have 12."""
    if image.format != "TIFF":
        return 16
    bits: Any = getattr(image, "tag_v2", {}).get(BITS, (16,))
    return int(bits[0]) if bits[0] in (12, 16) else 16


def _zero_is_white(image: Image.Image) -> bool:
    """Return whether the zero of a TIFF is white, which Pillow respects only in greys of at most 8 bits."""
    return image.format == "TIFF" and getattr(image, "tag_v2", {}).get(PHOTOMETRIC) == 0


def _inverted(image: Image.Image) -> Image.Image:
    return image.point(lambda value: 255 - value)


def _of_16_bits(image: Image.Image, transparent: Any, depth: int) -> Image.Image:
    """Return greys of 16 bits as 8 bits, v / 257.

    Args:
        transparent: the value that a PNG calls so, which becomes white.
        depth: bits that are used; the largest number of so many is white.
    """
    values = np.asarray(image).astype(np.int64)
    most = 2**depth - 1
    grey = (255 * values.clip(0, most) + most // 2) // most
    if isinstance(transparent, int):
        grey[values == transparent] = 255
    return Image.fromarray(grey.astype(np.uint8))


def _stretched(image: Image.Image) -> Image.Image:
    """Return greys of 32 bits or of floating numbers, scaled to their own range; Pillow would clip them at 255.

    Raises:
        ValueError: it has pixels that are no finite number.
    """
    if image.mode == "F" and not np.isfinite(np.asarray(image)).all():
        raise ValueError("it has pixels that are no finite number")
    low, high = cast(tuple[float, float], image.getextrema())  # greys have one band
    scale = 255 / (high - low) if high > low else 0
    return image.convert("F").point(lambda value: value * scale - low * scale).convert("L")


def _on_white(image: Image.Image) -> Image.Image:
    """Return an image with its transparent parts laid on white; one whose transparency makes no sense as it is."""
    try:
        # from premultiplied
        straight = image.convert({"La": "LA", "RGBa": "RGBA"}.get(image.mode, image.mode))
        layer = straight.convert("RGBA")
    except (ValueError, TypeError, KeyError):
        opaque = image.copy()
        opaque.info = {}
        return opaque
    return Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)


def size_of(source: Path) -> tuple[int, int]:
    """Return width and height, from the first bytes only.

    Raises:
        ImageError: missing, empty, not an image, or more than `MAX_PIXELS` pixels.
    """
    with _opened(source, str(source)) as image:
        return image.size


def problems_of(files: Sequence[Path], check: Callable[[Path], object]) -> list[str | None]:
    """Return what `size_of` or `check_whole` says of each file, None for a good one; eight threads read."""

    def problem(file: Path) -> str | None:
        try:
            check(file)
        except ImageError as error:
            return str(error)
        return None

    def problems(start: int) -> list[str | None]:
        return [problem(file) for file in files[start : start + AT_ONCE]]

    with ThreadPoolExecutor(8) as pool:
        return list(
            itertools.chain.from_iterable(pool.map(problems, range(0, len(files), AT_ONCE)))
        )


def check_whole(source: Path) -> None:
    """Check that a file is an image and has its end; decode it only if the end looks wrong.

    Raises:
        ImageError: as `size_of`, or truncated or damaged.
    """
    with _opened(source, str(source)) as image:
        end = _ENDS.get(image.format or "")
    with source.open("rb") as file:
        file.seek(max(0, source.stat().st_size - 32))
        if end is None or end not in file.read():
            open_rgb(source)


_ENDS = {"JPEG": b"\xff\xd9", "PNG": b"IEND"}


def _opened(source: Path | bytes, name: str, most: int = MAX_PIXELS) -> Image.Image:
    """Read the head of an image file.

    Raises:
        ImageError: missing, empty, not an image, or more than `most` pixels.
    """
    kind = other_kind(source) if isinstance(source, Path) else None
    if kind:
        raise ImageError(f"{name} is {kind}, not an image.")
    if isinstance(source, Path) and source.is_file() and source.stat().st_size > MOST_BYTES:
        raise too_large(name)  # it may be a hole, which takes no room on the disk
    try:
        with _quiet:
            image = _head_of(source)
    except FileNotFoundError:
        raise ImageError(f"{name} is missing.") from None
    except Image.DecompressionBombError:
        raise ImageError(f"{name} has more than {MAX_PIXELS:,} pixels.") from None
    except UnidentifiedImageError:
        raise ImageError(f"{name} {_unidentified(source)}.") from None
    except Exception as error:  # parsers of heads raise many kinds
        reason = getattr(error, "strerror", None) or error
        raise ImageError(f"{name} cannot be read: {reason}.") from None
    if image.width * image.height > most:
        image.close()
        raise ImageError(f"{name} has {image.width} x {image.height} pixels, more than {most:,}.")
    return image


def _head_of(source: Path | bytes) -> Image.Image:
    """Open an image with Pillow, without its metadata if Pillow fails because of them."""
    try:
        return Image.open(
            io.BytesIO(source) if isinstance(source, bytes) else source, formats=FORMATS
        )
    except (OSError, Image.DecompressionBombError) as error:
        if not isinstance(error, UnidentifiedImageError):
            raise
        failure: Exception = error
    except Exception as error:
        failure = error
    bare = None
    if has_signature(_bytes_of(source, HEAD)):
        bare = without_metadata(_bytes_of(source))
    if bare is None:
        raise failure
    try:
        return Image.open(io.BytesIO(bare), formats=FORMATS)
    except Exception:
        raise failure from None


def _bytes_of(source: Path | bytes, count: int = -1) -> bytes:
    if isinstance(source, bytes):
        return source if count < 0 else source[:count]
    with source.open("rb") as file:
        return file.read(count)


def _unidentified(source: Path | bytes) -> str:
    """Return the end of the sentence about a file that is no image."""
    head = _bytes_of(source, HEAD)
    if not head:
        return "is not an image: it is empty"
    if is_heic(head):
        return f"is none of the formats that can be read; {CONVERT}"
    return f"is not an image of a known format ({', '.join(FORMATS)})"


class _Quiet:
    """Keep Pillow's warnings of odd metadata from the terminal while any thread reads an image.

    `warnings.catch_warnings` changes what the whole process shows, and threads that leave it in another order than they
    entered it would keep it changed; so the first thread enters it, and the last leaves it.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.readers = 0
        self.before: Any = None

    def __enter__(self) -> None:
        with self.lock:
            if not self.readers:
                self.before = warnings.catch_warnings()
                self.before.__enter__()
                warnings.filterwarnings("ignore", module=r"PIL\.")
            self.readers += 1

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.readers -= 1
            if not self.readers:
                self.before.__exit__(*error)


_quiet = _Quiet()
