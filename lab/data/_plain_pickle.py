"""Read pickles that hold plain data only: containers, strings, numbers, numpy arrays.

Python's own reader calls what a pickle names, and numpy's types, called by a stranger, read any address in memory. So
nothing is called here: `pickletools` takes the file apart, and the few opcodes of plain data are carried out below. An
array is no more than its shape, its kind and its bytes until `np.frombuffer` makes it.
"""

from __future__ import annotations

import math
import pickletools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from lab.core.files import checked

_LITERALS = re.compile(r"(BIN)?INT[12]?|LONG[14]?|(BIN)?FLOAT|(SHORT_)?(BIN)?(STRING|UNICODE8?|BYTES8?)")
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_NEW = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_TUPLE": tuple}
_SHORT_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_KEYS = (str, bytes, int, float, type(None))
"""What may be a key; the hash of a tuple in a tuple in a tuple ... overflows the stack."""

_ARRAY, _DTYPE, _SCALAR, _RECONSTRUCT, _ENCODE, _BYTES = "array", "dtype", "scalar", "reconstruct", "encode", "bytes"
_NAMES = {
    "numpy ndarray": _ARRAY,
    "numpy dtype": _DTYPE,
    "_codecs encode": _ENCODE,
    "__builtin__ bytes": _BYTES,
    **{f"numpy.{core}.multiarray _reconstruct": _RECONSTRUCT for core in ("core", "_core")},
    **{f"numpy.{core}.multiarray scalar": _SCALAR for core in ("core", "_core")},
}
_KINDS = re.compile(r"b1|[iu][1248]|f[248]|[SU]\d{1,6}")


class _NotPlain(Exception):
    """What a pickle asks for beyond plain data."""

    def __str__(self) -> str:
        return f"it asks for {self.args[0]}"


@dataclass
class _Named:
    """Something a pickle asks for by name."""

    what: str


@dataclass
class _Kind:
    """A numpy dtype as it was written down."""

    code: Any
    order: Any = "|"

    def build(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) < 5 or any(one is not None for one in state[2:5]):
            raise _NotPlain("an array of structures")
        self.order = state[1]

    def dtype(self) -> np.dtype:
        if not isinstance(self.code, str) or not _KINDS.fullmatch(self.code) or self.order not in ("<", ">", "|", "="):
            raise _NotPlain(f"an array of kind {str(self.code)[:40]!r}")
        return np.dtype(self.order + self.code)


class _Shell:
    """An array whose content is still to come."""

    array: np.ndarray | None = None

    def build(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) != 5 or not isinstance(state[2], _Kind):
            raise _NotPlain("an array that is not written down as numpy does")
        _, shape, kind, by_columns, raw = state
        self.array = _array(kind.dtype(), shape, raw, "F" if by_columns else "C")


def load(path: Path) -> Any:
    """The content of a pickle; strings of Python 2 are read as Latin-1.

    Raises:
        ValueError: the file is damaged, or asks for anything but plain data.
    """
    try:
        return _Machine().run(checked(path).read_bytes())
    except Exception as error:  # damaged pickles fail in any way they like
        words = str(error).partition("\n")[0][:200]
        raise ValueError(f"{path} is damaged or not plain data: {words or type(error).__name__}.") from None


def _array(dtype: np.dtype, shape: Any, raw: Any, order: Literal["C", "F"]) -> np.ndarray:
    """An array of its bytes.

    Raises:
        _NotPlain: shape, kind and bytes do not belong together.
    """
    raw = raw.encode("latin1") if isinstance(raw, str) else raw  # Python 2 wrote bytes as a string
    sizes = isinstance(shape, tuple) and len(shape) <= 8 and all(type(side) is int and side >= 0 for side in shape)
    if not sizes or not isinstance(raw, bytes) or math.prod(shape) * dtype.itemsize != len(raw):
        raise _NotPlain("an array whose bytes are not those of its shape")
    flat = np.frombuffer(raw, dtype) if raw else np.zeros(math.prod(shape), dtype)
    return flat.reshape(shape, order=order).copy()


