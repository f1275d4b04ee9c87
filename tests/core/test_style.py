"""The look: words wrap outside tags, and every style differs by more than colour."""

import re

from lab.core import style


def test_subtitles_wrap_between_words_and_never_inside_a_tag():
    text = (
        "one two " + style.badge(True, "bound holds everywhere, ties included") + " three four five"
    )
    broken = style.wrapped(text, 20)
    assert broken.replace("<br>", " ") == text
    visible = [re.sub(r"<[^>]*>", "", line) for line in broken.split("<br>")]
    assert len(visible) > 2 and max(len(line) for line in visible) <= 20
    assert style.wrapped("short") == "short" and style.wrapped("") == ""


def test_lines_and_markers_differ_by_more_than_colour():
    lines = [style.line(i) for i in range(6)]
    assert (
        len({line["dash"] for line in lines}) == 6 and len({line["color"] for line in lines}) == 6
    )
    markers = [style.marker(i) for i in range(64)]
    assert (
        len({m["symbol"] for m in markers[:8]}) == 8
        and len({(m["color"], m["symbol"]) for m in markers}) == 64
    )


def test_a_badge_says_in_signs_what_it_says_in_colour():
    assert "✓" in style.badge(True, "x") and style.BLUE in style.badge(True, "x")
    assert "✗" in style.badge(False, "x") and style.VERMILLION in style.badge(False, "x")
