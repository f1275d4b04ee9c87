"""Base classes of exporters of the encoder: the encoder with its scaling, trial images, and a check of the result."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

import numpy as np
import torch
from PIL import Image
from torch import nn

from lab import threshold
from lab.core.files import write_text
from lab.core.knobs import knob
from lab.data.images.transforms import Transform
from lab.encoders import merge_attention
from lab.exporters._base import Exporter
from lab.exporters._preparation import Geometry, Preparation
from lab.runs.building.parts import testing_transform
from lab.runs.building.trained import FromPixels, open_trained
from lab.runs.custom.modules import again
from lab.runs.folder import Run

CLOSE = 1e-4
CLOSE_RAW = 5e-3
"""Largest difference between an embedding of the exported program and of the encoder; the second is for a program that
also resizes, whose pixels may differ from Pillow's by one of 256 levels."""

TRIED_RAW = ((1.5, 2.1), (2.3, 1.0))
"""Height and width, in sides of the crop, of the trial pictures of such a program."""

BESIDE = """# FILE

The image encoder of the run {run}, {checkpoint} checkpoint of step {step:,}, written by Rankscope.

- Input `images`: uint8 [n 3 {sides}], RGB, {prepared}.
- Output `embeddings`: float32 [n {dim}], compared by {similarity}.

What only an evaluation does (mirror images, further scales, beta-normalisation) is not part of the encoder.

```python
{lines}```

```json
{details}
```
"""


@dataclass(frozen=True)
class Program:
    """The encoder of a run, ready for export.

    module: maps uint8 pixels to embeddings [n d]. encoder: the encoder in it. geometry: how test images are prepared.
    trials: pixels uint8 [n 3 h w], and their embeddings float32 [n d] by the run's own loading and encoder.
    about: facts about the run, for readers of the file alone. raw: whether it accepts pictures of any size.
    """

    module: nn.Module
    encoder: Any
    geometry: Geometry
    trials: list[tuple[torch.Tensor, np.ndarray]]
    about: dict[str, Any]
    raw: bool

    @property
    def example(self) -> tuple[torch.Tensor]:
        """Two images for tracing."""
        return (self.trials[0][0][:2],)

    @property
    def shapes(self) -> tuple[dict[int, Any]]:
        """The sizes that torch.export must leave free."""
        free = {0: torch.export.Dim("images", min=1)}
        if self.raw:
            free[2] = torch.export.Dim("height", min=2)
            free[3] = torch.export.Dim("width", min=2)
        return (free,)

    def beside(self, opened: str, imports: str) -> str:
        """Return the text of the file beside the program: its description, and the lines of code that use it."""
        size = self.geometry.size
        if self.raw:
            sides = "height width"
            prepared = "resized, cropped, scaled and normalised within"
        else:
            sides = f"{size} {size}"
            prepared = "resized and cropped as below; scaled and normalised within"
        return BESIDE.format(
            **self.about,
            sides=sides,
            prepared=prepared,
            lines=self.geometry.lines(opened, imports, self.raw),
            details=json.dumps(self.about, indent=1),
        )


class EncoderExporter(Exporter):
    """Base class of the exporters that write the encoder. An encoder from outside has to be passed again."""

    checkpoint: Literal["as evaluated", "best", "last"] = knob(
        "Checkpoint whose weights are written.", default="as evaluated"
    )

    given = cast(Any, None)

    def export(
        self, run: Run, path: Path | str | None = None, encoder: nn.Module | str | None = None
    ) -> Path:
        """Write the encoder of a run; see `Exporter.export`.

        Args:
            encoder: the module that was passed to `lab.train` for this run, or `module:function` that makes it.
        """
        self.given = None if encoder is None else again(encoder, run)
        return super().export(run, path)

    def program(self, run: Run, raw: bool = False) -> Program:
        """Return the encoder of the chosen checkpoint; with `raw`, including resizing and cropping.

        Raises:
            ValueError: the run has no such checkpoint, it does not fit, or an encoder from outside was not passed.
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
        if config.encoder.values.get("lora"):  # an encoder from outside has no such knob
            merge_attention(model.encoder)

        transform = testing_transform(config, model.encoder)
        geometry = Geometry.of(transform)
        module: nn.Module = FromPixels(model.encoder).eval()
        sizes: tuple[tuple[float, float], ...] = ((1, 1),)
        if raw:
            module = nn.Sequential(Preparation(geometry), module)
            sizes = TRIED_RAW
        trials = _trials(model.encoder, transform, geometry.size, sizes)

        about = {
            "run": run.name,
            "checkpoint": model.checkpoint,
            "step": model.step,
            "size": geometry.size,
            "dim": trials[0][1].shape[1],
            "similarity": config.similarity,
            "testing": config.testing.as_dict(),
        }
        about |= threshold.exported(run, of_encoder=True)
        return Program(module.eval(), model.encoder, geometry, trials, about, raw)


class ProgramExporter(EncoderExporter):
    """Base class of the exporters that write the encoder as one file, which runs without Rankscope."""

    raw: bool = knob(
        "Take pictures of any size: resizing and cropping are part of the program, too.",
        default=False,
    )

    opened: ClassVar[str] = ""
    imports: ClassVar[str] = ""
    beside = ""

    def export(
        self, run: Run, path: Path | str | None = None, encoder: nn.Module | str | None = None
    ) -> Path:
        """Write the program, and beside it `PATH.md` with the lines of code that use it."""
        path = super().export(run, path, encoder)
        write_text(path.with_name(path.name + ".md"), self.beside.replace("FILE", path.name))
        return path

    def write(self, run: Run, path: Path) -> None:
        program = self.program(run, self.knobs.raw)
        self.beside = program.beside(self.opened, self.imports)
        self.save(program, path)

    def save(self, program: Program, path: Path) -> None:
        """Write the program and check it.

        Raises:
            ValueError: its embeddings differ from those of the encoder.
        """
        raise NotImplementedError(f"{type(self).__name__} must define save.")


@torch.no_grad()
def _trials(
    encoder: Any, transform: Transform, side: int, sizes: tuple[tuple[float, float], ...]
) -> list[tuple[torch.Tensor, np.ndarray]]:
    """Return random smooth pictures of some sizes as pixels, and their embeddings after Pillow's resizing."""
    random = np.random.default_rng(0)
    trials = []
    for height, width in sizes:
        coarse = random.integers(0, 256, (5, 8, 8, 3), dtype=np.uint8)
        size = (round(width * side), round(height * side))
        pictures = [
            Image.fromarray(pixels).resize(size, Image.Resampling.BILINEAR) for pixels in coarse
        ]
        stacked = np.stack([np.asarray(picture) for picture in pictures])
        pixels = torch.from_numpy(stacked).permute(0, 3, 1, 2).contiguous()
        if size == (side, side):
            prepared = pixels
        else:
            prepared = torch.stack([transform.geometry(picture) for picture in pictures])
        trials.append((pixels, encoder(transform.finish(prepared)).numpy()))
    return trials


def check_equal(embed: Callable[[torch.Tensor], np.ndarray], program: Program) -> None:
    """Compare the embeddings of an exported program with those of the encoder.

    Raises:
        ValueError: they differ by more than the tolerance.
    """
    difference = max(
        float(np.abs(embed(images) - expected).max()) for images, expected in program.trials
    )
    tolerance = CLOSE_RAW if program.raw else CLOSE
    if not difference <= tolerance:
        raise ValueError(
            f"The exported program embeds otherwise than the encoder, by up to {difference:.2g} where {tolerance:g} "
            "is allowed; nothing was written. Keep the run's own checkpoint, and please report this."
        )
