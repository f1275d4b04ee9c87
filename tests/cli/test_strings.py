"""The page of all strings: each kind is found where it stands, and what no person reads is left out."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path

SOURCE = '''
"""A page."""
PARTS = {"pairs": "Confused classes"}

def draw(count):
    if st.button("Look", key="no one reads this key", help=f"Looks at {count:,} images."):
        raise ValueError("There is nothing to look at.")
    st.info(f"{count} images " "are here.")
    return {"one of the": [0]}[name] == "not shown"
'''


def load():
    path = Path(__file__).parents[2] / "scripts" / "strings.py"
    found = importlib.util.spec_from_file_location("strings_of_the_lab", path)
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module
    found.loader.exec_module(module)
    return module


def test_every_kind_of_string_is_found_with_its_line():
    listed = {(one.line, one.kind, one.text) for one in load()._of_tree("page.py", ast.parse(SOURCE))}
    assert listed == {
        (3, "words", "Confused classes"),
        (6, "label", "Look"),
        (6, "help", "Looks at {count} images."),
        (7, "error", "There is nothing to look at."),
        (8, "message", "{count} images are here."),
    }


def test_knobs_and_scripts_are_read():
    strings = load()
    known = list(strings._of_knobs("loss.py", ast.parse('tau: float = knob(0.1, "Width of the step.", unit="cosine")')))
    assert [one.text for one in known] == ["Width of the step.", "cosine"]
    assert any(one.text == "Keyboard shortcuts" for one in strings.in_scripts())


def test_the_short_page_says_each_thing_of_the_dashboard_once():
    strings = load()

    def one(kind: str, text: str, file: str = "app/views/two_stage/page.py"):
        return strings.Words(file, 1, kind, text)

    found = [
        one("label", "Top k"),
        one("label", "Top k"),
        one("help", "Looks at {len(a['{}'])} images. Takes a while."),
        one("words", "form filled from"),
        one("label", "Runs", "lab/cli/runs.py"),
        one("words", "Of one class", "app/answers/candidates.py"),
    ]
    lines = [line.strip() for line in strings.short(found)]
    assert lines == [
        "## Page Two-stage", "Labels: Top k", "Help: Looks at … images.",
        "## Answers of a search", "Words: Of one class",
    ]  # fmt: skip
