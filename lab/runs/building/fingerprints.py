"""Which encoder made vectors: those of two encoders cannot be compared, though they may be as wide."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from lab.runs.building.trained import Trained, open_trained

if TYPE_CHECKING:
    from lab.runs.folder import Run


@dataclass(frozen=True)
class Maker:
    """words: the encoder as people know it. weights: its fingerprint.

    Example:
        >>> mine, other = Maker("run a", "11"), Maker("run b", "22")
        >>> mine.note_on(Maker("run a, moved", "11"), "photos")
        ''
        >>> mine.note_on(other, "photos")
        Traceback (most recent call last):
        ValueError: photos was embedded by another encoder (run b) than the pictures to search with (run a), so their \
vectors cannot be compared; embed it again with this one.
    """

    words: str
    weights: str

    @classmethod
    def planned(cls, plan: Mapping[str, Any]) -> Maker | None:
        """That of a gallery in shards; None for one of somebody else's making."""
        return cls(str(plan["encoder"]), str(plan["weights"])) if {"encoder", "weights"} <= plan.keys() else None

    def note_on(self, made: Maker | None, what: str) -> str:
        """What to say to who searches vectors with those of this encoder: nothing, if it made them.

        Raises:
            ValueError: another one made them.
        """
        if made is None:
            return " (which encoder made it is not written down; scores mean something only if it was this one)"
        if made.weights != self.weights:
            raise ValueError(
                f"{what} was embedded by another encoder ({made.words}) than the pictures to search with "
                f"({self.words}), so their vectors cannot be compared; embed it again with this one."
            )
        return ""


def maker_of_run(trained: Trained) -> Maker:
    """The encoder of a run; not by its name alone: one that is trained on makes other vectors."""
    words = f"run {trained.run.path.resolve()}, {trained.checkpoint} checkpoint of step {trained.step}"
    return Maker(words, fingerprint(trained.encoder))


def recorded(run: Run, split: str) -> Maker | None:
    """What embedded a split of a run: what `lab embed` wrote down, or the encoder of its checkpoint.

    None where nobody knows: vectors that came without an encoder, or one that its folder does not hold.
    """
    told = run.meta.get("made_by")
    if isinstance(told, dict):
        return Maker(str(told["words"]), str(told["weights"]))
    if run.config.encoder.outside:
        return None
    return maker_of_run(open_trained(run, config=run.config_of(split)))


def fingerprint(encoder: Any) -> str:
    """Sixteen letters that two encoders share only if they have the same weights and sizes of images.

    Example:
        >>> import torch
        >>> layer = torch.nn.Linear(2, 2)
        >>> before = fingerprint(layer)
        >>> with torch.no_grad():
        ...     layer.weight[0, 0] += 1
        >>> len(before), before == fingerprint(layer)
        (16, False)
    """
    made = hashlib.blake2b(digest_size=8)
    made.update(repr([getattr(encoder, name, None) for name in ("input_size", "mean", "std")]).encode())
    for name, value in sorted(_state(encoder).items()):
        array = value.detach().cpu().contiguous()
        made.update(f"{name} {array.dtype} {list(array.shape)}".encode())
        made.update(np.ascontiguousarray(array.view(-1).view(torch.uint8).numpy()).data)
    return made.hexdigest()


def _state(encoder: Any) -> dict[str, torch.Tensor]:
    """The tensors of a module; of a program that is none (ONNX), the bytes of its file."""
    state = {name: value for name, value in encoder.state_dict().items() if isinstance(value, torch.Tensor)}
    program = getattr(getattr(encoder, "model", None), "program", None)
    if isinstance(program, bytes):
        state["program"] = torch.frombuffer(bytearray(program), dtype=torch.uint8)
    return state
