"""The demo's two trainings, and a finished run of each that comes with Rankscope: to be looked at before any training.

A stored run is one ZIP file: its folder with the arrays in half precision, without the optimiser's state, so its
training cannot go on. `python -m scripts.build_examples` trains both anew.
"""

from __future__ import annotations

import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from lab.core import arrays
from lab.core.files import check_allowed
from lab.runs import lock
from lab.runs.config import RunConfig, parse_yaml
from lab.runs.execute import new_folder
from lab.runs.folder import FINISHED, Run
from lab.runs.management import notes, trash
from lab.runs.store import list_runs

RECIPE = "emoji7"
"""Whose presets the demo trains: `RECIPE_LOSS` for each of `LOSSES`. `demo-0.2` are those of that version."""

LOSSES = {"cross_entropy": "cross-entropy", "recall_at_k": "recall@k with SiMix"}
"""The widest difference among those tried that is fair to both, with what people call them. The contrastive loss comes
within two points of recall@k here. Class anchors stay nine behind in the example runs, but their paper speaks of
classes trained on."""

TAG = "came with Rankscope"
"""Tag of a run that was copied from here."""

FOLDER = Path(__file__).parent


def configs(recipe: str = RECIPE, steps: int | None = None) -> dict[str, RunConfig]:
    """Loss to configuration of a demo. steps: of each training, by default as the presets say.

    Raises:
        ValueError: there are no such presets.
    """
    chosen = {loss: RunConfig.load(f"{recipe}_{loss}") for loss in LOSSES}
    return {loss: one if steps is None else one.changed("training.steps", steps) for loss, one in chosen.items()}


def copy_into(root: Path | str) -> dict[str, Run]:
    """Copy the examples into a folder of runs; loss to run of those that were copied. Imports no torch.

    One stays out where a finished run of its configuration is already, be it in another precision, or where its name is
    taken.

    Raises:
        OSError: the disk is full or the folder cannot be written.
    """
    check_allowed()
    there = [_wished(run.config_dict) for run in list_runs(root) if run.state == FINISHED]
    made = {}
    for loss in LOSSES:
        name = f"example-{loss}"
        with zipfile.ZipFile(FOLDER / f"{loss}.zip") as stored:
            config = _wished(parse_yaml(stored.read("config.yaml").decode(), name))
            if config in there or (Path(root) / name).exists():
                continue
            with new_folder(Path(root), name) as folder:
                stored.extractall(folder)
                _widen(folder)
        made[loss] = Run(Path(root) / name)
    return made


def _wished(config: dict[str, Any]) -> dict[str, Any]:
    """A stored configuration without its precision, which the processor decided."""
    return {**config, "training": {**(config.get("training") or {}), "precision": None}}


def _widen(folder: Path) -> None:
    """Give the arrays of a run, but for its weights, single precision."""
    for path in folder.rglob("*.safetensors"):
        if path.parent.name != "checkpoints":
            values = arrays.read(path)
            halves = {name: column.astype(np.float32) for name, column in values.items() if column.dtype == np.float16}
            arrays.write(path, values | halves, arrays.header(path))


def replace(example: Run) -> None:
    """Move an example to the trash, where the demo has trained the same itself; one that somebody works on stays."""
    if example.path.is_dir() and TAG in notes(example)["tags"]:
        with suppress(ValueError, lock.Held):
            trash(example)
