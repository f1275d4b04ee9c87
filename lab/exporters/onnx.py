"""Export the encoder to an ONNX model, for ONNX Runtime, OpenVINO, TensorRT and browsers."""

import json
import warnings
from pathlib import Path

import torch

from lab.exporters._program import Program, ProgramExporter, check_equal


class Onnx(ProgramExporter):
    """Write a model with the input `images`, uint8 [n 3 s s], and the output `embeddings`, float32 [n d].

    Scaling and normalising are part of the model. With `raw` it takes pictures [n 3 h w] of any size, which it resizes
    and crops itself. `FILE.md` beside it, which is also the model's `doc_string`, has the lines of code that use it;
    the model's metadata `rankscope` is JSON about the run. After writing, ONNX Runtime embeds some images; the result
    must agree with the encoder's within 1e-4, or 0.005 with `raw`.

    The options of an evaluation (`evaluation.flip`, `scales`, `beta`) are not part of the encoder.

    Example (`run` is that of `lab.exporters`):
        >>> import numpy as np, onnxruntime
        >>> path = lab.exporters.create("onnx").export(run, root / "run.onnx")
        >>> session = onnxruntime.InferenceSession(path)
        >>> session.run(None, {"images": np.zeros((3, 3, 32, 32), np.uint8)})[0].shape
        (3, 128)
    """

    suffix = ".onnx"
    needs = ("onnx", "onnxscript", "onnxruntime")
    extra = "onnx"
    imports = "import onnxruntime"
    opened = """session = onnxruntime.InferenceSession("FILE")


def embed(images):
    return session.run(["embeddings"], {"images": images})[0]

"""

    def save(self, program: Program, path: Path) -> None:
        import onnxruntime

        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # they concern the exporter's own parts
            exported = torch.onnx.export(
                program.module,
                program.example,
                dynamo=True,
                dynamic_shapes=program.shapes,
                input_names=["images"],
                output_names=["embeddings"],
                verbose=False,
            )
        assert exported is not None  # true for dynamo=True
        exported.model.doc_string = self.beside
        exported.model.metadata_props["rankscope"] = json.dumps(program.about)
        exported.save(path)
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        check_equal(lambda images: session.run(None, {"images": images.numpy()})[0], program)
