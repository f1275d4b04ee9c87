"""What a module of Rankscope is made of: its file and those that it names, so that what was read off it can be kept.

The files are read as text and nothing is imported: that would load torch, for seconds.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

from lab.install.shipped import PACKAGE

NO_CODE = re.compile(r'"""(?:.|\n)*?"""|#[^\n]*')
NAMED = re.compile(r"\blab(?:\.\w+)+")
IMPORTED = re.compile(r"^\s*from (lab[\w.]*) import ([^(\n]+|\([^)]*\))", re.MULTILINE)


def digest(*modules: str) -> str:
    """Another one after any change of these modules, of a module that they name, or of the files of a package that
    they name, whose list may be a choice; one that names too much is only read again too often.

    Example:
        >>> from lab.install import sources
        >>> sources.digest("lab.losses.contrastive") == sources.digest("lab.losses.contrastive")
        True
        >>> sources.digest("lab.losses.contrastive") == sources.digest("lab.losses.triplet")
        False
    """
    files: set[Path] = set()
    left = list(modules)
    while left:
        file = _file(left.pop())
        if file is not None and file not in files:
            files.add(file)
            left.extend(_read(file)[1])
    facts = [(str(file.relative_to(PACKAGE)), _read(file)[0], _listed(file)) for file in sorted(files)]
    return hashlib.blake2b(repr(facts).encode(), digest_size=8).hexdigest()


def contents(*modules: str) -> str:
    """Another one after any change of these modules alone."""
    return " ".join(_read(file)[0] for file in map(_file, modules) if file is not None)


@cache
def _file(module: str) -> Path | None:
    """The file of the longest beginning of a dotted name that is a module."""
    parts = module.split(".")[1:]
    while parts:
        place = PACKAGE.joinpath(*parts)
        for file in (place.with_suffix(".py"), place / "__init__.py"):
            if file.is_file():
                return file
        parts.pop()
    return None


@cache
def _read(file: Path) -> tuple[str, tuple[str, ...]]:
    """The digest of a file, and the dotted names in its code."""
    content = file.read_bytes()
    code = NO_CODE.sub("", content.decode(errors="replace"))
    named = {*NAMED.findall(code)}
    for package, names in IMPORTED.findall(code):
        named |= {f"{package}.{name.split()[0]}" for name in names.strip("()").split(",") if name.strip()}
    return hashlib.blake2b(content, digest_size=8).hexdigest(), tuple(sorted(named))


def _listed(file: Path) -> list[str]:
    """What lies beside the first file of a package: an entry of a catalogue is registered by its file."""
    return sorted(one.name for one in file.parent.glob("*.py")) if file.name == "__init__.py" else []