class _Machine:
    """The stack on which a pickle is carried out."""

    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}

    def run(self, data: bytes) -> Any:
        for opcode, value, _ in pickletools.genops(data):
            name = opcode.name
            if _LITERALS.fullmatch(name):
                self._stack.append(value)
            elif name in _CONSTANTS:
                self._stack.append(_CONSTANTS[name])
            elif name in _NEW:
                self._stack.append(_NEW[name]())
            elif name in _SHORT_TUPLES:
                self._stack.append(tuple(self._top(_SHORT_TUPLES[name])))
            elif name not in ("PROTO", "FRAME", "STOP"):
                self._step(name, value)
        return self._only()

    def _step(self, name: str, value: Any) -> None:
        step = getattr(self, f"_do_{name.lower()}", None)
        if step is None:
            raise _NotPlain(f"the opcode {name}")
        step(value)

    def _only(self) -> Any:
        (whole,) = self._stack
        return whole

    def _top(self, count: int) -> list[Any]:
        """The last `count` things, taken off the stack."""
        if len(self._stack) - (self._marks[-1] if self._marks else 0) < count:
            raise ValueError("it takes more than there is")
        taken = self._stack[-count:]
        del self._stack[-count:]
        return taken

    def _since_mark(self) -> list[Any]:
        start = self._marks.pop()
        taken = self._stack[start:]
        del self._stack[start:]
        return taken

    def _do_mark(self, _: object) -> None:
        self._marks.append(len(self._stack))

    def _do_pop(self, _: object) -> None:
        self._top(1)

    def _do_tuple(self, _: object) -> None:
        self._stack.append(tuple(self._since_mark()))

    def _do_list(self, _: object) -> None:
        self._stack.append(self._since_mark())

    def _do_dict(self, _: object) -> None:
        items = self._since_mark()
        self._stack.append({})
        self._set(items)

    def _do_append(self, _: object) -> None:
        self._extend(self._top(1))

    def _do_appends(self, _: object) -> None:
        self._extend(self._since_mark())

    def _do_setitem(self, _: object) -> None:
        self._set(self._top(2))

    def _do_setitems(self, _: object) -> None:
        self._set(self._since_mark())

    def _extend(self, items: list[Any]) -> None:
        if type(self._stack[-1]) is not list:
            raise _NotPlain("an append to what is no list")
        self._stack[-1].extend(items)

    def _set(self, items: list[Any]) -> None:
        if type(self._stack[-1]) is not dict or not all(isinstance(key, _KEYS) for key in items[::2]):
            raise _NotPlain("a key that is no string or number")
        self._stack[-1].update(zip(items[::2], items[1::2], strict=True))

    def _do_put(self, place: int) -> None:
        self._memo[place] = self._stack[-1]

    _do_binput = _do_long_binput = _do_put

    def _do_memoize(self, _: object) -> None:
        self._do_put(len(self._memo))

    def _do_get(self, place: int) -> None:
        kept = self._memo[place]
        self._stack.append(kept.array if isinstance(kept, _Shell) and kept.array is not None else kept)

    _do_binget = _do_long_binget = _do_get

    def _do_global(self, name: str) -> None:
        if name not in _NAMES:
            raise _NotPlain(ascii(name.replace(" ", "."))[1:81])
        self._stack.append(_Named(_NAMES[name]))

    def _do_stack_global(self, _: object) -> None:
        module, name = self._top(2)
        self._do_global(f"{module} {name}" if isinstance(module, str) and isinstance(name, str) else "what has no name")

    def _do_reduce(self, _: object) -> None:
        maker, args = self._top(2)
        if not isinstance(maker, _Named) or not isinstance(args, tuple):
            raise _NotPlain("a call")
        self._stack.append(_made(maker.what, args))

    def _do_build(self, _: object) -> None:
        half, state = self._top(2)
        if not isinstance(half, _Kind | _Shell):
            raise _NotPlain("the state of an object")
        half.build(state)
        self._stack.append(half.array if isinstance(half, _Shell) else half)


def _made(what: str, args: tuple) -> Any:
    """What stands where a pickle calls one of the names that plain data needs.

    Raises:
        _NotPlain: it is called as numpy and Python do not.
    """
    if what == _RECONSTRUCT and args and isinstance(args[0], _Named) and args[0].what == _ARRAY:
        return _Shell()
    if what == _DTYPE and args:
        return _Kind(args[0])
    if what == _SCALAR and len(args) == 2 and isinstance(args[0], _Kind):
        return _array(args[0].dtype(), (), args[1], "C")[()]
    if what == _ENCODE and len(args) == 2 and isinstance(args[0], str) and args[1] in ("latin1", "latin-1"):
        return args[0].encode("latin1")
    if what == _BYTES and not args:
        return b""
    raise _NotPlain(f"a call of {what}")
