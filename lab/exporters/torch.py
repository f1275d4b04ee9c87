"""The encoder as a program of torch.export, which runs without Rankscope."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Literal

import torch

from lab.core.knobs import Knobs, knob
from lab.exporters._base import Exporter
from lab.runs.building.parts import testing_transform, trained
from lab.runs.building.pixels import FromPixels
from lab.runs.folder import Run

CLOSE = 1e-4
"""How far an embedding of the program may be from the encoder's."""


class Torch(Exporter):
    """A file that `torch.export.load` reads: uint8 images [n 3 s s] in, embeddings [n d] out, scaled and normalised
    within. Resizing and cropping to s pixels stay outside; the extra file `rankscope.json` says how the run does it.

    What only an evaluation does (`evaluation.flip`, `scales`, `beta`) is not part of the encoder.

    Example (`run` is that of `lab.exporters`):
        >>> import torch
        >>> path = lab.exporters.create("torch").export(run, root / "run.pt2")
        >>> program = torch.export.load(path).module()
        >>> program(torch.zeros(3, 3, 32, 32, dtype=torch.uint8)).shape
        torch.Size([3, 128])
    """

    suffix = ".pt2"

    class Knobs(Knobs):
        checkpoint: Literal["as evaluated", "best", "last"] = knob(
            "as evaluated", "Checkpoint whose weights are written."
        )

    def write(self, run: Run, path: Path) -> None:
        name = self.knobs.checkpoint
        model = trained(run, None if name == "as evaluated" else name, run.config.evaluation.knobs.pooling)
        seen = testing_transform(run.config, model.encoder)
        side = seen(torch.zeros(3, 64, 64, dtype=torch.uint8)).shape[-1]
        fixed = torch.Generator().manual_seed(0)
        images = torch.randint(0, 256, (5, 3, side, side), dtype=torch.uint8, generator=fixed)
        free = {"images": {0: torch.export.Dim("images", min=1)}}
        with torch.no_grad():
            program = torch.export.export(FromPixels(model.encoder), (images[:2],), dynamic_shapes=free)
        told = {"run": run.name, "checkpoint": model.checkpoint, "step": model.step, "size": side}
        told["testing"] = run.config.testing.as_dict()
        written = io.BytesIO()
        torch.export.save(program, written, extra_files={"rankscope.json": json.dumps(told)})
        _compare(written, images, model.encoder(seen.finish(images)))
        path.write_bytes(written.getvalue())


@torch.no_grad()
def _compare(written: io.BytesIO, images: torch.Tensor, expected: torch.Tensor) -> None:
    """Read the program back and let it embed.

    Raises:
        ValueError: it embeds otherwise than the encoder.
    """
    written.seek(0)
    off = (torch.export.load(written).module()(images) - expected).abs().max().item()
    if not off <= CLOSE:
        raise ValueError(
            f"The exported program embeds otherwise than the encoder, by up to {off:.2g} where {CLOSE:g} is allowed; "
            "nothing was written. Keep the run's own checkpoint, and please report this."
        )
