"""Export the encoder to a program of torch.export, which runs without Rankscope."""

import json
import warnings
from pathlib import Path

import torch

from lab.exporters._program import Program, ProgramExporter, check_equal


class Torch(ProgramExporter):
    """Write a program for `torch.export.load`, from uint8 images [n 3 s s] to embeddings [n d].

    Scaling and normalising are part of the program. With `raw` it takes pictures [n 3 h w] of any size, which it
    resizes and crops itself. `FILE.md` beside it, which is also the extra file `README.md` inside, has the lines of
    code that use it; the extra file `rankscope.json` describes the run.

    The options of an evaluation (`evaluation.flip`, `scales`, `beta`) are not part of the encoder.

    Example (`run` is that of `lab.exporters`):
        >>> import torch
        >>> path = lab.exporters.create("torch", raw=True).export(run, root / "run.pt2")
        >>> program = torch.export.load(path).module()
        >>> program(torch.zeros(3, 3, 48, 40, dtype=torch.uint8)).shape
        torch.Size([3, 128])
    """

    suffix = ".pt2"
    imports = "import torch"
    opened = """program = torch.export.load("FILE").module()


def embed(images):
    return program(torch.from_numpy(images)).detach().numpy()

"""

    def save(self, program: Program, path: Path) -> None:
        extra = {"rankscope.json": json.dumps(program.about), "README.md": self.beside}
        with warnings.catch_warnings(), torch.no_grad():
            # The warning is about tensors that share memory; `check_equal` below checks the result.
            warnings.filterwarnings("ignore", message="No complete tensor found")
            exported = torch.export.export(
                program.module, program.example, dynamic_shapes=program.shapes
            )
            with open(path, "wb") as file:  # the name does not end in .pt2 yet
                torch.export.save(exported, file, extra_files=extra)
        with open(path, "rb") as file:
            written = torch.export.load(file).module()
        check_equal(lambda images: written(images).detach().numpy(), program)
