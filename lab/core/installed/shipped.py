"""Where tutorials, documents and dashboard lie: beside the package in a checkout, inside it once it is installed."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2]


def folder(name: str) -> Path:
    """The folder `notebooks`, `docs` or `app`; setup.py puts all three into the package that it builds."""
    inside = PACKAGE / "_shipped" / name
    return inside if inside.is_dir() else PACKAGE.parent / name


def checkout() -> Path | None:
    """The folder of the checkout that this runs from; None when the package was installed without one."""
    return PACKAGE.parent if (PACKAGE.parent / "pyproject.toml").is_file() else None
