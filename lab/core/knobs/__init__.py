"""Declared hyper-parameters.

A knob is declared once, on the class of the thing it belongs to: default, range, scale, unit, help and source. The
check, its message, the CLI flag, the form widget, the constructor's signature, the documentation and the bad values
that tests try all read that one declaration; type checkers read it as a field of a dataclass.
"""

from __future__ import annotations

import importlib
import inspect
import textwrap
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Literal, dataclass_transform

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator
from pydantic.fields import FieldInfo

from lab.core.explain import near, out_of_memory, quoted

LARGEST = 10**18
"""What no size, count or weight comes to; more than that overflows somewhere below, in words of the machine."""
LONGEST = 1_000
"""Values of a knob that takes several."""
WIDEST = 16_384
"""Upper bound of a knob that is the width of an embedding or of a layer: a map between two such takes 1 GB."""
LARGEST_SIDE = 4_096
"""Upper bound of a knob that is the side of an image in pixels."""
MOST_ITEMS = 10_000_000
"""Upper bound of a knob that counts classes, neighbours, or the images of a batch."""


def knob(
    help: str,
    *,
    default: Any = ...,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    lt: float | None = None,
    scale: Literal["linear", "log"] = "linear",
    unit: str = "",
    source: str = "",
    path: bool = False,
    network: bool = False,
    catalog: str = "",
    alias: str = "",
) -> Any:
    """Declare one hyper-parameter: `tau: float = knob("Temperature.", default=0.01, gt=0)`; one without a default has
    to be given.

    `ge gt le lt` bound the value, or each element of a tuple; `scale` says how a slider should move; `source` names
    paper and equation. `path` marks a file or folder, `network` the word of a network, which may be a program.
    `catalog` names a catalogued package, for instance `lab.reranking`, whose names the knob can take besides its
    default. `alias` is its name, where the class has another attribute of that name.
    """
    extra: Any = {"ge": ge, "gt": gt, "le": le, "lt": lt, "alias": alias}
    extra |= {"scale": scale, "unit": unit, "source": source, "path": path, "catalog": catalog}
    extra |= {"network": network}
    return Field(default, description=help, json_schema_extra=extra)


@dataclass(frozen=True)
class Argument:
    """What a constructor takes besides knobs; fields as those of `argument`."""

    help: str
    default: Any
    kw_only: bool


def argument(help: str, *, default: Any = ..., kw_only: bool = True) -> Any:
    """Declare what a constructor takes that is no hyper-parameter, such as a device; it becomes an attribute."""
    return Argument(help, default, kw_only)


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
    network: bool = False

    @property
    def choices(self) -> tuple[str, ...]:
        """The only legal values: options, or the default and the names of a catalogue. Empty for other knobs."""
        if not self.catalog:
            return self.options
        return tuple(
            dict.fromkeys((str(self.default), *importlib.import_module(self.catalog).names()))
        )

    @property
    def range(self) -> str:
        """The legal values in words, for instance `0 < tau <= 10`."""
        if choices := self.choices:
            return "one of " + ", ".join(choices)
        low = _bound("{} < ", self.gt) or _bound("{} <= ", self.ge)
        high = _bound(" < {}", self.lt) or _bound(" <= {}", self.le)
        of = "each " if self.many else ""
        return f"{of}{low}{self.name}{high}" if low or high else f"any {self.kind.__name__}"

    @property
    def in_words(self) -> str:
        """Help, range, unit, default and source, as a docstring tells them."""
        known = [
            self.range if self.choices or self.range[:3] != "any" else "",
            self.unit and f"in {self.unit}",
        ]
        known += ["required" if self.required else f"{self.default!r} by default", self.source]
        return f"{self.help} ({'; '.join(filter(None, known))})"

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
            if not (
                above and (self.le is None or one <= self.le) and (self.lt is None or one < self.lt)
            ):
                return f"must satisfy {self.range}"
        return None


def _bound(words: str, number: float | None) -> str:
    """One end of a range in words, such as ` <= 10,000,000`, or nothing where there is no bound."""
    if number is None:
        return ""
    return words.format(f"{number:,}" if isinstance(number, int) else f"{number:g}")


