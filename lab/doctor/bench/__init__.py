"""`lab doctor bench`: what this machine does with losses, metrics, search and large batches, as ratios of one run.

A section is one module here with a function `measure(**sizes) -> Iterator[BenchRow]`, named by its file. `measure`
walks the sections and yields rows as they are found; `as_table` and `as_json` take rows.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from lab.core.formats import markdown_table

if TYPE_CHECKING:
    from lab.doctor.bench._measure import BenchRow

__all__ = ["as_json", "as_table", "machine", "measure", "sections"]

QUICK: dict[str, dict[str, Any]] = {
    "adapt": dict(rows=240, width=16, classes=24),
    "large_batches": dict(
        backbone="resnet10t", batch=8, image_size=32, chunk=4, memory_batch=32, memory_image_size=32, repeats=1
    ),
    "label_errors": dict(sets=("digits",), rates=(0.05,), seeds=1),
    "layers": dict(sets=("digits",)),
    "losses": dict(sizes=(64, 256), d=64, naive_size=32, library_size=256, memory_of=(), largest=512, repeats=1),
    "metrics": dict(sizes=(2048,), library_size=500, repeats=1),
    "search": dict(cases=((50, 5000),), queries=300, repeats=1),
    "verdict": dict(steps=8, batch_size=32),
}  # fmt: skip
"""Sizes that show that every section runs, in under a minute on two cores; the numbers mean little."""


def sections() -> tuple[str, ...]:
    """Every section, sorted."""
    return tuple(
        sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
    )


def measure(chosen: tuple[str, ...] = (), quick: bool = False) -> Iterator[BenchRow]:
    """Rows of the chosen sections, of all when none is named, as they are measured.

    Raises:
        ValueError: there is no such section.
    """
    for name in chosen or sections():
        if name not in sections():
            raise ValueError(
                f"There is no benchmark section {name!r}; known: {', '.join(sections())}."
            )
        section = importlib.import_module(f"lab.doctor.bench.{name}")
        yield from section.measure(**(QUICK[name] if quick else {}))


def machine() -> dict[str, Any]:
    """What the numbers were taken on: processor, cores, threads, date, versions, the kernels' path."""
    import datetime
    import os
    import platform

    import torch

    from lab import __version__, kernels
    from lab.core.installed.environment import device_name

    return {
        "date": datetime.datetime.now().isoformat(" ", "minutes"),
        "processor": device_name("cpu"),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
        "kernels": kernels.path(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "rankscope": __version__,
    }


def as_json(rows: list[BenchRow], about: dict[str, Any]) -> str:
    """Rows and machine as one JSON object."""
    return json.dumps({"machine": about, "rows": [asdict(row) for row in rows]}, indent=1)


def as_table(rows: list[BenchRow], about: dict[str, Any]) -> str:
    """Rows and machine as Markdown: a line of facts, then a table a section."""
    parts = [", ".join(f"{name} {value}" for name, value in about.items()) + "."]
    for section in dict.fromkeys(row.section for row in rows):
        lines = []
        for row in (row for row in rows if row.section == section):
            lines.append([row.name, row.setting, f"{row.value:.3g} {row.unit}", row.against])
        table = markdown_table(["what", "setting", "value", "against"], lines)
        parts.append(f"## {section[0].upper()}{section[1:]}\n\n{table}")
    return "\n\n".join(parts) + "\n"
