"""What surrounds the pixels in an image file: the EXIF orientation is used, and nothing else is.

Metadata never decide whether an image is read. Pillow parses all of them, and some files in the wild make it raise.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

from PIL import Image

ORIENTATION = 0x112
"""Number of the EXIF tag that says how a photo was turned."""

TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""EXIF orientation to what makes the image upright."""

_WIDTHS = {1: 1, 3: 2, 4: 4, 8: 2, 9: 4}
"""Types of an EXIF value that hold whole numbers, to their bytes."""

_PNG = b"\x89PNG\r\n\x1a\n"
_PNG_KEPT = frozenset({b"PLTE", b"tRNS", b"IDAT", b"IEND"})
_SOI = b"\xff\xd8"
_SCAN = 0xDA
_ADOBE = 0xEE
_COMMENT = 0xFE


def orientation_of(image: Image.Image) -> int:
    """Return the EXIF orientation of an image, 1 to 8; 1 where there is none or it cannot be read."""
    try:
        info = image.info
        if "exif" in info:
            return _tag(info["exif"])
        # text in a PNG, as ImageMagick writes it: three lines, then digits
        if "Raw profile type exif" in info:
            return _tag(bytes.fromhex("".join(info["Raw profile type exif"].split("\n")[3:])))
        of_tiff: Any = getattr(image, "tag_v2", {})
        return int(of_tiff.get(ORIENTATION, 1))
    except Exception:  # whatever is wrong with them, the pixels are as good as before
        return 1


def _tag(exif: bytes) -> int:
    """Return the orientation in the first directory of an EXIF block; the other tags are not looked at.

    Raises:
        KeyError: it is no such block, or the tag holds no whole number.
    """
    while exif.startswith(b"Exif\0\0"):
        exif = exif[6:]
    order = {b"II": "little", b"MM": "big"}[exif[:2]]

    def number(at: int, width: int) -> int:
        return int.from_bytes(exif[at : at + width], order)  # type: ignore[arg-type]  # one of the two words

    directory = number(4, 4)
    first = directory + 2
    for entry in range(first, min(first + 12 * number(directory, 2), len(exif) - 11), 12):
        if number(entry, 2) == ORIENTATION:
            value = number(entry + 8, _WIDTHS[number(entry + 2, 2)])
            return value if value in TURNS else 1
    return 1


def without_metadata(data: bytes) -> bytes | None:
    """Return a PNG or JPEG file with no metadata but its EXIF orientation; None for files of other kinds."""
    if data.startswith(_PNG):
        return _bare_png(data)
    if data.startswith(_SOI):
        return _bare_jpeg(data)
    return None


def _bare_png(data: bytes) -> bytes:
    header = b""
    pixels: list[bytes] = []
    orientation = 1
    at = len(_PNG)
    while at + 8 <= len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        kind = data[at + 4 : at + 8]
        chunk = data[at : at + length + 12]
        if kind == b"IHDR":
            header = chunk
        elif kind in _PNG_KEPT:
            pixels.append(chunk)
        elif kind == b"eXIf":
            orientation = _orientation_in(chunk[8:])
        at += length + 12
    body = b"eXIf" + _exif(orientation)
    exif = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    return b"".join([_PNG, header, exif, *pixels])


def _bare_jpeg(data: bytes) -> bytes:
    kept: list[bytes] = []
    orientation = 1
    at = len(_SOI)
    while at + 4 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        length = int.from_bytes(data[at + 2 : at + 4], "big")
        if marker == _SCAN:
            break
        segment = data[at : at + 2 + length]
        is_metadata = 0xE0 <= marker <= 0xEF or marker == _COMMENT
        if not is_metadata or marker == _ADOBE:  # Adobe's segment says how the colours are stored
            kept.append(segment)
        elif segment[4:10] == b"Exif\0\0" and orientation == 1:
            orientation = _orientation_in(segment[4:])
        at += 2 + length
    body = b"Exif\0\0" + _exif(orientation)
    return b"".join([_SOI, b"\xff\xe1", struct.pack(">H", len(body) + 2), body, *kept, data[at:]])


def _exif(orientation: int) -> bytes:
    """Return an EXIF block that holds an orientation alone."""
    return b"II*\0" + struct.pack("<IHHHIHHI", 8, 1, ORIENTATION, 3, 1, orientation, 0, 0)


def _orientation_in(exif: bytes) -> int:
    try:
        return _tag(exif)
    except KeyError:
        return 1
