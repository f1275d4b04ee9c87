"""Train the demo's two runs anew and pack them into lab/runs/examples: what a first visitor sees.

    python -m scripts.build_examples                 # trains both side by side; two minutes on two cores
    python -m scripts.build_examples --from FOLDER   # packs the finished runs `demo-LOSS` of that folder

Arrays go into half precision; of the checkpoints only the weights of the best are kept, and of the batches as the loss
saw them the newest. What names this machine stays out.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np

import lab.runs
from lab.cli import demo
from lab.core import arrays, files
from lab.runs import Run, examples, management

OURS = ("versions", "git", "device", "device_name", "threads", "kernels", "started", "platform")
"""What is kept of meta.json."""


def pack(run: Run, target: Path) -> None:
    """Write a finished run as an example; its weights as they are, every other array in half precision."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / run.name
        left_out = ("last.safetensors", ".lock", "launch.json", "log.txt", "maps", "batches")
        shutil.copytree(run.path, folder, ignore=shutil.ignore_patterns(*left_out))
        (folder / "batches").mkdir()
        shutil.copy(list(run.batches().values())[-1], folder / "batches")
        for path in folder.rglob("*.safetensors"):
            if path.parent.name != "checkpoints":
                kept = arrays.read(path)
                half = {
                    name: v.astype(np.float16) if v.dtype == np.float32 else v
                    for name, v in kept.items()
                }
                arrays.write(path, half, arrays.header(path))
        meta = {name: value for name, value in run.meta.items() if name in OURS}
        files.write_json(
            folder / "meta.json", {**meta, "command": ["python", "-m", "scripts.build_examples"]}
        )
        on, versions = time.strftime("%Y-%m-%d", time.gmtime(meta["started"])), meta["versions"]
        note = (
            f"Came with Rankscope: trained by scripts/build_examples.py on {on} with Rankscope {versions['rankscope']} "
            f"(revision {meta['git']}), torch {versions['torch']}. Its arrays were rounded to half precision, and the "
            "state of its optimiser was left out, so its training cannot go on. `lab demo` trains the same here."
        )
        management.annotate(Run(folder), note=note, tags=[examples.TAG])
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as stored:
            for path in sorted(one for one in folder.rglob("*") if one.is_file()):
                stored.write(path, path.relative_to(folder))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--from", dest="runs", type=Path, help="folder of finished runs, instead of training anew"
    )
    given = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as place:
        root = given or Path(place)
        if given is None:
            demo.compare(examples.configs(), root)
        for loss in examples.LOSSES:
            pack(lab.runs.open(f"demo-{loss}", root), target := examples.FOLDER / f"{loss}.zip")
            print(
                json.dumps({"example": target.name, "bytes": target.stat().st_size}),
                file=sys.stdout,
            )


if __name__ == "__main__":
    main()
