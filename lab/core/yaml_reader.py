"""YAML with the numbers that people mean (1e-3 is one, 1:30 is no ninety), read by libyaml where PyYAML has it."""

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


def load(text: str) -> Any:
    """What a YAML text holds.

    Raises:
        ValueError: it is no YAML; says where.
    """
    try:
        return yaml.load(text, _Reader)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())[:500]) from None
