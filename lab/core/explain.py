"""What went wrong, in a sentence a person can act on."""

from __future__ import annotations

import difflib
import errno
import functools
import inspect
import re
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

MOST = 1_200
"""Characters of a message; the longest of our own lists every knob of a section."""


def explain(error: BaseException, resumable: bool = False) -> str:
    """One sentence with the fix, for the status of a run and for the command line.

    resumable: it ended a training, which goes on from its last checkpoint.
    """
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        where = f" while writing {error.filename}" if error.filename else ""
        after = (
            " What was saved is intact, and the training goes on with --resume."
            if resumable
            else ""
        )
        return f"The disk is full{where}: free some space.{after}"
    if (
        isinstance(error, OSError)
        and error.errno in (errno.EACCES, errno.EROFS, errno.EPERM)
        and error.filename
    ):
        return f"No permission to use {error.filename}: choose another folder or change its rights."
    if isinstance(error, OSError) and error.errno == errno.ELOOP:
        return f"{error.filename} is a link or no ordinary file, and nothing is written through it: move it away."
    if isinstance(error, OSError) and error.errno == errno.ENOENT and error.filename:
        return f"{error.filename} is not there: it was moved or deleted, or cannot be made in that place."
    # Python puts a number before it
    if isinstance(error, OSError) and error.errno and error.strerror:
        return (
            f"{error.strerror}."
            if error.filename is None
            else f"{str(error.filename)[:200]}: {error.strerror}."
        )
    if isinstance(error, ModuleNotFoundError) and (sentence := missing(error)):
        return sentence
    if isinstance(error, RuntimeError) and "home directory" in text:
        return "A path begins with ~ and a name that no account of this machine has; write the path out."
    if re.search(r"gloo/|Connection closed by peer|NCCL|ProcessGroup", text):
        return (
            "Another process of this training ended or cannot be reached, its own message says why; go on from the "
            f"last checkpoint with the same torchrun command and --resume. ({text[:200]})"
        )
    if out_of_memory(error):
        return (
            "Out of memory: set --training.chunk to embed fewer images at once (the loss still sees the whole batch), "
            f"or lower --sampler.batch_size. ({text[:200]})"
        )
    if "CUDA error" in text or "cuDNN" in text:
        return f"The GPU failed: try --training.device cpu, and `lab doctor`. ({text[:200]})"
    if "DataLoader worker" in text:
        return f"A process that decodes images died: set --training.workers 0 to see why. ({text[:200]})"
    return shortened(text) or type(error).__name__


BROUGHT_BY = {
    "PIL": "train", "cleanlab": "train", "faiss": "train", "filelock": "train", "fsspec": "train", "pandas": "train",
    "plotly": "train", "psutil": "train", "pyarrow": "train", "pytorch_metric_learning": "train", "rich": "train",
    "sklearn": "train", "timm": "train", "torchvision": "train", "yaml": "train",
}  # fmt: skip
"""Module to the extra that brings it, of those that much of the library uses."""


def missing(error: ModuleNotFoundError) -> str | None:
    """Which extra brings the module that was not found, as a sentence; None of a module that no extra brings."""
    module = (error.name or "").partition(".")[0]
    if module not in BROUGHT_BY:
        return None
    return f"This needs {module}, which is not installed: pip install 'rankscope[{BROUGHT_BY[module]}]'."


def out_of_memory(error: BaseException) -> bool:
    """Whether Python, NumPy or torch could not allocate memory, on the processor or on a GPU."""
    named = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    text = str(error)
    return (
        named
        or "can't allocate memory" in text
        or "not enough memory" in text
        or "Storage size" in text
    )


def need(what: str, extra: str, *modules: str) -> None:
    """Refuse to begin what would fail for want of a library of an extra, by default of one of the same name.

    Raises:
        ValueError: names what is missing and the line that installs it.
    """
    if missing := [module for module in modules or [extra] if find_spec(module) is None]:
        raise ValueError(f"{what} needs {' and '.join(missing)}: pip install 'rankscope[{extra}]'.")


def faiss_library() -> Any:
    """The library faiss, which an installation may lack; a ValueError says so."""
    try:
        import faiss
    except ModuleNotFoundError:
        raise ValueError(
            "This needs faiss, which is not installed: pip install faiss-cpu."
        ) from None
    return faiss


def last_line(error: Exception) -> str:
    """The end of what went wrong, as a sentence: torch lists every weight that does not fit."""
    if isinstance(error, KeyError):
        return f"it holds no {error}."
    return str(error).strip().splitlines()[-1].strip()[:200]


def shortened(text: str) -> str:
    """A text, cut where it is too long for a message."""
    return text if len(text) <= MOST else f"{text[: MOST // 2]} ... {text[-MOST // 4 :]}"


def quoted(value: Any) -> str:
    """A value as a message shows it, cut where it is too long."""
    try:
        text = repr(value)
    except ValueError:  # Python writes out no number of more than 4,300 digits
        return "a number of thousands of digits"
    return text if len(text) <= 120 else f"{text[:80]}... ({len(text):,} characters)"


def near(word: object, known: Iterable[str], cutoff: float = 0.6) -> str:
    """The known word that a misspelt one is nearest to, or nothing.

    >>> near("smoth_ap", ["roadmap", "smooth_ap"]), near("x", ["roadmap"])
    ('smooth_ap', '')
    """
    return next(iter(difflib.get_close_matches(str(word)[:100], list(known), 1, cutoff)), "")


def names_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """A function that answers a call with wrong arguments by a ValueError with the names of its own."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def called(*given: P.args, **named: P.kwargs) -> R:
        try:
            signature.bind(*given, **named)
        except TypeError as error:
            known = ", ".join(name for name in signature.parameters if name != "self")
            raise ValueError(f"{function.__name__}: {error}. Its arguments: {known}.") from None
        return function(*given, **named)

    return called
