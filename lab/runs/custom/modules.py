"""The user's own encoder and loss for the training loop: checked on one small batch before anything is written."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import nn

from lab.core.explain import explain, quoted
from lab.core.words import PROGRAM, PROGRAMS, kind_of
from lab.encoders.foreign import (
    IMAGENET,
    SIDE,
    ForeignEncoder,
    Seen,
    opened_program,
    program_record,
)
from lab.runs.config import without_fetching

if TYPE_CHECKING:
    from lab.runs.folder import Run

PROBED = 4
"""Images on which a loss is checked."""


@dataclass(frozen=True)
class Custom:
    """The user's own parts of one training; None where the configuration names an entry of the catalogue."""

    encoder: Any = (
        None  # a CustomEncoder, or an encoder of the catalogue on a network that was given
    )
    loss: CustomLoss | None = None
    program: Mapping[str, str] | None = None  # source of the encoder; see `program_record`


class CustomEncoder(ForeignEncoder):
    """Any module from normalised images float32 [n 3 h w] to embeddings [n d].

    Attributes:
        dim, trained_dim: width of its embeddings, measured by a call; its weights, mode and random state stay as they
            were.

    Raises:
        ValueError: it refuses such images, or does not return a table of numbers.
    """

    def __init__(self, module: nn.Module, size: int, normalise: bool):
        mean = getattr(module, "mean", None) or IMAGENET[0]
        std = getattr(module, "std", None) or IMAGENET[1]
        super().__init__(module, Seen(size=size, mean=mean, std=std))
        self.normalise = normalise
        self.knobs = SimpleNamespace(normalise=normalise)  # as encoders of the catalogue have it
        device = next((p.device for p in module.parameters()), torch.device("cpu"))
        modes = [(part, part.training) for part in self.modules()]
        try:
            with torch.random.fork_rng(devices=[]), torch.no_grad():
                self.dim = int(
                    self.eval().raw(torch.zeros(2, 3, size, size, device=device)).shape[1]
                )
                self.trained_dim = self.dim
        except (RuntimeError, TypeError, IndexError, AttributeError) as error:
            raise ValueError(
                f"The encoder cannot be used on images [n 3 h w] of {size} pixels: {explain(error)[:200].rstrip('.')}. "
                "If it wants another size, give augmentation={'size': ...}."
            ) from None
        finally:
            for part, mode in modes:
                part.training = mode

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return embeddings [n d], unit rows unless lengths are kept."""
        embeddings = self.raw(images)
        return F.normalize(embeddings.float(), dim=1) if self.normalise else embeddings

    def pool_as(self, pooling: str) -> CustomEncoder:
        """Refuse: the module pools by itself."""
        raise ValueError(
            f"An encoder of your own pools by itself, so evaluation.pooling cannot be {pooling!r}."
        )


class CustomLoss(nn.Module):
    """Any callable from embeddings [n d] and labels int64 [n] to a scalar; the weights of a module are trained, too."""

    def __init__(self, function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]):
        super().__init__()
        self.function = function

    def forward(self, embeddings: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the loss, a scalar.

        Raises:
            ValueError: the callable returned something else.
        """
        value = self.function(embeddings, labels)
        if not isinstance(value, torch.Tensor) or value.numel() != 1:
            kind = type(value).__name__
            if isinstance(value, torch.Tensor):
                kind = f"a tensor {list(value.shape)}"
            raise ValueError(f"A loss returns a scalar tensor; this one returned {kind}.")
        return value.reshape(())

    def try_out(self, dim: int) -> None:
        """Call a copy of it on two classes of two random unit vectors [4 d] that require a gradient.

        Raises:
            ValueError: it fails, returns no scalar, or its value does not depend on the embeddings.
        """
        with torch.random.fork_rng(devices=[]):
            points = F.normalize(
                torch.randn(PROBED, dim, generator=torch.Generator().manual_seed(0)), dim=1
            )
            labels = torch.arange(PROBED) // 2
            try:
                value = copy.deepcopy(self).cpu()(points.requires_grad_(), labels)
            except ValueError:
                raise
            except Exception as error:  # a user's function may raise anything
                sizes = f"embeddings {list(points.shape)} and labels {list(labels.shape)}"
                raise ValueError(
                    f"The loss fails on {sizes}: {explain(error)[:200].rstrip('.')}."
                ) from None
        if not value.requires_grad:
            raise ValueError(
                "The loss has no gradient: it must be computed from the embeddings with torch alone."
            )


def custom_loss(function: Any) -> CustomLoss:
    """Return the user's loss as the loop calls it.

    Raises:
        ValueError: it cannot be called.
    """
    if isinstance(function, type) or not callable(function):
        raise ValueError(wrong_kind("loss", function, "a callable of embeddings and labels"))
    return CustomLoss(function)


def wrong_kind(what: str, thing: Any, expected: str) -> str:
    """Return the message about an object that is neither of the expected kind nor a name."""
    kind = type(thing).__name__
    if isinstance(thing, type):
        kind = f"the class {thing.__name__} itself, not one of its objects"
    return f"{what} must be {expected}, or the name of one of ours; got {kind}."


def again(encoder: nn.Module | str, run: Run) -> Any:
    """Build the encoder of a run that was trained with a program, from the program that its owner gives again.

    A warning is given if the file of the program has changed since the run was made.

    Args:
        encoder: the module, `module:function` that makes it, or a file that is a program.

    Raises:
        ValueError: it is none, or the run was trained with an encoder of the catalogue, which needs no program.
    """
    config = run.config
    if config.imported:
        raise ValueError(
            "This run holds embeddings that were made elsewhere; there are no weights to give an encoder."
        )
    if not (config.encoder.outside or config.program):
        raise ValueError(
            f"This run was trained with {config.encoder.name}, which is built by itself; leave encoder out."
        )
    if isinstance(encoder, str) and kind_of(encoder) != PROGRAM:
        raise ValueError(
            f"{encoder!r} is no program; name module:function, or a file ({' '.join(PROGRAMS)})."
        )
    module = opened_program(encoder) if isinstance(encoder, str) else encoder
    if not isinstance(module, nn.Module):
        raise ValueError(
            f"encoder must be a torch.nn.Module, or module:function, which makes one; got {type(module).__name__}."
        )
    # Warn if the program is another one than the run was made with.
    kept: Any = run.meta.get("program")
    now = program_record(encoder)
    before = kept.get("digest") if isinstance(kept, dict) else None
    if before and now["digest"] and now["digest"] != before:
        warnings.warn(
            f"The program {now['words']} has changed since run {run.name} was made with it ({quoted(kept['words'])}), "
            "so its results may differ.",
            stacklevel=3,
        )
    if not config.encoder.outside:
        network = ForeignEncoder(module, Seen(size=config.encoder.knobs.image_size)).eval()
        return config.encoder.create({"network": network, **without_fetching(config.encoder)})
    unit = config.encoder.values.get("normalise", True)
    return CustomEncoder(
        module, config.augmentation.knobs.size or getattr(module, "input_size", None) or SIDE, unit
    )
