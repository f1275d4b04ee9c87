"""Declared hyper-parameters.

A knob is declared once, on the `Knobs` class of the thing it belongs to: default, range, scale, unit, help and
source. The check, its message, the CLI flag, the form widget, the documentation and the bad values that tests try
all read that one declaration.
"""

from __future__ import annotations

import difflib
import importlib
import types
import typing
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

REQUIRED: Any = ...

LARGEST = 10**18
"""What no size, count or weight comes to; more than that overflows somewhere below, in words of the machine."""


def knob(
    default: Any,
    help: str,
    *,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    lt: float | None = None,
    scale: Literal["linear", "log"] = "linear",
    unit: str = "",
    source: str = "",
    path: bool = False,
    catalog: str = "",
) -> Any:
    """Declare one hyper-parameter.

    `ge gt le lt` bound the value, or each element of a tuple; `scale` says how a slider should move; `source` names
    paper and equation. `path` marks a file or folder. `catalog` names a catalogued package, for instance
    `lab.reranking`, whose names the knob can take besides its default. Give `REQUIRED` as the default of a knob that
    has none.
    """
    bounds: Any = {"ge": ge, "gt": gt, "le": le, "lt": lt}
    extra = {"scale": scale, "unit": unit, "source": source, "path": path, "catalog": catalog, "bounds": bounds}
    return Field(default, description=help, json_schema_extra=extra)


@dataclass(frozen=True)
class Knob:
    """One declared hyper-parameter, as forms, flags and documentation read it.

    `kind` is int, float, bool or str; `many` marks a tuple of them; `optional` allows None; `path` marks a file or
    folder.
    """

    name: str
    kind: type
    many: bool
    optional: bool
    default: Any
    required: bool
    choices: tuple[str, ...]
    ge: float | None
    gt: float | None
    le: float | None
    lt: float | None
    scale: str
    unit: str
    help: str
    source: str
    path: bool

    @property
    def range(self) -> str:
        """The legal values in words, for instance `0 < tau <= 10`."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        low = f"{self.gt:g} < " if self.gt is not None else f"{self.ge:g} <= " if self.ge is not None else ""
        high = f" < {self.lt:g}" if self.lt is not None else f" <= {self.le:g}" if self.le is not None else ""
        of = "each " if self.many else ""
        return f"{of}{low}{self.name}{high}" if low or high else f"any {self.kind.__name__}"

    @property
    def none_in_words(self) -> str:
        """What None stands for in a form: `automatic` where the help says what is taken by default, else `none`."""
        return "automatic" if "by default" in self.help.lower() else "none"

    def check(self, value: Any) -> str | None:
        """Return what is wrong with `value` (already of the right type), or None."""
        if self.choices and not self.many and value is not None and str(value) not in self.choices:
            return f"must satisfy {self.range}"
        if value is None or self.kind not in (int, float):
            return None
        for one in value if self.many else (value,):
            if abs(one) >= LARGEST:
                return f"must satisfy {self.range}, and be less than 1e18"
            inside = (
                (self.ge is None or one >= self.ge)
                and (self.gt is None or one > self.gt)
                and (self.le is None or one <= self.le)
                and (self.lt is None or one < self.lt)
            )
            if not inside:
                return f"must satisfy {self.range}"
        return None

    def mistyped(self, value: Any) -> bool:
        """Whether a yes or no is given for a number, a number for a yes or no, or words for a number: what Python
        would turn into the other without a word, so that `steps: true` trained one step."""
        many = self.many and isinstance(value, list | tuple)
        if value is None or self.choices:
            return False
        if self.kind is bool:
            return not isinstance(value, bool)
        return self.kind in (int, float) and any(isinstance(one, bool | str) for one in (value if many else (value,)))


class Knobs(BaseModel):
    """Base of every `Knobs` class: immutable, unknown names refused, one clear sentence per mistake.

    Raises:
        ValueError: names the owner, the knob, its legal range and what was given; lists legal names if unknown.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, validate_default=True)

    def __init__(self, **values: Any):
        for declared in describe(type(self)):
            if declared.name in values and declared.mistyped(got := values[declared.name]):
                legal = "be true or false" if declared.kind is bool else f"satisfy {declared.range}"
                raise ValueError(f"{owner(type(self))}: {declared.name} must {legal}, got {quoted(got)}.")
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise ValueError(_sentence(type(self), error)) from None
        for declared in describe(type(self)):
            wrong = declared.check(getattr(self, declared.name))
            if wrong:
                got = getattr(self, declared.name)
                raise ValueError(f"{owner(type(self))}: {declared.name} {wrong}, got {quoted(got)}.")


