"""What a person sets once: environment variables, or a file.

`~/.config/rankscope/config.yaml` (below XDG_CONFIG_HOME, where that is set) may hold `runs`, `cache` and `kernels`,
which stand for LAB_RUNS, LAB_CACHE and LAB_KERNELS. Flags win over variables, variables over the file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

KEYS = ("runs", "cache", "kernels")
"""What the file may hold; each stands for the variable LAB_ and its capitals."""


def setting(key: str) -> str:
    """The value of the variable of this key, else what the file says; empty where neither does.

    Raises:
        ValueError: the file cannot be read, or holds something else.
    """
    return os.environ.get(f"LAB_{key.upper()}") or _in_file(file()).get(key, "")


def file() -> Path:
    """Where the file lies, or would."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "rankscope" / "config.yaml"


@cache
def _in_file(path: Path) -> Mapping[str, str]:
    if not path.is_file():
        return {}
    import yaml

    try:
        held = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ValueError(f"{path} cannot be read: {' '.join(str(error).split())[:200]}.") from None
    if not isinstance(held, dict) or (odd := [k for k, v in held.items() if k not in KEYS or not isinstance(v, str)]):
        told = "it holds no keys" if not isinstance(held, dict) else f"{str(odd[0])[:50]!r} is none of them, or no text"
        raise ValueError(f"{path} may hold {', '.join(KEYS)}, each with a text: {told}.")
    return {key: os.path.expanduser(value) for key, value in held.items()}
