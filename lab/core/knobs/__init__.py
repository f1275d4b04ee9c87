"""Declared hyper-parameters.

A knob is declared once, on the `Knobs` class of the thing it belongs to: default, range, scale, unit, help and
source. The check, its message, the CLI flag, the form widget, the documentation and the bad values that tests try
all read that one declaration.
"""

from __future__ import annotations

import importlib
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from lab.core.explain import near, quoted

REQUIRED: Any = ...

LARGEST = 10**18
"""What no size, count or weight comes to; more than that overflows somewhere below, in words of the machine."""
LONGEST = 1_000
"""Values of a knob that takes several."""


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
    extra: Any = {"ge": ge, "gt": gt, "le": le, "lt": lt}
    extra |= {"scale": scale, "unit": unit, "source": source, "path": path, "catalog": catalog}
    return Field(default, description=help, json_schema_extra=extra)


@dataclass(frozen=True)
class Knob:
    """One declared hyper-parameter, as forms, flags and documentation read it.

    `kind` is int, float, bool or str; `many` marks a tuple of them; `optional` allows None; `options` are the values
    that its type lists; the others are those of `knob`.
    """

    name: str
    kind: type
    many: bool
    optional: bool
    options: tuple[str, ...]
    default: Any
    required: bool
    help: str
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    scale: str = "linear"
    unit: str = ""
    source: str = ""
    path: bool = False
    catalog: str = ""

    @property
    def choices(self) -> tuple[str, ...]:
        """The only legal values: options, or the default and the names of a catalogue. Empty for other knobs."""
        if not self.catalog:
            return self.options
        return tuple(dict.fromkeys((str(self.default), *importlib.import_module(self.catalog).names())))

    @property
    def range(self) -> str:
        """The legal values in words, for instance `0 < tau <= 10`."""
        if choices := self.choices:
            return "one of " + ", ".join(choices)
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
        if value is None:
            return None
        if self.many and not value and self.default != () and not self.options:
            return "must hold at least one value"
        if self.many and len(value) > LONGEST:
            return f"holds at most {LONGEST:,} values"
        if self.catalog and str(value) not in self.choices:
            return f"must satisfy {self.range}"
        if self.kind not in (int, float):
            return None
        for one in value if self.many else (value,):
            if abs(one) >= LARGEST:
                return f"must satisfy {self.range}, and be less than 1e18"
            above = (self.ge is None or one >= self.ge) and (self.gt is None or one > self.gt)
            if not (above and (self.le is None or one <= self.le) and (self.lt is None or one < self.lt)):
                return f"must satisfy {self.range}"
        return None


class Knobs(BaseModel):
    """Base of every `Knobs` class: immutable, unknown names refused, one clear sentence per mistake.

    Raises:
        ValueError: names the owner, the knob, its legal range and what was given; lists legal names if unknown.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, validate_default=True)

    def __init__(self, **values: Any):
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise ValueError(_sentence(type(self), error)) from None

    @field_validator("*", mode="before")
    @classmethod
    def _check_type(cls, value: Any, info: ValidationInfo) -> Any:
        """Refuse what pydantic would turn into a number or a yes without a word: `steps: true` would train one step."""
        knob = _declared(cls)[str(info.field_name)]
        if knob.kind is bool and not isinstance(value, bool | None):
            raise ValueError("must be true or false")
        given = value if isinstance(value, list | tuple) else (value,)
        if knob.kind in (int, float) and not knob.options and any(isinstance(one, bool | str) for one in given):
            raise ValueError(f"must satisfy {knob.range}")
        return value

    @field_validator("*")
    @classmethod
    def _check_range(cls, value: Any, info: ValidationInfo) -> Any:
        if wrong := _declared(cls)[str(info.field_name)].check(value):
            raise ValueError(wrong)
        return value


class HasKnobs:
    """Base of what is made from declared knobs; `knobs` are the values. A class without `Knobs` has those of its base.

    Raises:
        ValueError: unknown knob, or a value out of range.
    """

    Knobs: ClassVar[type[Knobs]] = Knobs

    def __init__(self, **knobs: Any):
        self.knobs: Any = self.Knobs(**knobs)

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "Knobs" not in vars(cls):  # a class of its own, whose messages name it
            cls.Knobs = type(
                "Knobs", (cls.Knobs,), {"__module__": cls.__module__, "__qualname__": f"{cls.__qualname__}.Knobs"}
            )


class Unchecked(Knobs):
    """Knobs of something that is not here, as they were stored."""

    model_config = ConfigDict(extra="allow")


def describe(knobs: type[Knobs]) -> tuple[Knob, ...]:
    """Every knob of a `Knobs` class, in the order of declaration."""
    return tuple(_declared(knobs).values())


@cache
def _declared(knobs: type[Knobs]) -> Mapping[str, Knob]:
    declared = {}
    for name, field in knobs.model_fields.items():
        kind, many, optional, options = _kind(field.annotation)
        required, extra = field.is_required(), typing.cast(dict[str, Any], field.json_schema_extra or {})
        default, help = None if required else field.default, field.description or ""
        declared[name] = Knob(name, kind, many, optional, options, default, required, help, **extra)
    return declared


def _kind(annotation: Any) -> tuple[type, bool, bool, tuple[str, ...]]:
    """Type of an element, whether there are many, whether None is legal, and the options of a Literal."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        kind, many, _, options = _kind(next(a for a in arguments if a is not type(None)))
        return kind, many, type(None) in arguments, options
    if origin is Literal:
        return type(arguments[0]), False, False, tuple(str(a) for a in arguments)
    if origin is tuple:
        kind, _, _, options = _kind(arguments[0])
        return kind, True, False, options
    return (annotation if isinstance(annotation, type) else str), False, False, ()


def _sentence(knobs: type[Knobs], error: ValidationError) -> str:
    """The first of pydantic's errors in our words."""
    first, declared = error.errors()[0], _declared(knobs)
    who = knobs.__qualname__.removesuffix(".Knobs").removesuffix("Knobs")
    name, got = str(first["loc"][0]) if first["loc"] else "", quoted(first["input"])
    if first["type"] == "extra_forbidden":
        hint = f" (did you mean {meant!r}?)" if (meant := near(name, declared)) else ""
        return f"{who} has no knob {quoted(name)}{hint}. Its knobs: {', '.join(declared) or 'none'}."
    if first["type"] == "missing" and len(first["loc"]) == 1:  # not an element of a tuple
        return f"{who} needs {name}: {declared[name].help}"
    if name not in declared:
        return f"{who}: {first['msg']}."
    if first["type"] == "value_error":
        return f"{who}: {name} {first['ctx']['error']}, got {got}."
    message = first["msg"][0].lower() + first["msg"][1:]
    return f"{who}: {name} must satisfy {declared[name].range}, got {got} ({message})."
