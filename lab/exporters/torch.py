"""The encoder as a program of torch.export, which runs without Rankscope."""

from __future__ import annotations

import io
import json
import warnings
from pathlib import Path

import torch

from lab.exporters._program import EncoderExporter, Program, check_equal
from lab.runs.folder import Run


class Torch(EncoderExporter):
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

    def write(self, run: Run, path: Path) -> None:
        path.write_bytes(saved(self.program(run)))


@torch.no_grad()
def saved(program: Program) -> bytes:
    """The content of the file, read back and tried.

    Raises:
        ValueError: the file's program embeds otherwise than the encoder.
    """
    exported = torch.export.export(program.module, (program.images[:2],), dynamic_shapes=program.shapes)
    written = io.BytesIO()
    with warnings.catch_warnings():  # of tensors that share memory, which is checked below by what comes out
        warnings.filterwarnings("ignore", message="No complete tensor found")
        torch.export.save(exported, written, extra_files={"rankscope.json": json.dumps(program.about)})
    written.seek(0)
    check_equal(torch.export.load(written).module()(program.images).numpy(), program.expected)
    return written.getvalue()
