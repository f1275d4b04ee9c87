"""Discovery: a file's name is its registration.

A catalogued package holds one public module per entry; the module defines one public class with a nested `Knobs`.
Adding an entry is adding a file. Listing names reads the folder and imports nothing.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import pkgutil
from typing import Any, Generic, TypeVar

Entry = TypeVar("Entry")


class Catalog(Generic[Entry]):
    """The entries of one package.

    Args:
        package: the package's `__name__`.
        path: the package's `__path__`.
        kind: what an entry is called in messages, for instance `loss`.
        helpers: public modules of the package that are no entries.
    """

    def __init__(self, package: str, path: list[str], kind: str, helpers: tuple[str, ...] = ()):
        self.package, self.path, self.kind, self.helpers = package, path, kind, helpers

    def names(self) -> tuple[str, ...]:
        """Names of all entries, sorted."""
        modules = (m.name for m in pkgutil.iter_modules(self.path))
        return tuple(sorted(name for name in modules if not name.startswith("_") and name not in self.helpers))

    def get(self, name: str) -> type[Entry]:
        """The class behind a name.

        Raises:
            ValueError: the name is unknown; the message lists the legal ones.
            ImportError: the entry's file does not define exactly one public class with `Knobs`; names the file.
        """
        if name not in self.names():
            near = difflib.get_close_matches(str(name), self.names(), n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"There is no {self.kind} {name!r}.{hint} Known: {', '.join(self.names())}.")
        module = importlib.import_module(f"{self.package}.{name}")
        classes: list[Any] = [
            value
            for key, value in vars(module).items()
            if inspect.isclass(value)
            and value.__module__ == module.__name__
            and not key.startswith("_")
            and hasattr(value, "Knobs")
        ]
        if len(classes) != 1:
            raise ImportError(
                f"{module.__file__} must define exactly one public class with a nested Knobs to be a {self.kind}; "
                f"it defines {[c.__name__ for c in classes]}."
            )
        return classes[0]

    def create(self, name: str, **knobs: Any) -> Entry:
        """Build an entry from its knobs.

        Raises:
            ValueError: unknown name or knob, or a value out of range.
        """
        return self.get(name)(**knobs)
