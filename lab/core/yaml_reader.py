"""YAML with the numbers that people mean: 1e-3 is one, 1:30 is no ninety, a date is text.

libyaml reads it where PyYAML has that library.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

_Safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INT, _FLOAT, _DATE = (f"tag:yaml.org,2002:{name}" for name in ("int", "float", "timestamp"))


class _Reader(_Safe):
    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if not isinstance(key, yaml.ScalarNode):
                raise _Refused(
                    f"line {key.start_mark.line + 1} names something by a list or an object, not by a text"
                )
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


_Reader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in (_INT, _FLOAT, _DATE)]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Reader.add_implicit_resolver(
    _INT, re.compile(r"[-+]?(0|[1-9][0-9_]*|0x[0-9a-fA-F_]+)$"), list("-+0123456789")
)
_Reader.add_implicit_resolver(
    _FLOAT,
    re.compile(
        r"[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?$|[-+]?\.(inf|Inf|INF)$|\.(nan|NaN|NAN)$"
    ),
    list("-+.0123456789"),
)


MOST_CHARACTERS, MOST_VALUES, DEEPEST = 2_000_000, 50_000, 64
"""Characters and values of a text, and levels in it. An alias (*name) counts as many values as what it repeats."""


class _Writer(yaml.SafeDumper):
    """Puts quotes around a text that any reader, ours or another, takes for something else."""


_Writer.yaml_implicit_resolvers = {
    first: [
        *yaml.SafeDumper.yaml_implicit_resolvers.get(first, []),
        *_Reader.yaml_implicit_resolvers.get(first, []),
    ]
    for first in {*yaml.SafeDumper.yaml_implicit_resolvers, *_Reader.yaml_implicit_resolvers}
}


def dump(value: Any, **style: Any) -> str:
    """Return plain data as YAML that `load` reads back to equal data: 1e3, 010 and no are texts where they were texts.

    Args:
        style: of `yaml.safe_dump`, for instance `width`.

    Example:
        >>> from lab.core import yaml_reader
        >>> yaml_reader.load(yaml_reader.dump({"name": "1e3", "lr": 1e-3}))
        {'name': '1e3', 'lr': 0.001}
    """
    return yaml.dump(value, Dumper=_Writer, sort_keys=False, **style)


def load(text: str) -> Any:
    """What a YAML text holds.

    Raises:
        ValueError: it is no YAML, has tags, or is too large; says where.
    """
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"it has more than {MOST_CHARACTERS:,} characters")
    try:
        _check_size(text)
        return yaml.load(text, _Reader)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())[:500]) from None
    except _Refused:
        raise
    except (ValueError, OverflowError):  # of Python, which reads the numbers
        raise ValueError(
            "it holds a number that cannot be read, or of thousands of digits"
        ) from None


class _Refused(ValueError):
    """Something that is YAML, and that is not read here."""


def _check_size(text: str) -> None:
    """Refuse a text that would take gigabytes or minutes: a few lines of aliases of aliases stand for millions of
    values."""
    total, open_ones = 0, list[tuple[str | None, int]]()
    sizes: dict[str, int] = {}
    for event in yaml.parse(text, _Reader):
        if isinstance(event, yaml.AliasEvent):
            total += sizes.get(event.anchor, MOST_VALUES)  # one inside itself has no end
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_ones.pop()
            sizes |= {anchor: total - before} if anchor else {}
        elif isinstance(event, yaml.NodeEvent):
            if event.tag is not None:
                line = event.start_mark.line + 1
                raise _Refused(f"the tag {event.tag[:50]!r} in line {line} is not read here")
            if isinstance(event, yaml.CollectionStartEvent):
                open_ones.append((event.anchor, total))
            elif event.anchor:
                sizes[event.anchor] = 1
            total += 1
        if total > MOST_VALUES or len(open_ones) > DEEPEST:
            raise _Refused(
                f"it has more than {MOST_VALUES:,} values, or more than {DEEPEST} levels"
            )
