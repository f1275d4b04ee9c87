"""Uploads that are no pictures, or too much of one, each get a sentence; pictures come out clean."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from app.results import pictures as uploads


def encoded(image: Image.Image, format: str, **options) -> bytes:
    file = io.BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


def png_that_claims(width: int, height: int) -> bytes:
    """A PNG header with any size and a few bytes of data: a decompression bomb's first kilobyte."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0" * 9999))
        + chunk(b"IEND", b"")
    )


PICTURE = Image.fromarray(np.random.default_rng(0).integers(0, 255, (40, 60, 3), dtype=np.uint8))

BAD = {
    "nothing": (b"", "not an image"),
    "text": (b"hello, I am a text file", "not an image"),
    "zeros": (bytes(10_000), "not an image"),
    "html": (b"<html><script>alert(1)</script></html>", "not an image"),
    "svg": (b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>', "not an image"),
    "pickle": (b"\x80\x04\x95\x0f\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94.", "not an image"),
    "HEIC": (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "convert them to JPEG"),
    "only a signature": (b"\x89PNG\r\n\x1a\n", "not an image"),
    "jpeg cut short": (encoded(PICTURE, "JPEG")[:700], "damaged"),
    "png cut short": (encoded(PICTURE, "PNG")[:2000], "damaged"),
    "png with noise inside": (encoded(PICTURE, "PNG")[:200] + bytes(500), "damaged"),
    "bomb of a billion pixels": (png_that_claims(32_000, 32_000), "pixels"),
    "bomb just above our limit": (png_that_claims(8_000, 8_001), "pixels"),
    "bomb above Pillow's": (png_that_claims(2**31 - 1, 2**31 - 1), "pixels"),
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


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "CMYK", "I;16"])
def test_every_colour_mode_becomes_rgb(mode):
    picture = (
        Image.fromarray((np.arange(2400).reshape(40, 60) * 20).astype(np.uint16))
        if mode == "I;16"
        else PICTURE.convert(mode)
    )
    image = uploads.picture(encoded(picture, "TIFF"))
    assert image.mode == "RGB" and image.size == (60, 40)
