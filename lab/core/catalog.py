"""Catalogues: names to classes, which are imported when they are asked for.

A catalogued package lists its entries in its `__init__.pyi`, one line each, `from .smooth_ap import SmoothAP as
SmoothAP`. The module's name is the entry's. lazy_loader makes the same lines attributes of the package, and type
checkers and editors read them, too. Other distributions declare entries as entry points of the group
`rankscope.<package>`, and a notebook adds a class with `add`. Listing names imports none of them.
"""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import importlib.util
import inspect
import re
import sys
from collections.abc import Mapping
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
        kind: what an entry is called in messages, for instance `loss`.
        base: `module:class` that every entry from outside the package derives from.
        grouped: whether entries lie in folders of the package, one folder a group, instead of in the package itself.
    """

    def __init__(self, package: str, kind: str, *, base: str = "", grouped: bool = False):
        self.package, self.kind, self.base, self.grouped = package, kind, base, grouped
        self._added: dict[str, type] = {}

    def names(self) -> tuple[str, ...]:
        """Names of all entries, sorted."""
        return tuple(sorted({*_listed(self.package), *self._plugins(), *self._added}))

    def get(self, name: str) -> type[Entry]:
        """The class behind a name.

        Raises:
            ValueError: the name is unknown; the message lists the legal ones.
            ImportError: the entry's file does not define a class of its name, or a plug-in cannot be loaded; names the
                file or the distribution.
        """
        # a file may hold anything in its place
        name = name if isinstance(name, str) else repr(name)
        if name in self._added:
            return self._added[name]
        if name in _listed(self.package):
            module, class_name = _listed(self.package)[name]
            entry = getattr(importlib.import_module(module), class_name, None)
            if entry is None:
                file = sys.modules[module].__file__
                raise ImportError(
                    f"{file} must define a class {class_name}, as the `__init__.pyi` of {self.package} says."
                )
        elif plugin := self._plugins().get(name):
            entry = self._loaded(plugin)
        else:
            meant = {one: entry for entry, one in self.classes().items()}.get(name) or near(
                name, self.names()
            )
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
            **{name: class_name for name, (_, class_name) in _listed(self.package).items()},
            **{name: entry.__name__ for name, entry in self._added.items()},
        }

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
        if name in _listed(self.package) or name in self._plugins():
            raise ValueError(
                f"There is a {self.kind} {name!r} already; add yours under another name."
            )
        if wrong := self._misfit(entry):
            raise ValueError(f"{getattr(entry, '__name__', entry)!s} {wrong}.")
        self._added[name], _names[entry] = entry, name
        return entry

    def groups(self) -> dict[str, tuple[str, ...]]:
        """Group to its entries, where `grouped`; entries from outside are in the group `more`."""
        groups: dict[str, list[str]] = {}
        listed = _listed(self.package)
        for name in self.names():
            group = listed[name][0].split(".")[-2] if name in listed else "more"
            groups.setdefault(group, []).append(name)
        return {group: tuple(names) for group, names in groups.items()}

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
            raise ImportError(
                f"{origin} cannot be loaded ({type(error).__name__}: {error})."
            ) from error
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


_names: dict[type, str] = {}


@cache
def _listed(package: str) -> Mapping[str, tuple[str, str]]:
    """Name of each entry that the package's `__init__.pyi` lists to its module and its class.

    Lines of functions, of parts of the package and of modules with an underscore list no entry.
    """
    entries = {}
    stub = Path(str(sys.modules[package].__file__)).with_suffix(".pyi")
    for line in ast.parse(stub.read_text(encoding="utf-8")).body:
        if not isinstance(line, ast.ImportFrom) or line.module is None:
            continue
        name, class_name = line.module.rpartition(".")[2], line.names[0].name
        if not name.startswith("_") and class_name[0].isupper():
            entries[name] = f"{package}.{line.module}", class_name
    return entries


@cache
def _entry_points(group: str) -> Mapping[str, importlib.metadata.EntryPoint]:
    return {point.name: point for point in importlib.metadata.entry_points(group=group)}
