"""Discovery: a file's name is its registration, and other packages register by entry points.

A catalogued package holds one public module per entry, `smooth_ap.py`, and the module a class of the same name,
`SmoothAP`, which is a name of the package, too. Adding an entry is adding a file. Other distributions declare theirs as
entry points of the group `rankscope.<package>`, and a notebook adds a class with `add`. Listing names imports none of
them.
"""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import importlib.util
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from lab.core.explain import near, quoted

Entry = TypeVar("Entry")

OUTSIDE = "outside"
"""Name that no entry has: of the data, encoder and loss of a run that was made elsewhere."""

ENTRY_POINTS = "rankscope."
"""Beginning of the entry-point groups; the rest is the name of the catalogued package, for instance `losses`."""


class Catalog(Generic[Entry]):
    """The entries of one package.

    Args:
        package: the package's `__name__`.
        path: the package's `__path__`.
        kind: what an entry is called in messages, for instance `loss`.
        base: `module:class` that every entry from outside the package derives from.
        grouped: whether entries lie in folders of the package, one folder a group, instead of in the package itself.
    """

    def __init__(self, package: str, path: list[str], kind: str, *, base: str = "", grouped: bool = False):
        self.package, self.path, self.kind, self.base, self.grouped = package, path, kind, base, grouped
        self._added: dict[str, type] = {}

    def names(self) -> tuple[str, ...]:
        """Names of all entries, sorted."""
        return tuple(sorted({*self.files(), *self._plugins(), *self._added}))

    def get(self, name: str) -> type[Entry]:
        """The class behind a name.

        Raises:
            ValueError: the name is unknown; the message lists the legal ones.
            ImportError: the entry's file does not define a class of its name, or a plug-in cannot be loaded; names the
                file or the distribution.
        """
        name = name if isinstance(name, str) else repr(name)  # a file may hold anything in its place
        if name in self._added:
            return self._added[name]
        if module := self.files().get(name):
            entry = getattr(importlib.import_module(module), class_in(module), None)
            if entry is None:
                camel, file = "".join(map(str.capitalize, name.split("_"))), sys.modules[module].__file__
                raise ImportError(f"{file} must define a class {camel}, in any case of letters, to be a {self.kind}.")
        elif plugin := self._plugins().get(name):
            entry = self._loaded(plugin)
        else:
            meant = {one: entry for entry, one in self.classes().items()}.get(name) or near(name, self.names())
            hint = f" Did you mean {meant!r}?" if meant else ""
            raise ValueError(
                f"There is no {self.kind} {quoted(name)}.{hint} Known: {', '.join(self.names())}. One from another "
                "package is known as soon as that package is installed, one from a notebook once it is added there."
            )
        _names[entry] = name
        return entry

    def classes(self) -> dict[str, str]:
        """Name of each entry to that of its class; imports none of them."""
        named = {name: plugin.value.rpartition(":")[2] for name, plugin in self._plugins().items()}
        return {
            **named,
            **{name: class_in(module) for name, module in self.files().items()},
            **{name: entry.__name__ for name, entry in self._added.items()},
        }

    def public(self) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
        """The package's `__getattr__` and `__dir__`: see `public`; classes of entries are names of it, too."""
        rest = public(self.package)

        def __getattr__(name: str) -> Any:
            if name[:1].isupper():
                for entry, one in self.classes().items():
                    if one == name:
                        return self.get(entry)
            return rest(name)

        return __getattr__, lambda: sorted({*sys.modules[self.package].__all__, *filter(None, self.classes().values())})

    def entries(self) -> dict[str, type[Entry]]:
        """Name to class of everything that can be loaded: a broken plug-in is left out, a malformed file is not."""
        broken = self.broken()
        return {name: self.get(name) for name in self.names() if name not in broken}

    def broken(self) -> dict[str, str]:
        """Name of each plug-in that cannot be loaded, and why, in one sentence."""
        reasons = {}
        for name in self._plugins():
            try:
                self.get(name)
            except ImportError as error:
                reasons[name] = str(error)
        return reasons

    def create(self, name: str, *given: Any, **knobs: Any) -> Entry:
        """Build an entry from its knobs, and from what else it is given: a wrapper, from the loss to wrap.

        Raises:
            ValueError: unknown name or knob, or a value out of range.
        """
        return self.get(name)(*given, **knobs)

    def add(self, entry: type, name: str = "") -> type:
        """Register a class for this process, for instance from a notebook; returns it, so that it decorates, too.

        Args:
            entry: derives from the package's base class.
            name: by default the class's name in snake case. Adding a name again replaces what was added before.

        Raises:
            ValueError: the class does not fit, or an entry that was not added here has this name.
        """
        words = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"  # where the next word of a class's name begins
        name = name or re.sub(words, "_", getattr(entry, "__name__", "")).lower()
        if name in self.files() or name in self._plugins():
            raise ValueError(f"There is a {self.kind} {name!r} already; add yours under another name.")
        if wrong := self._misfit(entry):
            raise ValueError(f"{getattr(entry, '__name__', entry)!s} {wrong}.")
        self._added[name], _names[entry] = entry, name
        return entry

    def groups(self) -> dict[str, tuple[str, ...]]:
        """Group to its entries, where `grouped`; entries from outside are in the group `more`."""
        groups: dict[str, list[str]] = {}
        files = self.files()
        for name in self.names():
            group = files[name].split(".")[-2] if name in files else "more"
            groups.setdefault(group, []).append(name)
        return {group: tuple(names) for group, names in groups.items()}

    def files(self) -> Mapping[str, str]:
        """Name to module of the entries that lie in the package's own folder."""
        return _modules(self.package, tuple(self.path), self.grouped)

    def _plugins(self) -> Mapping[str, importlib.metadata.EntryPoint]:
        return _entry_points(ENTRY_POINTS + self.package.removeprefix("lab.").rsplit(".", 1)[-1])

    def _loaded(self, plugin: importlib.metadata.EntryPoint) -> type:
        """The class of another distribution.

        Raises:
            ImportError: it cannot be imported or does not fit; names the distribution.
        """
        origin = f"The {self.kind} {plugin.name!r} of {plugin.dist.name if plugin.dist else plugin.value}"
        try:
            entry = plugin.load()
        except Exception as error:
            raise ImportError(f"{origin} cannot be loaded ({type(error).__name__}: {error}).") from error
        if wrong := self._misfit(entry):
            raise ImportError(f"{origin} {wrong}.")
        return entry

    def _misfit(self, entry: Any) -> str:
        """What keeps a class from being an entry; nothing when it fits."""
        if not inspect.isclass(entry):
            return f"is no class, so it cannot be a {self.kind}"
        module, _, name = self.base.partition(":")
        if name and not issubclass(entry, getattr(importlib.import_module(module), name)):
            return f"must derive from {self.package}.{name} to be a {self.kind}"
        return ""


