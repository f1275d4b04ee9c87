"""`lab bench`: what this machine does with losses, metrics, search and large batches, as ratios taken in one run.

A section is one module here with a function `measure(**sizes) -> Iterator[BenchRow]`, named by its file. `measure`
walks the sections and yields rows as they are found; `as_table`, `as_json` and `plot` take rows.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from lab.core.catalog import public
from lab.core.formats import markdown_table

if TYPE_CHECKING:
    from lab.bench._compare import compared, earlier
    from lab.bench._measure import BenchRow
    from lab.bench._plot import plot

__all__ = ["BenchRow", "as_json", "as_table", "compared", "earlier", "machine", "measure", "plot", "sections"]

QUICK: dict[str, dict[str, Any]] = {
    "large_batches": dict(
        backbone="resnet10t", batch=8, image_size=32, chunk=4, memory_batches=(32,), memory_image_size=32, repeats=1
    ),
    "interaction": dict(names=("recall_strip", "unit_circle"), n=32, images=8, repeats=1),
    "losses": dict(
        sizes=(64, 256), d=64, naive_sizes=(32,), library_sizes=(256,), memory_of=(), largest=512,
        repeats=1,
    ),
    "maps": dict(size=500, d=32, repeats=1),
    "metrics": dict(sizes=(2048,), library_size=500, repeats=1),
    "pages": dict(images=2_000),
    "search": dict(cases=((50, 5000),), queries=300, repeats=1),
}  # fmt: skip
"""Sizes that show that every section runs, in under a minute on two cores; the numbers mean little."""


def sections() -> tuple[str, ...]:
    """Every section, sorted."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")))


def measure(chosen: tuple[str, ...] = (), quick: bool = False, cpu_time: bool = False) -> Iterator[BenchRow]:
    """Rows of the chosen sections, of all when none is named, as they are measured.

    `cpu_time` counts this process's processor time, which other work on the machine disturbs less.

    Raises:
        ValueError: there is no such section.
    """
    for name in chosen or sections():
        if name not in sections():
            raise ValueError(f"There is no benchmark section {name!r}; known: {', '.join(sections())}.")
        section = importlib.import_module(f"lab.bench.{name}")
        clock = time.process_time if cpu_time else time.perf_counter
        yield from section.measure(**(QUICK.get(name, {}) if quick else {}), clock=clock)


def machine(cpu_time: bool = False) -> dict[str, Any]:
    """What the numbers were taken on: processor, cores, threads, date, versions, the kernels' path, and which clock."""
    import datetime
    import os
    import platform

    import torch

    from lab import __version__, kernels
    from lab.install.environment import device_name

    return {
        "date": datetime.datetime.now().isoformat(" ", "minutes"),
        "clock": "processor time" if cpu_time else "wall clock",
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
            goal = "" if row.goal is None else f"{row.goal:g} {row.unit}"
            lines.append([row.name, row.setting, f"{row.value:.3g} {row.unit}", row.against, goal])
        table = markdown_table(["what", "setting", "value", "against", "goal"], lines)
        parts.append(f"## {section[0].upper()}{section[1:]}\n\n{table}")
    return "\n\n".join(parts) + "\n"


__getattr__ = public(__name__)
