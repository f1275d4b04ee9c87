"""Whether files of another distribution lie in the folder of this package: a distribution named `lab` exists, too.

Installing it writes into our folder and takes the place of our `__init__.py`; removing it again takes ours away.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.metadata import Distribution, distributions

OURS = "rankscope"


def strangers(path: Sequence[str] | None = None) -> dict[str, list[str]]:
    """Other distributions that installed files under `lab/`: name and version to these files.

    Args:
        path: folders to look for distributions in; by default those that Python looks for modules in.
    """
    packages = {}
    for distribution in _distributions(path):
        files = [name for name, _ in _record(distribution) if name.startswith("lab/")]
        if files and distribution.name != OURS:
            packages[f"{distribution.name} {distribution.version}"] = sorted(files)
    return packages


def changed(path: Sequence[str] | None = None) -> list[str]:
    """Files of ours that are not as they were installed: overwritten, or gone.

    Empty where nothing of the package was copied, as from a checkout.
    """
    ours = next((one for one in _distributions(path) if one.name == OURS), None)
    if ours is None:
        return []
    return [name for name, digest in _record(ours) if name.startswith("lab/") and digest != _digest(ours, name)]


def _distributions(path: Sequence[str] | None) -> list[Distribution]:
    return list(distributions() if path is None else distributions(path=list(path)))


def _record(distribution: Distribution) -> list[tuple[str, str]]:
    """Every file with its digest as it was installed; bytecode has none and is left out."""
    lines = (distribution.read_text("RECORD") or "").splitlines()
    fields = (line.rsplit(",", 2) for line in lines if line.count(",") >= 2)
    return [(name, digest) for name, digest, _ in fields if digest]


def _digest(distribution: Distribution, name: str) -> str:
    try:
        with open(str(distribution.locate_file(name)), "rb") as file:
            content = hashlib.file_digest(file, "sha256").digest()
    except OSError:
        return "gone"
    return "sha256=" + base64.urlsafe_b64encode(content).rstrip(b"=").decode()
