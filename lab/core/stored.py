"""Small files read by their schema: typed values, or one sentence that names the file, the field and what is wrong.

A schema is a `TypedDict` or a dataclass whose fields have the types below. A file may hold more fields than its schema
knows, since later versions write them; those are kept as they are. Imports no torch.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

from pydantic import BeforeValidator, ConfigDict, Field, Strict, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from lab.core.explain import quoted
from lab.core.files import checked, parse_json
from lab.core.formats import size

T = TypeVar("T")

MOST_FIELDS = 10_000
"""Fields of an object inside a file; pydantic lists what is wrong with each, which takes seconds for a million."""
MOST_BYTES, MOST_LISTED = 2_000_000, 1_000_000_000
"""Bytes of a small file, and of a list of images or marks."""


def _few(value: Any) -> Any:
    if isinstance(value, dict) and len(value) > MOST_FIELDS:
        raise ValueError(f"must have at most {MOST_FIELDS:,} fields")
    return value


Text = Annotated[str, Strict(), Field(max_length=20_000)]
"""A name or a sentence."""
Flag = Annotated[bool, Strict()]
Count = Annotated[int, Strict(), Field(ge=0, le=2**53)]
"""A whole number that counts or numbers something: 0 to 2^53, so that every JSON reader sees the same one."""
Whole = Annotated[int, Strict(), Field(ge=-(2**63), le=2**63 - 1)]
Number = Annotated[float, Strict(), Field(allow_inf_nan=False)]
"""A finite number; whole ones count, too."""
Time = Annotated[float, Strict(), Field(ge=0, le=2e11, allow_inf_nan=False)]
"""Seconds since 1970, before the year 8000: dates end at 9999."""
Few = BeforeValidator(_few)
Texts = Annotated[list[Text], Field(fail_fast=True)]
Numbers = Annotated[list[Number | None], Field(fail_fast=True)]
"""None stands for NaN, which JSON lacks."""
Scores = Annotated[dict[Text, Number | None], Few]
"""Column to value."""
Fields = Annotated[dict[Text, Any], Few]
"""Fields that somebody else checks."""


class Stored(TypedDict, total=False):
    """Base class of schemas. It keeps the fields that a schema does not name."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]  # read by pydantic, and no field


def read(path: Path, kind: type[T], most: int = MOST_BYTES) -> T:
    """Return what a JSON file holds, checked by its schema.

    Args:
        most: bytes that the file may have.

    Raises:
        ValueError: it is no such file; names the file, the field and what is wrong.
        OSError: it is not there or cannot be read.
    """
    with checked(path).open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"{path} is larger than {size(most)}, so it is none that Rankscope wrote.")
    return parse(content, kind, str(path))


def find(path: Path, kind: Any, most: int = MOST_BYTES) -> dict[str, Any]:
    """Return what `read` returns; an empty object where there is no file, or one that does not fit its schema."""
    try:
        return read(path, kind, most)
    except (OSError, ValueError):
        return {}


def parse(content: bytes | str, kind: type[T], name: str) -> T:
    """Return what a JSON text holds, checked by its schema.

    Args:
        name: what a message calls the text.

    Raises:
        ValueError: it is no such text.

    Example:
        >>> class Step(Stored):
        ...     step: Count
        >>> parse('{"step": 8, "later": 1}', Step, "x.json")
        {'step': 8, 'later': 1}
        >>> parse('{"step": "8"}', Step, "x.json")
        Traceback (most recent call last):
        ...
        ValueError: x.json is damaged: step must be a whole number, got '8'.
    """
    try:
        value = parse_json(
            content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        )
    except ValueError as error:
        raise ValueError(f"{name} is no JSON object: {error}.") from None
    return check(value, kind, name)


def check(value: Any, kind: type[T], name: str) -> T:
    """Return a value that was parsed before, checked by its schema.

    Raises:
        ValueError: it does not fit; names the field.
    """
    try:
        return _adapter(cast(Any, kind)).validate_python(value)
    except ValidationError as error:
        raise ValueError(f"{name} is damaged: {_sentence(error)}.") from None


@cache
def _adapter(kind: type[T]) -> TypeAdapter[T]:
    return TypeAdapter(kind)


MUST = {
    "missing": "is missing",
    "finite_number": "must be a finite number",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "string_type": "must be text",
    "string_unicode": "must be text",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be an object",
    "dataclass_type": "must be an object",
    "none_required": "must be null",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be one of {expected}",
    "string_too_long": "must have at most {max_length} characters",
    "too_long": "must have at most {max_length} entries",
    "too_short": "must have at least {min_length} entries",
    "value_error": "{error}",
}
"""pydantic's kinds of mistake in our words; braces are filled from what it says of the mistake."""


def _sentence(error: ValidationError) -> str:
    """The first of pydantic's mistakes in our words."""
    first = error.errors(include_url=False)[0]
    words = MUST.get(first["type"], "is no value that belongs there").format(**first.get("ctx", {}))
    where = ".".join(quoted(part).strip("'") for part in first["loc"]) or "it"
    got = "" if first["type"] == "missing" else f", got {quoted(first['input'])}"
    return f"{where} {words}{got}"
