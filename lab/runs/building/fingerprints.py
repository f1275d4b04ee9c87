"""Identify the encoder that made embeddings: those of two encoders cannot be compared, even if they are as wide."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from lab.runs.config import difference
from lab.search.galleries.maker import Maker

if TYPE_CHECKING:
    from lab.runs.building.trained import Trained
    from lab.runs.folder import Run

MAKING = tuple(f"evaluation.{knob}" for knob in ("flip", "beta", "pooling", "scales"))
"""Settings of an evaluation that change the embeddings."""


def maker_of_run(trained: Trained) -> Maker:
    """Identify the encoder of a run by its weights and not by its name alone: further training changes them.

    Settings of the evaluation that differ from the run's own, such as mirror images or another size, count, too.
    """
    words = f"run {trained.run.path.resolve()}, {trained.checkpoint} checkpoint of step {trained.step}"
    weights = fingerprint(trained.encoder)
    changed = []
    for path, (_, value) in sorted(difference(trained.run.config, trained.config).items()):
        if path.startswith("testing.") or path in MAKING:
            changed.append(f"{path} {value}")
    if changed:
        words += f", with {', '.join(changed)}"
        weights = hashlib.blake2b(f"{weights} {changed}".encode(), digest_size=8).hexdigest()
    return Maker(words, weights)


def recorded(run: Run, split: str) -> Maker | None:
    """Return what embedded a split of a run: the encoder that `lab embed` recorded, or that of its checkpoint.

    None if it is unknown: embeddings that came without an encoder, an encoder that is not in the folder, or weights
    that were trained further since.
    """
    record = run.meta.get("made_by")
    if isinstance(record, dict):
        return Maker(str(record["words"]), str(record["weights"]))
    if run.config.encoder.outside or run.used_checkpoint() is None:
        return None
    from lab.runs.building.trained import open_trained

    trained = open_trained(run, config=run.config_of(split))
    origin = run.origin(split)
    if origin.checkpoint and (origin.checkpoint, origin.step) != (trained.checkpoint, trained.step):
        return None
    return maker_of_run(trained)


def fingerprint(encoder: Any) -> str:
    """Sixteen letters that two encoders share only if they have the same weights, layer and sizes of images.

    Example:
        >>> import torch
        >>> layer = torch.nn.Linear(2, 2)
        >>> before = fingerprint(layer)
        >>> with torch.no_grad():
        ...     layer.weight[0, 0] += 1
        >>> len(before), before == fingerprint(layer)
        (16, False)
    """
    import numpy as np
    import torch

    from lab.encoders import AtLayer

    made = hashlib.blake2b(digest_size=8)
    made.update(repr([getattr(encoder, name, None) for name in ("input_size", "mean", "std")]).encode())
    layers = [part.layer.words for part in getattr(encoder, "modules", list)() if isinstance(part, AtLayer)]
    if layers:  # the weights are those of the whole network, whichever of its layers is used
        made.update(repr(layers).encode())
    state = {name: value for name, value in encoder.state_dict().items() if isinstance(value, torch.Tensor)}
    program = getattr(getattr(encoder, "model", None), "program", None)
    if isinstance(program, bytes):  # an encoder that is no module (ONNX): the bytes of its file
        state["program"] = torch.frombuffer(bytearray(program), dtype=torch.uint8)
    for name, value in sorted(state.items()):
        array = value.detach().cpu().contiguous()
        digest.update(f"{name} {array.dtype} {list(array.shape)}".encode())
        digest.update(np.ascontiguousarray(array.view(-1).view(torch.uint8).numpy()).data)
    return digest.hexdigest()
