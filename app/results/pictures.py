"""Small pictures as data URIs; and uploaded ones, believed only after they were decoded, whatever they are called."""

from PIL import Image, ImageOps

from lab.core.web_page import SIDE, thumbnail
from lab.data.images.reading import open_rgb

MAX_MEGABYTES = 25
MAX_PIXELS = 64_000_000
"""Room for photos of 48 and 50 megapixels; decoding takes about 260 MB."""
EXTENSIONS = ("jpg", "jpeg", "png", "webp", "bmp", "gif", "tif", "tiff", "heic", "heif")
"""What may be sent. HEIC only so that a sentence says what to do."""


def picture(data: bytes) -> Image.Image:
    """Decode an upload: RGB, upright, transparent parts on white, without any metadata.

    Raises:
        ValueError: no image, too many pixels, or damaged; the sentence says which.
    """
    return open_rgb(data, "The picture", most=MAX_PIXELS)


def side_by_side(left: Image.Image, right: Image.Image) -> str:
    """Two images in one picture, each in a white square of `SIDE` pixels, as a `data:` URI."""
    both = Image.new("RGB", (2 * SIDE, SIDE), "white")
    for column, image in enumerate((left, right)):
        square = ImageOps.pad(image.convert("RGB"), (SIDE, SIDE), Image.Resampling.LANCZOS, "white")
        both.paste(square, (column * SIDE, 0))
    return thumbnail(both, 2 * SIDE)
