"""README's table of environment variables is whole."""

import re
from pathlib import Path

import lab
from lab.core import files

README = Path(__file__).parents[2] / "README.md"


def test_every_variable_that_is_read_stands_in_the_table():
    texts = [path.read_text(encoding="utf-8") for path in Path(lab.__file__).parent.rglob("*.py")]
    read = {name for text in texts for name in re.findall(r'"(LAB_[A-Z]+)"', text)}
    read |= {f"LAB_{key.upper()}" for key in files.SETTINGS}
    rows = re.findall(r"^\| `(LAB_[A-Z]+)` \|.*\| (\S+) \|$", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert read == {name for name, _ in rows}
    assert {f"`{key}`" for key in files.SETTINGS} == {key for _, key in rows} - {"-"}
