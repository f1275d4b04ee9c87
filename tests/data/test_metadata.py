"""Metadata never decide whether an image is read, and none of Pillow's warnings reaches the terminal."""

from __future__ import annotations

import io
import struct
import warnings
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, TiffImagePlugin

from lab.data.images.reading import ImageError, open_rgb, size_of

TURNED = [
    None,
    None,
    "FLIP_LEFT_RIGHT",
    "ROTATE_180",
    "FLIP_TOP_BOTTOM",
    "TRANSPOSE",
    "ROTATE_270",
    "TRANSVERSE",
]
TURNED += ["ROTATE_90"]


def drawing(width=9, height=6):
    """Three flat colours, so that JPEG keeps them apart."""
    image = Image.new("RGB", (width, height), (200, 30, 30))
    image.paste((30, 30, 200), (0, 0, width // 2, height // 2))
    return image


def saved(image, kind="JPEG", **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def entry(tag, kind, value, count=1):
    return struct.pack("<HHI", tag, kind, count) + value


def block(*entries, tail=b""):
    return (
        b"II*\0\x08\0\0\0" + struct.pack("<H", len(entries)) + b"".join(entries) + b"\0" * 4 + tail
    )


def with_exif(exif, image=None):
    """A JPEG whose EXIF segment holds these bytes."""
    jpeg, segment = saved(image or drawing(), quality=95), b"Exif\0\0" + exif
    return jpeg[:2] + b"\xff\xe1" + struct.pack(">H", len(segment) + 2) + segment + jpeg[2:]


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def with_chunk(extra, image=None):
    png = saved(image or drawing(), "PNG")
    return png[:33] + extra + png[33:]


ROTATED = entry(0x112, 3, b"\6\0\0\0")


@pytest.mark.parametrize(
    "odd",
    [
        entry(
            0x11A, 10, struct.pack("<I", 38)
        ),  # a resolution of -1 / 0: Pillow cannot write it again
        entry(0x11A, 5, struct.pack("<I", 1 << 30)),  # points outside the block
        entry(0x10E, 2, struct.pack("<I", 8), count=1 << 30),
        entry(0x8769, 4, struct.pack("<I", 8)),  # a directory inside itself
        entry(0x100, 99, b"\xff" * 4),
    ],
)
def test_an_odd_tag_beside_the_orientation_is_not_looked_at(odd, capfd):
    data = with_exif(block(ROTATED, odd, tail=struct.pack("<ii", -1, 0)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        seen = open_rgb(data)
    assert seen.size == (6, 9) and not seen.info
    expected = Image.open(io.BytesIO(data)).transpose(Image.Transpose.ROTATE_270)
    np.testing.assert_array_equal(np.asarray(seen), np.asarray(expected.convert("RGB")))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("orientation", range(9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF", "MPO"])
def test_every_orientation_of_every_format(kind, orientation):
    exif = Image.Exif()
    exif[0x112] = orientation
    options = (
        {"lossless": True} if kind == "WEBP" else {"quality": 95} if kind in ("JPEG", "MPO") else {}
    )
    data = saved(drawing(), kind, exif=exif, **options)
    plain = np.asarray(open_rgb(saved(drawing(), kind, **options)))
    turn = TURNED[orientation]
    expected = (
        Image.fromarray(plain)
        if turn is None
        else Image.fromarray(plain).transpose(Image.Transpose[turn])
    )
    np.testing.assert_allclose(
        np.asarray(open_rgb(data)).astype(int), np.asarray(expected).astype(int), atol=60
    )
    assert open_rgb(data).size == expected.size


@pytest.mark.parametrize("compression", [None, "tiff_lzw"])
def test_a_turned_tiff_with_an_odd_tag_is_read(compression):
    tags = TiffImagePlugin.ImageFileDirectory_v2()
    tags[0x112] = 6
    data = bytearray(saved(drawing(), "TIFF", tiffinfo=tags, compression=compression))
    start = struct.unpack("<I", data[4:8])[0]
    (count,) = struct.unpack("<H", data[start : start + 2])
    # the last tag becomes a pointer to a directory that is none
    last = start + 2 + 12 * (count - 1)
    data[last : last + 12] = entry(0x8769, 4, struct.pack("<I", len(data) - 3))
    assert open_rgb(bytes(data)).size == (6, 9)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.binary(max_size=120), st.booleans())
def test_no_bytes_in_the_metadata_decide_whether_an_image_is_read(noise, rotated):
    exif = block(ROTATED, tail=noise) if rotated else noise
    width, height = sorted(open_rgb(with_exif(exif)).size)
    assert (width, height) == (6, 9) and (not rotated or open_rgb(with_exif(exif)).size == (6, 9))
    for kind in (
        b"eXIf",
        b"tEXt",
        b"zTXt",
        b"iTXt",
        b"iCCP",
        b"pHYs",
        b"gAMA",
        b"cHRM",
        b"sRGB",
        b"tIME",
    ):
        assert sorted(open_rgb(with_chunk(chunk(kind, noise))).size) == [6, 9]


@pytest.mark.parametrize(
    "extra",
    [
        chunk(
            b"zTXt", b"note\0\0" + zlib.compress(b"x" * 3_000_000)
        ),  # larger than Pillow allows a text to be
        chunk(b"iCCP", b"p\0\0" + zlib.compress(b"x" * 3_000_000)),
        chunk(b"tEXt", b"note\0words")[:-1] + b"?",  # a wrong checksum
    ],
)
def test_a_png_whose_notes_pillow_refuses_is_read_without_them(extra, tmp_path):
    (tmp_path / "a.png").write_bytes(with_chunk(extra + chunk(b"eXIf", block(ROTATED))))
    assert open_rgb(tmp_path / "a.png").size == (6, 9)
    size_of(tmp_path / "a.png")


def test_xmp_turns_nothing():
    xmp = '<rdf tiff:Orientation="6"/>'
    assert open_rgb(
        with_chunk(chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + xmp.encode()))
    ).size == (9, 6)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.sampled_from(["JPEG", "PNG", "WEBP", "TIFF", "BMP", "GIF", "PPM", "MPO"]), st.data())
def test_a_damaged_file_is_an_image_or_one_sentence(kind, data):
    whole = bytearray(saved(drawing(32, 24), kind))
    for _ in range(data.draw(st.integers(1, 6))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(whole)))
    try:
        assert open_rgb(bytes(whole[:cut]), "photo.jpg").mode == "RGB"
    except ImageError as error:
        assert str(error).startswith("photo.jpg ") and "\n" not in str(error)


@pytest.mark.parametrize(
    "error",
    [
        struct.error("x"),
        SyntaxError("x"),
        OverflowError("x"),
        RecursionError("x"),
        KeyError(3),
        MemoryError(),
    ],
)
def test_whatever_a_decoder_raises_names_the_image(error, monkeypatch, tmp_path):
    (tmp_path / "a.png").write_bytes(saved(drawing(), "PNG"))

    def load(image):
        raise error

    monkeypatch.setattr(Image.Image, "load", load)
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", load)
    with pytest.raises(ImageError, match=r"a\.png is damaged and cannot be decoded"):
        open_rgb(tmp_path / "a.png")
