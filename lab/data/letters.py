"""Letters: some five hundred letters of three scripts, each drawn in ten typefaces that the package matplotlib carries.

A second set without a download, unlike Emoji-7 in what makes it hard: classes that differ by one accent, or by a hook,
and typefaces that change everything else. Nothing is stored; FreeType draws the letters when they are asked for.
"""

from __future__ import annotations

import importlib.util
import itertools
import unicodedata
from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from lab.core.explain import need
from lab.data import _splits
from lab.data._base import BundledSplitKnobs, ImageRecords, ImageSet

FACES = (
    "DejaVuSans",
    "DejaVuSans-Bold",
    "DejaVuSansMono",
    "DejaVuSansMono-Oblique",
    "DejaVuSerif",
    "DejaVuSerif-Bold",
    "STIXGeneral",
    "STIXGeneralBol",
    "STIXGeneralItalic",
    "STIXGeneralBolIta",
)
SCRIPTS = ("Latin", "Greek", "Cyrillic")
SIDE = 64
BODY = 40
MIDDLE = 32
BASELINE = 46
"""Size of the type and the position of a letter, in pixels of the 64: accents of capitals and tails have room."""


class Letters(BundledSplitKnobs, ImageSet):
    """Letters of the Latin, Greek and Cyrillic scripts in ten typefaces, black on white, 64 x 64 pixels.

    A class is one letter (upper and lower case are two), a super-class one script; a letter that looks like an earlier
    one in DejaVu Sans, such as the Greek capital alpha, is left out. Attributes of an image: `typeface`, `letter`,
    `script`, `base` (the letter without its accents), `code_point`. Which letters there are depends on the fonts that
    matplotlib brings, and on how Pillow draws them: 497 with matplotlib 3.11 and Pillow 13.

    Raises:
        ValueError: the extra `letters` is not installed.
    """

    level_attributes = {"middle": "base", "coarse": "script"}
    licence = "Pictures of letters; the fonts are DejaVu (Bitstream Vera licence) and STIX (SIL Open Font License)"

    def _read(self) -> ImageRecords:
        letters = _letters()
        labels = np.repeat(np.arange(len(letters)), len(FACES))
        codes = [f"{ord(letter):04x}" for letter in letters]
        scripts = np.array([_script(letter) for letter in letters])
        super_names, super_of_class = np.unique(scripts, return_inverse=True)
        return ImageRecords(
            keys=[f"{code}/{face}" for code, face in itertools.product(codes, FACES)],
            labels=labels,
            class_names=[f"{letter} {unicodedata.name(letter).lower()}" for letter in letters],
            super_labels=super_of_class[labels],
            super_names=super_names.tolist(),
            attributes={
                "typeface": np.tile(FACES, len(letters)),
                "letter": np.array(letters)[labels],
                "script": scripts[labels],
                "base": np.array([unicodedata.normalize("NFD", letter)[0] for letter in letters])[
                    labels
                ],
                "code_point": np.array(codes)[labels],
            },
            splits=_splits.class_disjoint(
                labels, self.knobs.split_seed, self.knobs.test, self.knobs.validation
            ),
        )

    @property
    def pixels(self) -> np.ndarray:
        """uint8 [n 64 64 3], drawn once and shared by all instances; read-only."""
        return _drawn()

    def load(self, i: int) -> Image.Image:
        """Return the i-th image, RGB, 64 x 64."""
        letters = _letters()
        return _picture(letters[i // len(FACES)], _font(FACES[i % len(FACES)])).convert("RGB")


@lru_cache(maxsize=1)
def _letters() -> tuple[str, ...]:
    """Return the letters that every typeface has, by code point, each outline once."""
    from fontTools.ttLib import TTFont  # comes with matplotlib

    in_every_face = set.intersection(
        *(set(TTFont(_file(face), lazy=True).getBestCmap()) for face in FACES)
    )
    first: dict[bytes, str] = {}
    for letter in map(chr, sorted(in_every_face)):
        if unicodedata.category(letter) in ("Lu", "Ll") and _script(letter) in SCRIPTS:
            first.setdefault(_picture(letter, _font(FACES[0])).tobytes(), letter)
    return tuple(first.values())


def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0].capitalize()


@lru_cache(maxsize=1)
def _drawn() -> np.ndarray:
    fonts = [_font(face) for face in FACES]
    pictures = [
        np.asarray(_picture(letter, font)) for letter, font in itertools.product(_letters(), fonts)
    ]
    grey = np.stack(pictures)
    pixels = np.repeat(grey[..., None], 3, axis=-1)
    pixels.flags.writeable = False
    return pixels


def _picture(letter: str, font: ImageFont.FreeTypeFont) -> Image.Image:
    picture = Image.new("L", (SIDE, SIDE), 255)
    ImageDraw.Draw(picture).text((MIDDLE, BASELINE), letter, fill=0, font=font, anchor="ms")
    return picture


@lru_cache(maxsize=len(FACES))
def _font(face: str) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(_file(face)), BODY, layout_engine=ImageFont.Layout.BASIC)


def _file(face: str) -> Path:
    """Return the file of a typeface, without importing matplotlib, which takes a second."""
    need("The data set letters, for its typefaces,", "letters", "matplotlib")
    package = importlib.util.find_spec("matplotlib")
    return (
        Path(str(package and package.origin)).parent / "mpl-data" / "fonts" / "ttf" / f"{face}.ttf"
    )
