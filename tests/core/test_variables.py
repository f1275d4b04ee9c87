"""The table of environment variables in docs/command.md is whole."""

import re
from pathlib import Path

from lab.core import files

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "command.md"


def test_every_variable_that_is_read_stands_in_the_table():
    texts = [
        path.read_text(encoding="utf-8")
        for top in ("lab", "app")
        for path in (ROOT / top).rglob("*.py")
    ]
    read = {name for text in texts for name in re.findall(r'"(LAB_[A-Z_]+)"', text)}
    read |= {f"LAB_{key.upper()}" for key in files.SETTINGS}
    rows = re.findall(
        r"^\| `(LAB_[A-Z_]+)` \|.*\| (\S+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert read == {name for name, _ in rows}
    assert {f"`{key}`" for key in files.SETTINGS} == {key for _, key in rows} - {"-"}