def name_of(entry: type) -> str:
    """The name under which a class was last looked up or added; its module's name while it never was."""
    return _names.get(entry, entry.__module__.rpartition(".")[2])


def public(package: str) -> Callable[[str], Any]:
    """A package's `__getattr__`: a name of its `__all__` that it imports for type checkers alone, below TYPE_CHECKING,
    is loaded when it is first asked for."""

    @cache
    def places() -> dict[str, str | None]:
        text = Path(str(sys.modules[package].__file__)).read_text(encoding="utf-8")
        imports = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom))
        return {alias.name: node.module for node in imports for alias in node.names}

    def __getattr__(name: str) -> Any:
        if not name.startswith("_") and name in sys.modules[package].__all__ and (place := places().get(name)):
            return getattr(importlib.import_module(place), name)
        meant = "" if name.startswith("_") else near(name, dir(sys.modules[package]))
        raise AttributeError(f"module {package!r} has no attribute {name!r}" + (meant and f"; did you mean {meant}?"))

    return __getattr__


_names: dict[type, str] = {}


@cache
def _modules(package: str, path: tuple[str, ...], grouped: bool) -> Mapping[str, str]:
    """Name to module of the public modules of a package, or of the folders in it."""
    modules = {}
    for module in pkgutil.iter_modules(path):
        if module.name.startswith("_"):
            continue
        if not module.ispkg and not grouped:
            modules[module.name] = f"{package}.{module.name}"
        elif module.ispkg and grouped:
            inside = tuple(f"{folder}/{module.name}" for folder in path)
            modules |= _modules(f"{package}.{module.name}", inside, False)
    return modules


@cache
def _entry_points(group: str) -> Mapping[str, importlib.metadata.EntryPoint]:
    return {point.name: point for point in importlib.metadata.entry_points(group=group)}


@cache
def class_in(module: str) -> str:
    """Name of the class that an entry's file defines, `SmoothAP` in smooth_ap.py, read without importing it."""
    spec = importlib.util.find_spec(module)
    text = Path(spec.origin).read_text(encoding="utf-8") if spec and spec.origin else ""
    wanted = module.rpartition(".")[2].replace("_", "")
    return next((name for name in re.findall(r"^class (\w+)", text, re.MULTILINE) if name.lower() == wanted), "")
