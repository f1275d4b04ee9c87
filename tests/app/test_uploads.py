"""Uploads that are no pictures, or too much of one, each get a sentence; pictures come out clean."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from app.results import pictures as uploads
from tests.data.test_images import bomb


def encoded(image: Image.Image, format: str, **options) -> bytes:
    file = io.BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


PICTURE = Image.fromarray(np.random.default_rng(0).integers(0, 255, (40, 60, 3), dtype=np.uint8))

BAD = {
    "nothing": (b"", "not an image"),
    "text": (b"hello, I am a text file", "not an image"),
    "zeros": (bytes(10_000), "not an image"),
    "html": (b"<html><script>alert(1)</script></html>", "not an image"),
    "svg": (
        b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
        "not an image",
    ),
    "pickle": (b"\x80\x04\x95\x0f\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94.", "not an image"),
    "HEIC": (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "convert them to JPEG"),
    "only a signature": (b"\x89PNG\r\n\x1a\n", "not an image"),
    "jpeg cut short": (encoded(PICTURE, "JPEG")[:700], "damaged"),
    "png cut short": (encoded(PICTURE, "PNG")[:2000], "damaged"),
    "png with noise inside": (encoded(PICTURE, "PNG")[:200] + bytes(500), "damaged"),
    "bomb of a billion pixels": (bomb(32_000, 32_000), "pixels"),
    "bomb just above our limit": (bomb(8_000, 8_001), "pixels"),
    "bomb above Pillow's": (bomb(2**31 - 1, 2**31 - 1), "pixels"),
    "postscript, which Pillow would run a program for": (
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
        "not an image",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_uploads_get_one_sentence(name):
    data, word = BAD[name]
    with pytest.raises(ValueError) as refused:
        uploads.picture(data)
    sentence = str(refused.value)
    assert word in sentence
    assert sentence.endswith(".") and "\n" not in sentence and len(sentence) < 200
    assert "/" not in sentence and "object at" not in sentence


@pytest.mark.parametrize("format", ["PNG", "JPEG", "WEBP", "BMP", "GIF", "TIFF"])
def test_pictures_of_every_format_are_read(format):
    image = uploads.picture(encoded(PICTURE, format))
    assert image.mode == "RGB" and image.size == PICTURE.size


def test_a_sideways_photo_is_turned_and_loses_its_metadata():
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010F] = "maker of the camera"
    image = uploads.picture(encoded(PICTURE, "JPEG", exif=exif))
    assert image.size == PICTURE.size[::-1]
    assert not image.info and not image.getexif()
