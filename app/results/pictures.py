"""Small pictures as data URIs; and uploaded ones, believed only after they were decoded, whatever they are called."""

from __future__ import annotations

import base64
import io
import warnings

from PIL import Image, ImageOps

from lab.core.formats import MB, size
from lab.data.images.reading import CONVERT, ImageError, is_heic, open_rgb

SIDE = 128
"""Longest side of a thumbnail, in pixels."""
MAX_MEGABYTES = 25
MAX_PIXELS = 64_000_000
"""Room for photos of 48 and 50 megapixels; decoding takes about 260 MB."""
SMALLER = f"choose one of at most {MAX_PIXELS / 1e6:.0f} million"
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF")
EXTENSIONS = ("jpg", "jpeg", "png", "webp", "bmp", "gif", "tif", "tiff", "heic", "heif")
"""What may be sent. HEIC only so that a sentence says what to do."""


def picture(data: bytes) -> Image.Image:
    """Decode an upload: RGB, upright, transparent parts on white, without any metadata.

    Raises:
        ValueError: empty, too many bytes or pixels, no image, or damaged; the sentence says which and what to do.
    """
    if not data:
        raise ValueError("The file is empty; choose a picture.")
    if len(data) > MAX_MEGABYTES * MB:
        raise ValueError(f"The file has {size(len(data))}; choose a picture of at most {MAX_MEGABYTES} MB.")
    if is_heic(data[:12]):
        raise ValueError(f"{CONVERT}.")
    width, height = _size(data)
    if width * height > MAX_PIXELS:
        raise ValueError(f"The picture has {width:,} x {height:,} pixels; {SMALLER}.")
    try:
        image = open_rgb(data, "The picture")
    except ImageError as error:
        raise ValueError(str(error)) from None
    image.info = {}
    return image


def _size(data: bytes) -> tuple[int, int]:
    """Width and height from the header alone, so that a decompression bomb is never decoded."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=FORMATS) as image:
                return image.size
    except Image.DecompressionBombError:
        raise ValueError(f"The picture has too many pixels; {SMALLER}.") from None
    except Exception:  # Pillow's readers raise anything on hostile bytes; whatever it was, this is no picture.
        raise ValueError("The file is not a picture that can be read; choose a JPEG, PNG or WebP file.") from None


def thumbnail(image: Image.Image, side: int = SIDE) -> str:
    """Shrink an image to at most `side` pixels and write it as a `data:` URI (WebP)."""
    small = image.convert("RGB")
    small.thumbnail((side, side), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    small.save(buffer, "WEBP", quality=84, method=0)
    return "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def side_by_side(left: Image.Image, right: Image.Image) -> str:
    """Two images in one picture, each in a white square of `SIDE` pixels, as a `data:` URI."""
    both = Image.new("RGB", (2 * SIDE, SIDE), "white")
    for column, image in enumerate((left, right)):
        both.paste(
            ImageOps.pad(image.convert("RGB"), (SIDE, SIDE), Image.Resampling.LANCZOS, "white"), (column * SIDE, 0)
        )
    return thumbnail(both, 2 * SIDE)