class Knobs(BaseModel):
    """Base of every `Knobs` class: immutable, unknown names refused, one clear sentence per mistake.

    Raises:
        ValueError: names the owner, the knob, its legal range and what was given; lists legal names if unknown.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, validate_default=True
    )

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
        if (
            knob.kind in (int, float)
            and not knob.options
            and any(isinstance(one, bool | str) for one in given)
        ):
            text = ", a number and no text" if isinstance(value, str) else ""
            raise ValueError(f"must satisfy {knob.range}{text}")
        return value

    @field_validator("*")
    @classmethod
    def _check_range(cls, value: Any, info: ValidationInfo) -> Any:
        if wrong := _declared(cls)[str(info.field_name)].check(value):
            raise ValueError(wrong)
        return value


def _fixed(name: str) -> Callable[[Any, Any], None]:
    """The setter of a knob's property."""

    def refuse(thing: Any, value: Any) -> None:
        who = type(thing).__name__
        raise AttributeError(
            f"{who}.{name} stays as it was made; make another, {who}({name}={quoted(value)})."
        )

    return refuse


class _Signature:
    """The constructor's signature, on the class; its instances, which may be called in another way, have none."""

    def __get__(self, instance: Any, owner: type[HasKnobs]) -> inspect.Signature:
        if instance is not None:
            raise AttributeError("__signature__")
        kinds = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD

        def parameter(
            name: str, default: Any, annotation: Any, positional: bool = False
        ) -> inspect.Parameter:
            default = inspect.Parameter.empty if default is ... else default
            return inspect.Parameter(
                name, kinds[positional], default=default, annotation=annotation
            )

        given = [
            parameter(name, a.default, Any, not a.kw_only) for name, a in owner._arguments.items()
        ]
        knobs = [
            parameter(name, ... if field.is_required() else field.default, field.annotation)
            for name, field in owner.Knobs.model_fields.items()
        ]
        return inspect.Signature([*given, *knobs])


class _Documented:
    """A class's docstring, with what its constructor takes put before the example."""

    def __init__(self, doc: str | None):
        self.doc = inspect.cleandoc(doc or "")

    def __get__(self, instance: Any, owner: type[HasKnobs]) -> str:
        lines = [f"{name}: {argument.help}" for name, argument in owner._arguments.items()]
        lines += [f"{knob.name}: {knob.in_words}" for knob in describe(owner.Knobs)]
        if not lines:
            return self.doc
        wrapped = [
            textwrap.fill(line, 100, initial_indent="    ", subsequent_indent="        ")
            for line in lines
        ]
        text, example, rest = self.doc.partition("\n\nExample")
        return "\n".join([text, "", "Args:", *wrapped]) + example + rest


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(knob, argument))
class HasKnobs:
    """Base of what is made from knobs, which its class declares: `tau: float = knob("Temperature.", default=0.01)`.

    `thing.tau` is a value and cannot be set, `thing.knobs` are all of them; `Thing.Knobs` checks them. An annotation
    with a value that is no knob has to be a `ClassVar`, as in a dataclass. `__post_init__` is called once the knobs are
    checked; there is no `__init__` to write, for type checkers make it from the knobs.

    Raises:
        ValueError: unknown knob, a value out of range, or a knob that is not given by name.
        TypeError: of a class, in one sentence, that it declares its knobs otherwise.
    """

    Knobs: ClassVar[type[Knobs]] = Knobs
    _arguments: ClassVar[Mapping[str, Argument]] = {}
    __signature__ = _Signature()
    knobs: Any

    def __init__(self, *positional: Any, **given: Any):
        super().__init__()
        arguments = self._taken(positional, given)
        self.knobs = self.Knobs(**given)
        for name, value in arguments.items():
            setattr(self, name, value)
        try:
            self.__post_init__()
        except (MemoryError, RuntimeError) as error:
            if not out_of_memory(error):
                raise
            raise ValueError(_too_large(type(self).__name__, self.knobs)) from None

    def __post_init__(self) -> None:
        """What an entry does with its knobs when it is made."""

    def _taken(self, positional: tuple, given: dict[str, Any]) -> dict[str, Any]:
        """Take what is no knob out of what is given."""
        who, names = (
            type(self).__name__,
            [name for name, one in self._arguments.items() if not one.kw_only],
        )
        if len(positional) > len(names):
            declared = ", ".join(f"{name}=..." for name in self.Knobs.model_fields)
            raise ValueError(
                f"{who} takes its knobs by name, {who}({declared}), got {quoted(positional[len(names)])}."
            )
        given |= zip(names, positional, strict=False)
        for name, one in self._arguments.items():
            if name not in given and one.default is ...:
                raise ValueError(f"{who} needs {name}: {one.help}")
        return {name: given.pop(name, one.default) for name, one in self._arguments.items()}

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        own = dict(vars(cls))
        if "Knobs" in own:
            return
        annotations = inspect.get_annotations(cls)
        inside: dict[str, Any] = {
            "__module__": cls.__module__,
            "__qualname__": f"{cls.__qualname__}.Knobs",
        }
        # pydantic's checks
        inside |= {name: value for name, value in own.items() if hasattr(value, "decorator_info")}
        inside["__annotations__"] = {}
        for name, value in own.items():
            if isinstance(value, FieldInfo):
                if name not in annotations:
                    raise TypeError(
                        f"{cls.__qualname__}: the knob {name} needs a type, {name}: float = knob(...)."
                    )
                called = typing.cast(dict[str, Any], value.json_schema_extra)["alias"] or name
                inside["__annotations__"][called], inside[called] = annotations[name], value
            if isinstance(value, FieldInfo | Argument):
                delattr(cls, name)
                if isinstance(value, FieldInfo) and not hasattr(cls, name):
                    setattr(
                        cls,
                        name,
                        property(
                            attrgetter(f"knobs.{called}"), _fixed(called), doc=value.description
                        ),
                    )
        bases = [base for base in cls.__bases__ if issubclass(base, HasKnobs)]
        cls.Knobs = type("Knobs", tuple(dict.fromkeys(base.Knobs for base in bases)), inside)
        of_bases = {name: one for base in bases for name, one in base._arguments.items()}
        cls._arguments = of_bases | {
            name: one for name, one in own.items() if isinstance(one, Argument)
        }
        cls.__doc__ = _Documented(cls.__doc__ if "__doc__" in own else None)  # type: ignore[assignment]  # read as a text


