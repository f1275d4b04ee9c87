"""What exporters of the encoder share: the encoder with its scaling, images to try it on, and the check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from lab.core.knobs import Knobs, knob
from lab.runs.building.parts import testing_transform
from lab.runs.building.pixels import FromPixels
from lab.runs.building.trained import open_trained
from lab.runs.folder import Run

CLOSE = 1e-4
"""How far an embedding of the written program may be from the encoder's."""


class CheckpointKnobs(Knobs):
    """Which weights are written."""

    checkpoint: Literal["as evaluated", "best", "last"] = knob("as evaluated", "Checkpoint whose weights are written.")


@dataclass(frozen=True)
class Program:
    """The encoder of a run, ready to be written.

    module: pixels uint8 [n 3 s s] to embeddings [n d]. images: uint8 [5 3 s s] to try it on. expected: float32 [5 d],
    what the run's own loading and encoder make of them. about: of the run, for whoever has only the file.
    """

    module: FromPixels
    images: torch.Tensor
    expected: np.ndarray
    about: dict[str, Any]

    @property
    def shapes(self) -> dict[str, Any]:
        """What torch.export has to know: the number of images is free."""
        return {"images": {0: torch.export.Dim("images", min=1)}}


def program_of(run: Run, checkpoint: str) -> Program:
    """Read a checkpoint.

    Raises:
        ValueError: the run has no such checkpoint, or it does not fit.
    """
    if run.config.outside:
        raise ValueError(f"Run {run.name} holds embeddings that were made elsewhere, so there is no encoder to export.")
    model = open_trained(run, None if checkpoint == "as evaluated" else checkpoint)
    seen = testing_transform(run.config, model.encoder)
    side = seen(torch.zeros(3, 64, 64, dtype=torch.uint8)).shape[-1]
    fixed = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (5, 3, side, side), dtype=torch.uint8, generator=fixed)
    with torch.no_grad():
        expected = model.encoder(seen.finish(images)).numpy()
    about = {"run": run.name, "checkpoint": model.checkpoint, "step": model.step, "size": side}
    about |= {"dim": expected.shape[1], "testing": run.config.testing.as_dict()}
    return Program(FromPixels(model.encoder).eval(), images, expected, about)


def check_equal(found: np.ndarray, expected: np.ndarray) -> None:
    """Refuse a program that does not do what the encoder does.

    Raises:
        ValueError: it embeds otherwise than the encoder.
    """
    off = float(np.abs(found - expected).max())
    if not off <= CLOSE:
        raise ValueError(
            f"The exported program embeds otherwise than the encoder, by up to {off:.2g} where {CLOSE:g} is allowed; "
            "nothing was written. Keep the run's own checkpoint, and please report this."
        )
