"""What griffe is told of our docstrings: their "Example:" holds a doctest, which else prints as quotations."""

from __future__ import annotations

import re
from typing import Any

import griffe

HEADING = re.compile(r"^(\s*)Example:$", re.MULTILINE)


class Examples(griffe.Extension):
    """Names the section as the Google style knows it, before griffe reads it."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = HEADING.sub(r"\1Examples:", obj.docstring.value)
