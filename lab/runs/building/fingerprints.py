"""Which encoder made vectors: those of two encoders cannot be compared, though they may be as wide."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from lab.runs.config import difference
from lab.search.galleries.maker import Maker

if TYPE_CHECKING:
    from lab.runs.building.trained import Trained
    from lab.runs.folder import Run

MAKING = tuple(f"evaluation.{knob}" for knob in ("flip", "beta", "pooling", "scales"))
"""Settings of an evaluation that vectors depend on."""


def maker_of_run(trained: Trained) -> Maker:
    """The encoder of a run; not by its name alone: one that is trained on makes other vectors.

    So does one that embeds with other settings than the run's own, such as mirror images or another size.
    """
    words = (
        f"run {trained.run.path.resolve()}, {trained.checkpoint} checkpoint of step {trained.step}"
    )
    weights = fingerprint(trained.encoder)
    changed = [
        f"{path} {mine}"
        for path, (_, mine) in sorted(difference(trained.run.config, trained.config).items())
        if path.startswith("testing.") or path in MAKING
    ]
    if changed:
        words += f", with {', '.join(changed)}"
        weights = hashlib.blake2b(f"{weights} {changed}".encode(), digest_size=8).hexdigest()
    return Maker(words, weights)


def recorded(run: Run, split: str) -> Maker | None:
    """What embedded a split of a run: what `lab embed` wrote down, or the encoder of its checkpoint.

    None where nobody knows: vectors that came without an encoder, one that its folder does not hold, or weights that
    were trained on since.
    """
    record = run.meta.get("made_by")
    if isinstance(record, dict):
        return Maker(str(record["words"]), str(record["weights"]))
    if run.config.encoder.outside or run.used_checkpoint() is None:
        return None
    from lab.runs.building.trained import open_trained

    trained, origin = open_trained(run, config=run.config_of(split)), run.origin(split)
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
    made.update(
        repr([getattr(encoder, name, None) for name in ("input_size", "mean", "std")]).encode()
    )
    layers = [
        part.layer.words
        for part in getattr(encoder, "modules", list)()
        if isinstance(part, AtLayer)
    ]
    if layers:  # the weights are those of the whole network, whichever of its layers is used
        made.update(repr(layers).encode())
    state = {
        name: value
        for name, value in encoder.state_dict().items()
        if isinstance(value, torch.Tensor)
    }
    program = getattr(getattr(encoder, "model", None), "program", None)
    if isinstance(program, bytes):  # of what is no module (ONNX): the bytes of its file
        state["program"] = torch.frombuffer(bytearray(program), dtype=torch.uint8)
    for name, value in sorted(state.items()):
        array = value.detach().cpu().contiguous()
        made.update(f"{name} {array.dtype} {list(array.shape)}".encode())
        made.update(np.ascontiguousarray(array.view(-1).view(torch.uint8).numpy()).data)
    return made.hexdigest()
