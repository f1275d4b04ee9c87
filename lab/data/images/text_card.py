"""A picture of words, for things that have no picture of their own."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from PIL import Image, ImageDraw, ImageFont

SIDE, MARGIN, TOP, TITLE, TEXT = 384, 24, 104, 52, 36
"""Pixels: of the card, beside and above the words (where a page writes ranks), and the height of its letters."""


def text_card(lines: Sequence[str]) -> Image.Image:
    """The first line that is not empty large, the others below it, as many as there is room for; RGB, square."""
    card = Image.new("RGB", (SIDE, SIDE), "#f3f1ec")
    draw = ImageDraw.Draw(card)
    top, size = TOP, TITLE
    for line in filter(None, lines):
        font = ImageFont.load_default(size)
        letters = max(4, int((SIDE - 2 * MARGIN) / (0.55 * size)))
        for part in textwrap.wrap(str(line), letters, max_lines=3, placeholder=" ..."):
            if top + size > SIDE - MARGIN:
                return card
            draw.text((MARGIN, top), part, fill="#22262b" if size == TITLE else "#565d66", font=font)
            top += round(1.25 * size)
        size = TEXT
    return card
