import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from lab.data.images.reading import MAX_PIXELS, ImageError, as_rgb, open_rgb, size_of


def two_colours(path, orientation=None, **options):
    """Left half red, right half blue, 8 x 4."""
    image = Image.new("RGB", (8, 4), (255, 0, 0))
    image.paste((0, 0, 255), (4, 0, 8, 4))
    exif = Image.Exif()
    if orientation:
        exif[0x0112] = orientation
    image.save(path, exif=exif, **options)
    return path


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few dozen bytes that claims to be huge."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b""))
        + chunk(b"IEND", b"")
    )


def test_exif_orientation_is_honoured(tmp_path):
    upright = np.asarray(open_rgb(two_colours(tmp_path / "a.png")))
    # rotate a quarter clockwise
    turned = np.asarray(open_rgb(two_colours(tmp_path / "b.png", orientation=6)))
    assert upright.shape == (4, 8, 3) and turned.shape == (8, 4, 3)
    np.testing.assert_array_equal(turned, np.rot90(upright, -1))


def test_transparency_lies_on_white(tmp_path):
    Image.new("RGBA", (2, 2), (0, 0, 0, 0)).save(tmp_path / "clear.png")
    assert np.asarray(open_rgb(tmp_path / "clear.png")).min() == 255


@pytest.mark.parametrize("mode", ["1", "L", "P", "CMYK", "LA", "I;16"])
def test_every_mode_becomes_rgb(tmp_path, mode):
    path = tmp_path / ("x.jpg" if mode == "CMYK" else "x.png")
    Image.new(mode, (5, 3)).save(path)
    assert open_rgb(path).mode == "RGB" and open_rgb(path).size == (5, 3)


DEEP = np.array([[0, 1000, 30000, 65535]], np.uint16)
SCALED = [0, 4, 117, 255]  # v / 257


def deep_png(colour, values, extra=b""):
    """A PNG of one row and 16 bits a channel. colour: PNG's number of its kind."""
    body = b"\0" + np.asarray(values, ">u2").tobytes()
    header = struct.pack(">IIBBBBB", 4, 1, 16, colour, 0, 0, 0)
    chunks = (
        chunk(b"IHDR", header) + extra + chunk(b"IDAT", zlib.compress(body)) + chunk(b"IEND", b"")
    )
    return b"\x89PNG\r\n\x1a\n" + chunks


def saved(image, kind, **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        deep_png(0, DEEP),
        deep_png(
            0, DEEP, chunk(b"tRNS", struct.pack(">H", 65535))
        ),  # a scanner's transparent white
        saved(Image.fromarray(DEEP), "TIFF"),
        saved(Image.fromarray(DEEP), "TIFF", compression="tiff_lzw"),
        saved(Image.frombytes("I;16B", (4, 1), DEEP.astype(">u2").tobytes()), "TIFF"),
        b"P5 4 1 65535\n" + DEEP.astype(">u2").tobytes(),
    ],
)
def test_greys_of_sixteen_bits_keep_their_scale(data):
    assert np.asarray(open_rgb(data))[0].tolist() == [[v, v, v] for v in SCALED]


def test_a_transparent_grey_of_sixteen_bits_becomes_white():
    data = deep_png(0, DEEP, chunk(b"tRNS", struct.pack(">H", 1000)))
    assert np.asarray(open_rgb(data))[0, :, 0].tolist() == [0, 255, 117, 255]


def test_colours_of_sixteen_bits_and_their_transparency():
    rgb, alpha = np.repeat(DEEP.T, 3, 1), np.array([[65535], [0], [65535], [65535]])
    for data in (deep_png(2, rgb), deep_png(2, rgb, chunk(b"tRNS", struct.pack(">3H", 9, 9, 9)))):
        np.testing.assert_allclose(np.asarray(open_rgb(data))[0, :, 0], SCALED, atol=1)
    for data in (deep_png(6, np.hstack([rgb, alpha])), deep_png(4, np.hstack([DEEP.T, alpha]))):
        np.testing.assert_allclose(np.asarray(open_rgb(data))[0, :, 0], [0, 255, 117, 255], atol=1)


