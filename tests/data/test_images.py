import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from lab.data.images.reading import MAX_PIXELS, ImageError, open_rgb, size_of


def two_colours(path, orientation=None, **options):
    """Left half red, right half blue, 8 x 4."""
    image = Image.new("RGB", (8, 4), (255, 0, 0))
    image.paste((0, 0, 255), (4, 0, 8, 4))
    exif = Image.Exif()
    if orientation:
        exif[0x0112] = orientation
    image.save(path, exif=exif, **options)
    return path


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few dozen bytes that claims to be huge."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def test_exif_orientation_is_honoured(tmp_path):
    upright = np.asarray(open_rgb(two_colours(tmp_path / "a.png")))
    turned = np.asarray(open_rgb(two_colours(tmp_path / "b.png", orientation=6)))  # rotate a quarter clockwise
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


def test_sixteen_bit_greys_are_scaled_not_clipped(tmp_path):
    Image.fromarray(np.array([[1000, 30000, 60000]], dtype=np.uint16)).save(tmp_path / "deep.png")
    grey = np.asarray(open_rgb(tmp_path / "deep.png"))[0, :, 0]
    assert grey[0] == 0 and grey[2] == 255 and 100 < grey[1] < 140


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "is missing"),
        (b"", "is not an image"),
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
