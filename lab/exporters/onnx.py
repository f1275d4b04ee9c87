"""The encoder as an ONNX model, for ONNX Runtime, OpenVINO, TensorRT and browsers."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import torch

from lab.exporters._program import EncoderExporter, check_equal
from lab.runs.folder import Run


class Onnx(EncoderExporter):
    """A file with the input `images`, uint8 [n 3 s s], and the output `embeddings`, float32 [n d]; scaling and
    normalising happen within. Resizing and cropping to s pixels stay outside; the model's metadata `rankscope` is JSON
    that says how the run does it. ONNX Runtime embeds five images when it is written, and must agree within 1e-4.

    What only an evaluation does (`evaluation.flip`, `scales`, `beta`) is not part of the encoder.

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

    def write(self, run: Run, path: Path) -> None:
        import onnxruntime

        program = self.program(run)
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # of the exporter's own parts, which are none of the user's concern
            exported = torch.onnx.export(
                program.module,
                (program.images[:2],),
                dynamo=True,
                dynamic_shapes=program.shapes,
                input_names=["images"],
                output_names=["embeddings"],
                verbose=False,
            )
        assert exported is not None  # of dynamo=True
        exported.model.metadata_props["rankscope"] = json.dumps(program.about)
        exported.save(path)
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        check_equal(session.run(None, {"images": program.images.numpy()})[0], program.expected)
