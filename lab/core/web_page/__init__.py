"""What a page that opens from a disk is made of: a template that is filled, and data that no name can break out of."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image

SIDE = 128
"""Longest side of a thumbnail, in pixels."""


def as_data(value: Any) -> str:
    """JSON for a script element: it holds no `<`, so that nothing in it ends the element."""
    return json.dumps(value).replace("<", "\\u003c")


def as_source(text: str) -> str:
    """How a content security policy allows this very script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def filled(template: Path, blanks: Mapping[str, str]) -> str:
    """A file with each %NAME% replaced once; what is put in is not looked through for blanks of other names."""
    parts = re.split(r"%([A-Z]+)%", template.read_text(encoding="utf-8"))
    return "".join(blanks[part] if at % 2 else part for at, part in enumerate(parts))


def thumbnail(image: Image, side: int = SIDE) -> str:
    """Shrink an image to at most `side` pixels and write it as a `data:` URI (WebP)."""
    from PIL.Image import Resampling

    small = image.convert("RGB")
    small.thumbnail((side, side), Resampling.LANCZOS)
    return as_uri(small, quality=84, method=0)


def as_uri(image: Image, **options: Any) -> str:
    """A picture as a `data:` URI (WebP)."""
    written = io.BytesIO()
    image.save(written, "WEBP", **options)
    return f"data:image/webp;base64,{base64.b64encode(written.getvalue()).decode()}"