class Unchecked(Knobs):
    """Knobs of something that is not here, as they were stored."""

    model_config = ConfigDict(extra="allow")


def _too_large(who: str, knobs: Knobs) -> str:
    """The sentence about knobs that ask for more memory than there is. It shows the whole numbers among them."""
    sizes = [
        f"{name} {value:,}" for name, value in knobs if type(value) is int and "seed" not in name
    ]
    return f"{who} needs more memory than this machine can give ({', '.join(sizes)}); lower these numbers."


def describe(knobs: type[Knobs]) -> tuple[Knob, ...]:
    """Every knob of a `Knobs` class, in the order of declaration."""
    return tuple(_declared(knobs).values())


@cache
def _declared(knobs: type[Knobs]) -> Mapping[str, Knob]:
    declared = {}
    for name, field in knobs.model_fields.items():
        kind, many, optional, options = _kind(field.annotation)
        required, extra = (
            field.is_required(),
            typing.cast(dict[str, Any], field.json_schema_extra or {}),
        )
        default, help = None if required else field.default, field.description or ""
        told = {key: value for key, value in extra.items() if key != "alias"}
        declared[name] = Knob(name, kind, many, optional, options, default, required, help, **told)
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
        return (
            f"{who} has no knob {quoted(name)}{hint}. Its knobs: {', '.join(declared) or 'none'}."
        )
    if first["type"] == "missing" and len(first["loc"]) == 1:  # not an element of a tuple
        return f"{who} needs {name}: {declared[name].help}"
    if not name and first["type"] == "value_error":  # refused by a check of all knobs together
        return f"{who}: {first['ctx']['error']}."
    if name not in declared:
        return f"{who}: {first['msg']}."
    if first["type"] == "value_error":
        return f"{who}: {name} {first['ctx']['error']}, got {got}."
    message = first["msg"][0].lower() + first["msg"][1:]
    return f"{who}: {name} must satisfy {declared[name].range}, got {got} ({message})."