@pytest.mark.parametrize(
    "values", [np.array([[-5, 0, 5]], np.int32), np.array([[-0.5, 0, 0.5]], np.float32)]
)
def test_greys_without_a_scale_are_stretched_to_their_own_range(values):
    grey = np.asarray(open_rgb(saved(Image.fromarray(values), "TIFF")))[0, :, 0]
    assert grey[0] == 0 and grey[2] == 255 and 126 <= grey[1] <= 129


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 65535), min_size=4, max_size=4))
def test_a_picture_and_the_same_in_sixteen_bits_are_alike(values):
    deep = np.array([values], np.uint16)
    shallow = np.asarray(
        open_rgb(saved(Image.fromarray((deep // 257).astype(np.uint8)), "PNG"))
    ).astype(int)
    for data in (deep_png(0, deep), saved(Image.fromarray(deep), "TIFF")):
        np.testing.assert_allclose(np.asarray(open_rgb(data)).astype(int), shallow, atol=1)


@pytest.mark.parametrize("mode", ["RGBA", "LA", "PA", "RGBa", "La", "P"])
def test_every_mode_with_transparency_lies_on_white(mode):
    clear = Image.new("RGBA" if mode not in ("La", "LA") else "LA", (2, 1))
    image = {"RGBa": lambda: clear.convert("RGBa"), "La": lambda: clear.convert("La")}.get(
        mode, lambda: clear
    )()
    if mode in ("P", "PA"):
        image = Image.new(mode, (2, 1))
        image.putpalette([10, 20, 30] * 256)
    if mode == "P":
        image.info["transparency"] = bytes([0])
    assert np.asarray(as_rgb(image)).min() == 255


@pytest.mark.parametrize("odd", [(1, 2), "words", None, 1.5, b"\0" * 900])
@pytest.mark.parametrize("mode", ["RGB", "L", "P", "1", "CMYK"])
def test_a_transparency_that_makes_no_sense_is_passed_over(mode, odd):
    image = Image.new(mode, (2, 1))
    image.info["transparency"] = odd
    assert as_rgb(image).mode == "RGB"


def test_inks_with_and_without_adobes_mark():
    red = Image.new("CMYK", (8, 8), (0, 255, 255, 0))
    marked = saved(red, "JPEG", quality=95)  # Pillow writes the mark and turns the values over
    for data in (marked, saved(red, "TIFF")):
        assert np.asarray(open_rgb(data))[4, 4].tolist() == pytest.approx([255, 0, 0], abs=4)


@pytest.mark.parametrize("mode", ["HSV", "LAB", "YCbCr", "RGBX", "1"])
def test_further_modes_become_rgb(mode):
    assert as_rgb(Image.new(mode, (3, 2))).mode == "RGB"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "is missing"),
        (b"", "is not an image: it is empty"),
        (b"hello", "is not an image"),
        (bomb(20_000, 20_000), "pixels"),
        (bomb(100_000, 100_000), "pixels"),
    ],
)
def test_bad_files_are_named_from_their_header(tmp_path, content, sentence):
    path = tmp_path / "bad.png"
    if content is not None:
        path.write_bytes(content)
    for reader in (size_of, open_rgb):
        with pytest.raises(ImageError, match=r"bad\.png .*" + sentence):
            reader(path)


def test_bytes_are_decoded_and_called_by_their_name():
    with pytest.raises(ImageError, match="the upload is not an image"):
        open_rgb(b"hello", "the upload")
    assert 10_000_000 <= MAX_PIXELS <= 200_000_000


def tiff_of_grey(values: np.ndarray, bits: int, zero_is_white: bool) -> bytes:
    """A TIFF of one strip, written by hand: Pillow writes neither 12 bits nor a zero that is white."""
    if bits == 12:
        digits = "".join(f"{value:03x}" for value in values.ravel().tolist())
        pixels = bytes.fromhex(digits)
    else:
        pixels = values.astype("<u2").tobytes()
    height, width = values.shape
    photometric = 0 if zero_is_white else 1
    tags = {
        256: width,
        257: height,
        258: bits,
        259: 1,
        262: photometric,
        273: 8,
        277: 1,
        278: height,
        279: len(pixels),
    }
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags.items())
    directory = struct.pack("<H", len(tags)) + entries + bytes(4)
    return b"II*\0" + struct.pack("<I", 8 + len(pixels)) + pixels + directory


@pytest.mark.parametrize(("bits", "zero_is_white"), [(12, False), (16, False), (16, True)])
def test_greys_of_a_tiff_keep_their_scale_and_their_sense(bits, zero_is_white):
    most = 2**bits - 1
    values = np.linspace(0, most, 12).round().astype(np.int64).reshape(3, 4)
    seen = np.asarray(open_rgb(tiff_of_grey(values, bits, zero_is_white)))[..., 0].astype(int)
    expected = 255 * values / most
    np.testing.assert_allclose(seen, 255 - expected if zero_is_white else expected, atol=0.51)


@pytest.mark.parametrize(("bits", "steps"), [(2, 3), (4, 15)])
def test_a_transparent_grey_of_few_bits_becomes_white(bits, steps):
    """Pillow stretches the pixels to eight bits, and leaves the transparent value as it was."""
    row = b"\0" + bytes([0b00011011 if bits == 2 else 0x01])
    count = 8 // bits
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", count, 1, bits, 0, 0, 0, 0))
    content = (
        header
        + chunk(b"tRNS", struct.pack(">H", 1))
        + chunk(b"IDAT", zlib.compress(row))
        + chunk(b"IEND", b"")
    )
    values = [0, 1, 2, 3] if bits == 2 else [0, 1]
    expected = [255 if value == 1 else 255 * value // steps for value in values]
    assert np.asarray(open_rgb(b"\x89PNG\r\n\x1a\n" + content))[0, :, 0].tolist() == expected
