"""What exporters of the encoder share: the encoder with its scaling, images to try it on, and the check."""

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

CLOSE, CLOSE_RAW = 1e-4, 5e-3
"""How far an embedding of the written program may be from the encoder's; of one that resizes, too, whose pixels may
differ from Pillow's by one of 256 levels."""

TRIED_RAW = ((1.5, 2.1), (2.3, 1.0))
"""Height and width, in sides of the crop, of the pictures that such a program is tried on."""

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
    """The encoder of a run, ready to be written.

    module: uint8 pixels to embeddings [n d]. encoder: what it holds. geometry: how test images are prepared.
    trials: pixels uint8 [n 3 h w], and float32 [n d], what the run's own loading and encoder make of them.
    about: of the run, for whoever has only the file. raw: whether it takes pictures of any size.
    """

    module: nn.Module
    encoder: Any
    geometry: Geometry
    trials: list[tuple[torch.Tensor, np.ndarray]]
    about: dict[str, Any]
    raw: bool

    @property
    def example(self) -> tuple[torch.Tensor]:
        """Two images to trace it with."""
        return (self.trials[0][0][:2],)

    @property
    def shapes(self) -> tuple[dict[int, Any]]:
        """What torch.export has to know: which sizes are free."""
        free = {0: torch.export.Dim("images", min=1)}
        if self.raw:
            free |= {2: torch.export.Dim("height", min=2), 3: torch.export.Dim("width", min=2)}
        return (free,)

    def beside(self, opened: str, imports: str) -> str:
        """What lies beside the file: what it is, and the lines that use it."""
        size, within = self.geometry.size, "resized, cropped, scaled and normalised within"
        return BESIDE.format(
            **self.about,
            sides="height width" if self.raw else f"{size} {size}",
            prepared=within if self.raw else "resized and cropped as below; scaled and normalised within",
            lines=self.geometry.lines(opened, imports, self.raw),
            details=json.dumps(self.about, indent=1),
        )


class EncoderExporter(Exporter):
    """Base of the exporters that write the encoder: one of a person's own has to be given again."""

    checkpoint: Literal["as evaluated", "best", "last"] = knob(
        "Checkpoint whose weights are written.", default="as evaluated"
    )

    given = cast(Any, None)

    def export(self, run: Run, path: Path | str | None = None, encoder: nn.Module | str | None = None) -> Path:
        """As every exporter does.

        Args:
            encoder: the module that `lab.train` was given for this run, or `module:function` that makes it.
        """
        self.given = None if encoder is None else again(encoder, run)
        return super().export(run, path)

    def program(self, run: Run, raw: bool = False) -> Program:
        """The encoder as the knobs want it. raw: with resizing and cropping before it.

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
        if config.encoder.values.get("lora"):  # not in a network of somebody's own
            merge_attention(model.encoder)
        seen = testing_transform(config, model.encoder)
        geometry, pixels = Geometry.of(seen), FromPixels(model.encoder).eval()
        trials = _trials(model.encoder, seen, geometry.size, TRIED_RAW if raw else ((1, 1),))
        about = {"run": run.name, "checkpoint": model.checkpoint, "step": model.step, "size": geometry.size}
        about |= {"dim": trials[0][1].shape[1], "similarity": config.similarity, "testing": config.testing.as_dict()}
        about |= threshold.exported(run, of_encoder=True)
        module = nn.Sequential(Preparation(geometry), pixels) if raw else pixels
        return Program(module.eval(), model.encoder, geometry, trials, about, raw)


class ProgramExporter(EncoderExporter):
    """Base of the exporters that write the encoder as one file, which runs without Rankscope."""

    raw: bool = knob("Take pictures of any size: resizing and cropping are part of the program, too.", default=False)

    opened: ClassVar[str] = ""
    imports: ClassVar[str] = ""
    beside = ""

    def export(self, run: Run, path: Path | str | None = None, encoder: nn.Module | str | None = None) -> Path:
        """As every exporter does; the lines that use the file are written beside it, as `PATH.md`."""
        path = super().export(run, path, encoder)
        write_text(path.with_name(path.name + ".md"), self.beside.replace("FILE", path.name))
        return path

    def write(self, run: Run, path: Path) -> None:
        program = self.program(run, self.knobs.raw)
        self.beside = program.beside(self.opened, self.imports)
        self.save(program, path)

    def save(self, program: Program, path: Path) -> None:
        """Write the program and try it.

        Raises:
            ValueError: it embeds otherwise than the encoder.
        """
        raise NotImplementedError(f"{type(self).__name__} must define save.")


@torch.no_grad()
def _trials(
    encoder: Any, seen: Transform, side: int, sizes: tuple[tuple[float, float], ...]
) -> list[tuple[torch.Tensor, np.ndarray]]:
    """Drawn pictures of some sizes, smooth as photos are, and their embeddings: what Pillow makes of them decides."""
    draw, trials = np.random.default_rng(0), []
    for height, width in sizes:
        corners = draw.integers(0, 256, (5, 8, 8, 3), dtype=np.uint8)
        whole = (round(width * side), round(height * side))
        pictures = [Image.fromarray(one).resize(whole, Image.Resampling.BILINEAR) for one in corners]
        pixels = torch.from_numpy(np.stack([np.asarray(one) for one in pictures])).permute(0, 3, 1, 2).contiguous()
        prepared = pixels if whole == (side, side) else torch.stack([seen.geometry(one) for one in pictures])
        trials.append((pixels, encoder(seen.finish(prepared)).numpy()))
    return trials


def check_equal(embed: Callable[[torch.Tensor], np.ndarray], program: Program) -> None:
    """Refuse a written program that does not do what the encoder does.

    Raises:
        ValueError: it embeds otherwise than the encoder.
    """
    off = max(float(np.abs(embed(images) - expected).max()) for images, expected in program.trials)
    close = CLOSE_RAW if program.raw else CLOSE
    if not off <= close:
        raise ValueError(
            f"The exported program embeds otherwise than the encoder, by up to {off:.2g} where {close:g} is allowed; "
            "nothing was written. Keep the run's own checkpoint, and please report this."
        )
