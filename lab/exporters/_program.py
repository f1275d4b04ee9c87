"""What exporters of the encoder share: the encoder with its scaling, images to try it on, and the check."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from lab.core.knobs import Knobs, knob
from lab.exporters._base import Exporter
from lab.runs.building.parts import testing_transform
from lab.runs.building.trained import FromPixels, open_trained
from lab.runs.custom.modules import CustomEncoder, again
from lab.runs.folder import Run

CLOSE = 1e-4
"""How far an embedding of the written program may be from the encoder's."""


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


class EncoderExporter(Exporter):
    """Base of the exporters that write the encoder: one of a person's own has to be given again."""

    class Knobs(Knobs):
        checkpoint: Literal["as evaluated", "best", "last"] = knob(
            "as evaluated", "Checkpoint whose weights are written."
        )

    given: CustomEncoder | None = None

    def export(self, run: Run, path: Path | str | None = None, encoder: nn.Module | str | None = None) -> Path:
        """As every exporter does.

        Args:
            encoder: the module that `lab.train` was given for this run, or `module:function` that makes it.
        """
        self.given = None if encoder is None else again(encoder, run.config)
        return super().export(run, path)

    def program(self, run: Run) -> Program:
        """The encoder as the knobs want it.

        Raises:
            ValueError: the run has no such checkpoint, it does not fit, or it is of an encoder that was not given.
        """
        config = run.config
        if config.imported:
            raise ValueError(
                f"Run {run.name} holds embeddings that were made elsewhere, so there is no encoder to export."
            )
        if config.outside and self.given is None:
            raise ValueError(
                f"Run {run.name} was trained with an encoder of your own ({config.encoder.values.get('what')}), and "
                "its folder holds only the weights; name a function that makes it: --encoder module:function, or in "
                "Python export(run, encoder=module)."
            )
        checkpoint = None if self.knobs.checkpoint == "as evaluated" else self.knobs.checkpoint
        model = open_trained(run, checkpoint, encoder=self.given)
        seen = testing_transform(config, model.encoder)
        side = seen(torch.zeros(3, 64, 64, dtype=torch.uint8)).shape[-1]
        fixed = torch.Generator().manual_seed(0)
        images = torch.randint(0, 256, (5, 3, side, side), dtype=torch.uint8, generator=fixed)
        with torch.no_grad():
            expected = model.encoder(seen.finish(images)).numpy()
        about = {"run": run.name, "checkpoint": model.checkpoint, "step": model.step, "size": side}
        about |= {"dim": expected.shape[1], "testing": config.testing.as_dict()}
        return Program(FromPixels(model.encoder).eval(), images, expected, about)


def check_equal(actual: np.ndarray, expected: np.ndarray) -> None:
    """Refuse a program that does not do what the encoder does.

    Raises:
        ValueError: it embeds otherwise than the encoder.
    """
    off = float(np.abs(actual - expected).max())
    if not off <= CLOSE:
        raise ValueError(
            f"The exported program embeds otherwise than the encoder, by up to {off:.2g} where {CLOSE:g} is allowed; "
            "nothing was written. Keep the run's own checkpoint, and please report this."
        )
