"""YAML with the numbers that people mean (1e-3 is one, 1:30 is no ninety), by libyaml where PyYAML has it."""

from __future__ import annotations

import re
from typing import Any

import yaml

_Safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INT, _FLOAT = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"


class _Reader(_Safe):
    pass


_Reader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in (_INT, _FLOAT)]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Reader.add_implicit_resolver(_INT, re.compile(r"[-+]?(0|[1-9][0-9_]*|0x[0-9a-fA-F_]+)$"), list("-+0123456789"))
_Reader.add_implicit_resolver(
    _FLOAT,
    re.compile(r"[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?$|[-+]?\.(inf|Inf|INF)$|\.(nan|NaN|NAN)$"),
    list("-+.0123456789"),
)


class _Writer(yaml.SafeDumper):
    """Puts quotes around a text that any reader, ours or another, takes for something else."""


_Writer.yaml_implicit_resolvers = {
    first: [*yaml.SafeDumper.yaml_implicit_resolvers.get(first, []), *_Reader.yaml_implicit_resolvers.get(first, [])]
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
        ValueError: it is no YAML; says where.
    """
    try:
        return yaml.load(text, _Reader)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())[:500]) from None
