"""Encoders of anybody's making, by a word: a model of timm, one of ours, a function, a program in a file."""

from __future__ import annotations

import difflib
import hashlib
import importlib
import sys
import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

import lab.encoders
from lab.core.explain import need
from lab.core.preprocessing import Preprocessing
from lab.core.words import PROGRAM, kind_of
from lab.encoders._timm import IMAGENET

WEIGHTS = (".pth", ".safetensors", ".bin", ".ckpt")
"""Suffixes of files that hold tensors by their names, and no model."""

SIDE = 224
"""Side of the images where a model does not say."""


@dataclass(frozen=True)
class Seen:
    """How an encoder wants its images: side in pixels, mean and deviation; None takes what the encoder says.

    Raises:
        ValueError: no image can be so small, or be normalised so.
    """

    size: int | None = None
    mean: tuple[float, float, float] | None = None
    std: tuple[float, float, float] | None = None

    def __post_init__(self) -> None:
        if self.size is not None and self.size < 1:
            raise ValueError(f"The side of the images must be at least one pixel, got {self.size}.")
        if any(one <= 0 for one in self.std or ()):
            raise ValueError(f"std must be above 0, got {list(self.std or ())}.")


class ForeignEncoder(nn.Module):
    """Any callable from normalised images float32 [n 3 h w] to features [n d], at unit length.

    Attributes: `input_size`, `mean`, `std` are what `seen` says, else the model, else its configuration if it is one of
    timm's, else ImageNet's at 224 pixels. `preprocessing` is what that configuration says, or None.
    """

    def __init__(self, model: Any, seen: Seen = Seen()):
        super().__init__()
        self.model = model
        config = getattr(model, "pretrained_cfg", None)  # of a model of timm that a function made
        config = config if isinstance(config, Mapping) else {}
        self.preprocessing = Preprocessing.of(config) if config else None
        of_timm = (
            {**config, "input_size": config["input_size"][-1]} if "input_size" in config else config
        )
        says = {
            name: getattr(model, name, None) or of_timm.get(name)
            for name in ("input_size", "mean", "std")
        }
        self.input_size = int(seen.size or says["input_size"] or SIDE)
        self.mean = tuple(seen.mean or says["mean"] or IMAGENET[0])
        self.std = tuple(seen.std or says["std"] or IMAGENET[1])

    def raw(self, images: torch.Tensor) -> torch.Tensor:
        """Features [n d] as the model makes them, of any length.

        Raises:
            ValueError: the model does not make a table of features.
        """
        features = self.model(images)
        # of an export: looking at the number of images would fix it
        if torch.compiler.is_compiling():
            return features
        if (
            not isinstance(features, torch.Tensor)
            or features.ndim != 2
            or len(features) != len(images)
        ):
            shape = list(features.shape) if hasattr(features, "shape") else type(features).__name__
            raise ValueError(
                f"An encoder makes features [n d] of images [n 3 h w]; this one makes {shape} of {list(images.shape)}."
            )
        return features

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Unit rows [n d]."""
        return F.normalize(self.raw(images).float(), dim=1)


def encoder_of(
    word: str, weights: str | None = None, seen: Seen = Seen(), pretrained: bool = True
) -> Any:
    """An encoder on the CPU in evaluation mode.

    Args:
        word: the name of one of our encoders or of a model of timm; `module:function`, which returns a model; or a
            file: TorchScript (.ts, .pt, .torchscript), torch.export (.pt2), ONNX (.onnx). All but ONNX can run any
            program, torch.export by the pickles in it: use only those that you trust.
        weights: file of weights for a model of timm, instead of a download.
        pretrained: whether a model gets the weights that it is known for; else they are random.

    Raises:
        ValueError: there is no such encoder, or it cannot be read.
    """
    if Path(word).suffix.lower() in WEIGHTS:
        raise ValueError(
            f"{word} is a file of weights, which are of some model: name it, with --weights {word}."
        )
    if kind_of(word) == PROGRAM:
        if weights:
            raise ValueError(
                f"{word} brings its own weights; --weights goes with the name of a model."
            )
        return ForeignEncoder(opened_program(word), seen).eval()
    if word in _catalogued():
        if weights:
            raise ValueError(
                f"{word} takes no file of weights; --weights goes with the name of a model of timm."
            )
        knobs = {"pretrained": pretrained} if not is_untrained(word) else {}
        return _seeing(lab.encoders.create(word, dim=None, **knobs), seen).eval()
    of_timm = {
        "backbone": word,
        "weights": weights,
        "image_size": seen.size,
        "pretrained": pretrained,
    }
    return _seeing(lab.encoders.create("timm_model", dim=None, **of_timm), seen).eval()


def opened_program(word: str) -> Any:
    """Run `module:function`, or open a file that is a program, and return the model.

    Only what a person typed may come here: words of a file are refused by `lab.runs.boundary`.

    Raises:
        ValueError: there is no such function or file, or it cannot be read.
    """
    if Path(word).suffix.lower() not in FILES:
        return made_by(word)
    if not Path(word).expanduser().is_file():
        raise ValueError(f"There is no file {word}.")
    return _program(Path(word).expanduser())


def program_record(program: nn.Module | str) -> dict[str, str]:
    """Describe a program that was opened: its `words`, and the `digest` of its file, "" where there is none.

    The file is that of the module that holds the function or the class, or the program's own. Classes of torch itself
    have none: their file changes with the version of torch.
    """
    if not isinstance(program, str):
        words = type(program).__qualname__
        module = type(program).__module__
        file = (
            None
            if module.partition(".")[0] == "torch"
            else getattr(sys.modules.get(module), "__file__", None)
        )
    elif Path(program).suffix.lower() in FILES:
        words = program
        file = str(Path(program).expanduser())
    else:
        words = program
        file = getattr(sys.modules.get(program.partition(":")[0]), "__file__", None)
    if file is None or not Path(file).is_file():
        return {"words": words, "digest": ""}
    with open(file, "rb") as content:
        return {"words": words, "digest": hashlib.file_digest(content, "sha256").hexdigest()}


def refuse_unknown(word: str, runs: Sequence[str]) -> None:
    """Say that a word is nothing that `encoder_of` knows, and what may have been meant, among names of runs, too.

    Raises:
        ValueError: it is no file, no function, and no name of a model.
    """
    import timm

    named = Path(word).suffix.lower() in WEIGHTS or kind_of(word) == PROGRAM
    if named or word in _catalogued() or timm.is_model(word):
        return
    near = difflib.get_close_matches(word, [*runs, *_catalogued(), *timm.list_models()], n=3)
    hint = f" Similar: {', '.join(near)}." if near else ""
    raise ValueError(f"{word!r} is no run, no encoder of Rankscope's and no model of timm.{hint}")


def _catalogued() -> list[str]:
    """Our encoders, but for those that are any model of timm, and a head on any."""
    return [name for name in lab.encoders.names() if name not in ("timm_model", "adapted")]


def is_untrained(word: str) -> bool:
    """Whether it is an encoder of ours that has random weights until it is trained."""
    return word in _catalogued() and "pretrained" not in lab.encoders.get(word).Knobs.model_fields


def _seeing(encoder: Any, seen: Seen) -> Any:
    """Set the image size, mean and standard deviation of one of our encoders, where the user chose them."""
    for name, attribute in (("size", "input_size"), ("mean", "mean"), ("std", "std")):
        value = getattr(seen, name)
        if isinstance(value, list):
            value = tuple(value)
        if value is not None:
            setattr(encoder, attribute, value)
    return encoder


def made_by(word: str) -> Any:
    """What `module:function` returns; the folder where the command was given is looked in, too.

    Raises:
        ValueError: there is no such function, it wants arguments, or returns nothing that can be called.
    """
    if ":" not in word:
        raise ValueError(f"A function is named as module:function; got {word!r}.")
    module, _, name = word.partition(":")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        made = getattr(importlib.import_module(module), name)()
    except (ImportError, AttributeError, TypeError) as error:
        raise ValueError(
            f"{word} cannot be called without arguments to make an encoder: {error}."
        ) from None
    if not callable(made):
        raise ValueError(
            f"{word} returned {type(made).__name__}, nothing that can be called with images."
        )
    return made


def _program(path: Path) -> Any:
    """The program in a file of one of `FILES`; what its own library says against it is a sentence about the file."""
    kind, read = FILES[path.suffix.lower()]
    try:
        # that torch.export succeeds TorchScript
        with warnings.catch_warnings(category=FutureWarning, action="ignore"):
            return read(path)
    except Exception as error:  # each library raises kinds of its own
        reason = " ".join(str(error).split())[:200].rstrip(".")
        other = (
            f"; of weights, name the model, with --weights {path}" if path.suffix == ".pt" else ""
        )
        raise ValueError(f"{path} is not {kind} that can be read here ({reason}){other}.") from None


class _Pixels(nn.Module):
    """A program that may take the pixels themselves, 0 to 255, as those that `lab export` writes."""

    def _takes(self, side: Any, as_bytes: bool) -> None:
        self.takes_bytes = as_bytes
        if isinstance(side, int):
            self.input_size = side
        if as_bytes:
            self.mean = (0.0, 0.0, 0.0)
            self.std = (1.0, 1.0, 1.0)

    def _seen(self, images: torch.Tensor) -> torch.Tensor:
        return (images * 255).round().clamp(0, 255).to(torch.uint8) if self.takes_bytes else images


class _Exported(_Pixels):
    """A program of torch.export."""

    def __init__(self, path: Path):
        super().__init__()
        if not zipfile.is_zipfile(path):  # before torch tells the log about it
            raise ValueError("it is no archive")
        program = torch.export.load(str(path))
        # positional and by name
        self.program = program.module()
        example = program.example_inputs
        first = next(iter(example[0]), None) if example else None
        self._takes(
            None if first is None else int(first.shape[-1]),
            first is not None and first.dtype == torch.uint8,
        )

    def train(self, mode: bool = True) -> _Exported:
        """The program has one mode only, and refuses to be asked for another."""
        self.training = mode
        return self

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.program(self._seen(images))


class _Onnx(_Pixels):
    """The first output of an ONNX model; `program` is another one for another file."""

    def __init__(self, path: Path):
        super().__init__()
        need("an ONNX model", "onnx", "onnxruntime")
        import onnxruntime

        self.session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        self.program = hashlib.blake2b(path.read_bytes(), digest_size=16).digest()
        first, *_ = self.session.get_inputs()
        self.input = first.name
        self._takes(first.shape[-1], first.type == "tensor(uint8)")

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(
            self.session.run(None, {self.input: self._seen(images).cpu().numpy()})[0]
        )


FILES: dict[str, tuple[str, Callable[[Path], Any]]] = {
    **dict.fromkeys(
        (".ts", ".pt", ".torchscript"),
        ("a TorchScript program", partial(torch.jit.load, map_location="cpu")),
    ),
    ".pt2": ("a program of torch.export", _Exported),
    ".onnx": ("an ONNX model", _Onnx),
}
"""Suffix to the kind of a program, and what reads it."""
