"""A folder as people have them: turned photos, broken ones, hidden folders, odd suffixes and depths, links, notes."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image

KINDS = {
    0: (".jfif", "JPEG"),
    1: ("", "PNG"),
    2: (".JPG", "JPEG"),
    3: (".webp", "WEBP"),
    4: (".png", "JPEG"),
}


def write(root: Path, classes: int = 10, each: int = 4) -> int:
    """Write class folders of `each` photos; returns how many of all can be decoded: all but three."""
    draw = np.random.default_rng(0)
    for number in range(classes):
        folder = root / f"class {number:02d}"
        (folder / "deeper").mkdir(parents=True)
        for copy in range(each):
            at = number * each + copy
            pixels = draw.integers(0, 60, (30, 40, 3)) + draw.integers(0, 190, 3)
            photo, exif = Image.fromarray(pixels.astype(np.uint8)), Image.Exif()
            if at % 5 == 0:
                exif[0x112] = 2 + at % 7
            suffix, kind = KINDS[at % 5]
            place = folder / ("deeper" if copy % 3 == 2 else ".") / f"{copy}{suffix}"
            if at % 9 == 1:
                place, photo, kind = place.with_suffix(".jpg"), photo.convert("CMYK"), "JPEG"
            if at % 9 == 2:
                grey = np.asarray(photo.convert("L")).astype(np.uint16) * 257
                place, photo, kind = place.with_suffix(".tif"), Image.fromarray(grey), "TIFF"
            photo.save(place, kind, exif=exif)
    first, second = root / "class 00", root / "class 01"
    for hidden in (root, first):
        for name in (".ipynb_checkpoints", "__MACOSX", "@eaDir"):
            (hidden / name).mkdir()
            photo.convert("RGB").save(hidden / name / "copy.png")
    for name in (".DS_Store", "Thumbs.db", "._0.jpg"):
        (first / name).write_bytes(b"system")
    (first / "notes.txt").write_text("no image")
    (first / "phone.heic").write_bytes(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic")
    (second / "text.jpg").write_text("no image")
    (second / "empty.png").touch()
    cut = io.BytesIO()
    Image.fromarray(draw.integers(0, 256, (90, 90, 3), dtype=np.uint8)).save(cut, "JPEG")
    (second / "cut.jpg").write_bytes(cut.getvalue()[:2000])
    (second / "again").symlink_to(second / "deeper")
    (root / "class of links").mkdir()
    (root / "class of links" / "one").symlink_to(first / "0.jfif")
    (root / "nowhere").symlink_to("nothing")
    (root / "round").symlink_to(".")
    return classes * each


def manifest(root: Path, keys: list[str]) -> Path:
    """Write a table that names each image under one of several spellings, and every third under two."""
    forms = ("{}", "./{}", f"{root}/{{}}")
    rows = [f'"{forms[at % 3].format(key)}",{key.split("/")[0]}' for at, key in enumerate(keys)]
    rows += [
        f'"{forms[(at + 1) % 3].format(key)}",{key.split("/")[0]}'
        for at, key in enumerate(keys)
        if at % 3 == 0
    ]
    path = root.parent / "list.csv"
    path.write_text("\n".join(["path,label", *rows]))
    return path
