import unicodedata

import numpy as np
import pytest

import lab
from lab.data import letters


def made(folder):
    """For the contract of data sets."""
    return lab.data.create("letters")


@pytest.fixture(scope="module")
def drawn():
    return lab.data.create("letters")


def test_every_letter_stands_in_every_typeface_and_within_its_picture(drawn):
    classes = len(drawn.class_names)
    assert len(drawn) == len(set(drawn.keys)) == 10 * classes and classes > 400
    assert np.bincount(drawn.labels).tolist() == [10] * classes
    ink = drawn.pixels[..., 0] < 128
    assert ink.any((1, 2)).all(), "an empty picture"
    border = np.ones((64, 64), dtype=bool)
    border[1:-1, 1:-1] = False
    assert not ink[:, border].any(), "a letter touches the border"


def test_one_image_is_the_same_alone(drawn):
    for i in (0, 1234, len(drawn) - 1):
        np.testing.assert_array_equal(np.asarray(drawn.load(i)), drawn.pixels[i])


def test_no_two_letters_look_alike_in_the_first_typeface(drawn):
    first = drawn.pixels[:: len(letters.FACES), ..., 0]
    assert len(np.unique(first.reshape(len(first), -1), axis=0)) == len(first)
    known = set(drawn.attributes["letter"])
    alike = {"\N{GREEK CAPITAL LETTER ALPHA}", "\N{CYRILLIC CAPITAL LETTER A}"}
    assert "A" in known and not known & alike


def test_letters_have_scripts_and_bases(drawn):
    assert drawn.super_names == ["Cyrillic", "Greek", "Latin"]
    i = drawn.keys.index("00e9/DejaVuSerif")
    values = {name: str(column[i]) for name, column in drawn.attributes.items()}
    assert values == {
        "typeface": "DejaVuSerif", "letter": "\u00e9", "script": "Latin", "base": "e", "code_point": "00e9",
    }  # fmt: skip
    assert drawn.class_names[drawn.labels[i]] == "\u00e9 latin small letter e with acute"
    assert all(
        unicodedata.category(letter) in ("Lu", "Ll") for letter in drawn.attributes["letter"]
    )


def test_without_the_fonts_a_sentence_says_what_to_install(drawn, monkeypatch):
    monkeypatch.setattr("lab.core.explain.find_spec", lambda name: None)
    with pytest.raises(
        ValueError, match=r"for its typefaces, needs matplotlib: pip install 'rankscope\[letters\]'"
    ):
        letters._file("DejaVuSans")
