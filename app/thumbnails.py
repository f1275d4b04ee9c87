"""Small pictures as data URIs: what the gallery shows and what caches hold (bytes, never open images)."""

from __future__ import annotations

import base64
import io

from PIL import Image

SIDE = 128
"""Longest side of a thumbnail, in pixels."""


def thumbnail(image: Image.Image, side: int = SIDE) -> str:
    """Shrink an image to at most `side` pixels and write it as a `data:` URI (WebP)."""
    small = image.convert("RGB")
    small.thumbnail((side, side), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    small.save(buffer, "WEBP", quality=84, method=0)
    return "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
