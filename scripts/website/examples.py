"""What griffe is told of our docstrings, so that their doctests are shown as code, not as quotations of quotations."""

from __future__ import annotations

import re
from typing import Any

import griffe

HEADING = re.compile(r"^( *)Example:$", re.MULTILINE)
BARE = re.compile(r"(?<!Examples):\n(?= +>>>)")
"""A doctest right below a sentence: only after a blank line does Markdown take it for code."""


class Examples(griffe.Extension):
    """Changes docstrings before griffe reads them."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = BARE.sub(":\n\n", HEADING.sub(r"\1Examples:", obj.docstring.value))
