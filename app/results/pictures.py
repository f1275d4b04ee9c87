"""Uploaded pictures, and small pictures as data URIs. A file's type is known from its content, not from its name."""

from PIL import Image, ImageOps

from lab.core.web_page import SIDE, thumbnail
from lab.data.images.reading import open_rgb

MAX_MEGABYTES = 25
MAX_PIXELS = 64_000_000
"""Allows photographs of 48 and 50 megapixels. Decoding takes about 260 MB."""
EXTENSIONS = ("jpg", "jpeg", "png", "webp", "bmp", "gif", "tif", "tiff", "heic", "heif")
"""Accepted file types. HEIC is accepted to show a message that says what to do."""


def picture(data: bytes) -> Image.Image:
    """Decode an upload to RGB, upright, with a white background and without metadata.

    Raises:
        ValueError: the file is not an image, has too many pixels or is damaged.
    """
    return open_rgb(data, "The picture", most=MAX_PIXELS)


def side_by_side(left: Image.Image, right: Image.Image) -> str:
    """Return a data URI of two images side by side, each in a white square of `SIDE` pixels."""
    both = Image.new("RGB", (2 * SIDE, SIDE), "white")
    for column, image in enumerate((left, right)):
        square = ImageOps.pad(image.convert("RGB"), (SIDE, SIDE), Image.Resampling.LANCZOS, "white")
        both.paste(square, (column * SIDE, 0))
    return thumbnail(both, 2 * SIDE)
