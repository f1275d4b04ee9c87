"""How far three things walk through lab and app: an image, the step of a checkpoint, and a temperature.

    PYTHONPATH=$PWD python scripts/walk.py [--list]

An image goes through `lab query`; a step from the training loop into a checkpoint, and out of it into the caption of
Browse; tau from the command line to a kernel. Counted are the files of lab and app that are entered, of these the files
whose functions are given or return it, and calls into a part that the layers in pyproject.toml put higher.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import threading
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType
from typing import Any

from PIL import Image

import lab.runs
from lab.__main__ import main as command
from tests import headless

ROOT = Path(lab.__file__).resolve().parents[1]
STEP, TAU = 613, 0.012345  # nothing else is
TINY = (
    "train --data digits --augmentation.size 16 --encoder.width 4 --encoder.dim 8 --sampler.batch_size 8 --name one "
    f"--training.validate_every 2000 --training.checkpoint_every 2000 --training.device cpu --quiet --loss.tau {TAU} "
    "--training.steps 1 --loss smooth_ap"
)
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]
LAYERS: list[str] = CONTRACTS[0]["layers"]
"""The layers of lab, the highest first; a line may name several packages."""


@cache
def floor(part: str) -> int:
    """Return the layer of a part of lab, counted from the lowest; a part that no layer names is above all."""
    for height, layer in enumerate(reversed(LAYERS)):
        if {part, f"lab.{part}"} & set(layer.split(" | ")):
            return height
    return 99


@cache
def place(file: str) -> tuple[str, int]:
    """A file of lab or app below the root, and its floor; nothing for others."""
    if not file.startswith((f"{ROOT}/lab/", f"{ROOT}/app/")):
        return "", 0
    inside = Path(file).relative_to(ROOT)
    return str(inside), floor(
        inside.parts[1].removesuffix(".py") if inside.parts[0] == "lab" else "app"
    )


class Walk:
    """What is entered while it is on. held: whether a value is the thing that walks."""

    def __init__(self, held: Callable[[Any], bool]):
        self.held = held
        self.entered, self.passed, self.upward = set[str](), set[str](), set[str]()

    @contextlib.contextmanager
    def on(self) -> Iterator[None]:
        for switch in (threading.setprofile, sys.setprofile):
            switch(self._seen)
        yield
        for switch in (threading.setprofile, sys.setprofile):
            switch(None)  # type: ignore[arg-type]

    def _seen(self, frame: FrameType, event: str, result: Any) -> None:
        file, height = place(frame.f_code.co_filename)
        if event not in ("call", "return") or not file or not frame.f_code.co_flags & CO_OPTIMIZED:
            return  # C, another package, or a module or class that is being made
        self.entered.add(file)
        if file not in self.passed and self._holds(
            [result] if event == "return" else list(frame.f_locals.values()), 3
        ):
            self.passed.add(file)
        caller, (by, below) = frame.f_back, ("", 99)
        while caller is not None and not by:
            (by, below), caller = place(caller.f_code.co_filename), caller.f_back
        if event == "call" and by and below < height:
            self.upward.add(f"{by} -> {file} {frame.f_code.co_name}")

    def _holds(self, value: Any, depth: int) -> bool:
        inner = (
            value.values()
            if isinstance(value, dict)
            else value
            if isinstance(value, list | tuple)
            else ()
        )
        fields = getattr(type(value), "__dataclass_fields__", ())
        inner = [getattr(value, name, None) for name in fields] if fields else inner
        return self.held(value) or (
            depth > 0 and any(self._holds(one, depth - 1) for one in list(inner)[:50])
        )


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    os.environ["LAB_RUNS"], picture = str(folder), folder / "picture.png"
    Image.new("RGB", (32, 32), "white").save(picture)
    tau = Walk(lambda value: type(value) is float and value == TAU)
    step = Walk(
        lambda value: (
            value == STEP if type(value) is int else type(value) is str and f"{STEP}" in value
        )
    )
    image = Walk(
        lambda value: (
            isinstance(value, Image.Image | str | Path) and value in (picture, str(picture))
        )
    )
    with tau.on(), contextlib.redirect_stdout(io.StringIO()):
        command(TINY.split())
    config = lab.runs.open("one", folder).config.changed("training.steps", STEP)
    with contextlib.ExitStack() as writing:
        for record in lab.runs.execute(lab.runs.create(config, folder, "walk")):
            if record.kind == "saving" and record.name == "last":
                writing.enter_context(step.on())
            elif record.kind == "saved":
                writing.close()
    page = headless.session("browse", 300, run="walk")
    with step.on():
        page.run()
    with image.on(), contextlib.redirect_stdout(io.StringIO()):
        command(["query", "walk", str(picture)])
    print(
        "| walk | files entered | files that it passes | calls into a higher floor |\n|---|---|---|---|"
    )
    for what, walk in (("image", image), ("step", step), ("tau", tau)):
        print(f"| {what} | {len(walk.entered)} | {len(walk.passed)} | {len(walk.upward)} |")
        print(*sorted(walk.passed | walk.upward) if "--list" in sys.argv else (), sep="\n", end="")


if __name__ == "__main__":
    main()