def quoted(value: Any) -> str:
    """A value as a message shows it, cut where it is too long."""
    try:
        text = repr(value)
    except ValueError:  # Python writes out no number of more than 4,300 digits
        return "a number of thousands of digits"
    return text if len(text) <= 120 else f"{text[:80]}... ({len(text):,} characters)"


class Unchecked(Knobs):
    """Knobs of something that is not here, as they were stored."""

    model_config = ConfigDict(extra="allow")


def owner(knobs: type[Knobs]) -> str:
    """The name of the class that declares these knobs."""
    return knobs.__qualname__.removesuffix(".Knobs").removesuffix("Knobs")


def catalog_of(field: FieldInfo) -> str:
    """The catalogued package whose names a knob takes; empty for others."""
    extra: Any = field.json_schema_extra or {}
    return extra.get("catalog", "")


def describe(knobs: type[Knobs]) -> tuple[Knob, ...]:
    """Every knob of a `Knobs` class, in the order of declaration."""
    return tuple(
        replace(one, choices=tuple(dict.fromkeys((str(one.default), *importlib.import_module(catalog).names()))))
        if catalog
        else one
        for one, catalog in _declared(knobs)
    )


@cache
def _declared(knobs: type[Knobs]) -> tuple[tuple[Knob, str], ...]:
    """Every knob of a class, and the package whose names it takes; read once, since every configuration asks."""
    declared = []
    for name, field in knobs.model_fields.items():
        extra: Any = field.json_schema_extra or {}
        kind, many, optional, choices = _kind(field.annotation)
        required = field.default is PydanticUndefined
        one = Knob(
            name=name,
            kind=kind,
            many=many,
            optional=optional,
            default=None if required else field.default,
            required=required,
            choices=choices,
            scale=extra.get("scale", "linear"),
            unit=extra.get("unit", ""),
            help=field.description or "",
            source=extra.get("source", ""),
            path=extra.get("path", False),
            **extra.get("bounds", dict.fromkeys(("ge", "gt", "le", "lt"))),
        )
        declared.append((one, catalog_of(field)))
    return tuple(declared)


def _kind(annotation: Any) -> tuple[type, bool, bool, tuple[str, ...]]:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        rest = [a for a in arguments if a is not type(None)]
        kind, many, _, choices = _kind(rest[0])
        return kind, many, type(None) in arguments, choices
    if origin is Literal:
        return type(arguments[0]), False, False, tuple(str(a) for a in arguments)
    if origin is tuple:
        kind, _, _, choices = _kind(arguments[0])
        return kind, True, False, choices
    return (annotation if isinstance(annotation, type) else str), False, False, ()


def _sentence(knobs: type[Knobs], error: ValidationError) -> str:
    first = error.errors()[0]
    who = owner(knobs)
    name = str(first["loc"][0]) if first["loc"] else ""
    declared = {k.name: k for k in describe(knobs)}
    if first["type"] == "extra_forbidden":
        return f"{who} has no knob {quoted(name)}{_hint(name, declared)}. Its knobs: {', '.join(declared) or 'none'}."
    if first["type"] == "missing":
        return f"{who} needs {name}: {declared[name].help}"
    if name not in declared:
        return f"{who}: {first['msg']}."
    message = first["msg"][0].lower() + first["msg"][1:]
    return f"{who}: {name} must satisfy {declared[name].range}, got {quoted(first['input'])} ({message})."


def _hint(name: str, legal: typing.Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(legal), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
