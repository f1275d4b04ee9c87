"""What griffe is told of our docstrings: doctests are code, and parameters that are told together are several."""

from __future__ import annotations

import re
from typing import Any

import griffe

HEADING = re.compile(r"^( *)Example:$", re.MULTILINE)
BARE = re.compile(r"(?<!Examples):\n(?= +>>>)")
"""A doctest right below a sentence: only after a blank line does Markdown take it for code."""
PARAMETERS = re.compile(r"^Args:\n(?:(?: {4}.*)?(?:\n|\Z))+", re.MULTILINE)
TOGETHER = re.compile(r"^ {4}(\w+(?:, \w+)+)(: .*(?:\n {5,}.*)*)", re.MULTILINE)
"""Several names before one explanation."""


class Examples(griffe.Extension):
    """Changes docstrings before griffe reads them."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = changed(obj.docstring.value)


def changed(text: str) -> str:
    """A docstring as griffe understands it."""
    text = PARAMETERS.sub(lambda section: TOGETHER.sub(_apart, section[0]), text)
    return BARE.sub(":\n\n", HEADING.sub(r"\1Examples:", text))


def _apart(match: re.Match[str]) -> str:
    """The explanation once for each name."""
    return "\n".join(f"    {name}{match[2]}" for name in match[1].split(", "))
