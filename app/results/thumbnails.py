"""Small pictures as data URIs: what the gallery shows and what caches hold (bytes, never open images)."""

from __future__ import annotations

import base64
import io

from PIL import Image, ImageOps

SIDE = 128
"""Longest side of a thumbnail, in pixels."""


def thumbnail(image: Image.Image, side: int = SIDE) -> str:
    """Shrink an image to at most `side` pixels and write it as a `data:` URI (WebP)."""
    small = image.convert("RGB")
    small.thumbnail((side, side), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    small.save(buffer, "WEBP", quality=84, method=0)
    return "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def side_by_side(left: Image.Image, right: Image.Image, side: int = SIDE) -> str:
    """Two images in one picture, each in a white square of `side` pixels, as a `data:` URI."""
    both = Image.new("RGB", (2 * side, side), "white")
    for column, image in enumerate((left, right)):
        small = ImageOps.contain(image.convert("RGB"), (side, side), Image.Resampling.LANCZOS)
        both.paste(small, (column * side + (side - small.width) // 2, (side - small.height) // 2))
    return thumbnail(both, 2 * side)
