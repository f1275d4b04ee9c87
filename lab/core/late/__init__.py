"""Modules that other libraries import and hardly use, loaded when they are used.

torchvision and torch's optimisers import torch's compiler, more than a second, for a function or two that do nothing
unless something is being compiled; pytorch-metric-learning imports `scipy.stats`, .6 s, for one function. Within a
block of this file such an import finds a stand-in. It knows the functions that are asked for without being needed;
whatever else is asked of it loads the module itself. Behind the block nothing of it is left among the modules.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

COMPILER = "torch._dynamo"


class _StandIn(ModuleType):
    """A module that is not loaded yet."""

    def __init__(self, name: str, known: Mapping[str, object]):
        super().__init__(name)
        vars(self).update(known)

    def __getattr__(self, name: str) -> Any:
        if name == "__path__" and sys._getframe(1).f_code.co_name == "_find_and_load_unlocked":
            return []  # somebody imports a module inside this one: `_Inside` finds it
        # The import system and `inspect` ask every module for names of this kind, and no answer is one, too.
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.loaded(), name)

    def loaded(self) -> ModuleType:
        """The module itself; no stand-in is left among the modules."""
        for other in [other for other, module in list(sys.modules.items()) if isinstance(module, _StandIn)]:
            del sys.modules[other]
        return importlib.import_module(self.__name__)


class _Inside(MetaPathFinder):
    """Finds what is imported from inside a module that is not loaded yet.

    The module is loaded first. It may bring what is looked for, which Python would then load a second time: so that
    is given as it is.
    """

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        outer = sys.modules.get(name.rpartition(".")[0])
        if not isinstance(outer, _StandIn):
            return None
        outer.loaded()
        brought = sys.modules.pop(name, None)  # of one that is there Python would take the finder, and load it
        return ModuleSpec(name, _Brought(brought)) if brought else find_spec(name)


class _Brought(Loader):
    """Gives a module that is loaded already."""

    def __init__(self, module: ModuleType):
        self.module, self.spec = module, module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # Python has put the one that led here in its place


@contextmanager
def _standing_in(*modules: _StandIn) -> Iterator[None]:
    """Within the block these stand for modules that nobody has loaded yet."""
    mine = [module for module in modules if module.__name__ not in sys.modules]
    sys.modules.update((module.__name__, module) for module in mine)
    inside = _Inside()
    if mine:
        sys.meta_path.insert(0, inside)
    try:
        yield
    finally:
        if mine:
            sys.meta_path.remove(inside)
        for module in mine:
            if sys.modules.get(module.__name__) is module:
                del sys.modules[module.__name__]


def _is_compile_supported(device: Any) -> Any:
    """As that of `torch._dynamo.utils`, which it loads."""
    return importlib.import_module(f"{COMPILER}.utils").is_compile_supported(device)


def _disable(function: Callable, recursive: bool = True, **about: Any) -> Callable:
    """The function, hidden from the compiler once there is one."""

    @wraps(function)
    def hidden(*given: Any, **knobs: Any) -> Any:
        compiler: Any = sys.modules.get(COMPILER)
        if compiler is None or isinstance(compiler, _StandIn):
            return function(*given, **knobs)
        return compiler.disable(function, recursive, **about)(*given, **knobs)

    return hidden


_UTILS = _StandIn(f"{COMPILER}.utils", {"is_compile_supported": _is_compile_supported})
_COMPILER = _StandIn(COMPILER, {"utils": _UTILS, "disable": _disable, "graph_break": lambda *_, **__: None})
_STATS = _StandIn("scipy.stats", {})


def without_compiler() -> AbstractContextManager[None]:
    """Block in which torchvision is imported, or an optimiser of torch made or stepped, without torch's compiler.

    Example:
        >>> import torch
        >>> weight = torch.nn.Parameter(torch.ones(1))
        >>> with without_compiler():
        ...     optimiser = torch.optim.SGD([weight], lr=0.5)
        >>> optimiser.param_groups[0]["lr"]
        0.5
    """
    return _standing_in(_COMPILER, _UTILS)


def without_statistics() -> AbstractContextManager[None]:
    """Block in which a library is imported without `scipy.stats`."""
    return _standing_in(_STATS)
