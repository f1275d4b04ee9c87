"""The reference: a page for every part of the library, made from docstrings by mkdocstrings."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import lab

PARTS = (
    "losses", "wrappers", "metrics", "metrics.functional", "samplers", "encoders", "data", "search", "search.galleries",
    "reranking",
    "inspect", "figures", "playground", "widgets", "teaching", "maps", "model", "runs", "evaluation", "training",
    "report", "exporters", "adaptation", "integrations.importing", "integrations.recording", "inference.over_classes",
    "inference.paired", "inference.crossed", "threshold", "verdict", "serving", "surrogates", "sweeps", "launchers",
    "protocols", "papers.tables", "core.results", "core.knobs",
)  # fmt: skip
CALLS = ("EmbeddingSet", "adapt", "compare", "evaluate", "load", "resume", "train")
"""What `lab` itself offers."""
INTERNAL = {"cli", "doctor", "kernels"}
"""Parts without a page: what stands in them is reached through the others."""
OPTIONS = "    options:\n      show_root_heading: true\n      show_root_full_path: false\n      heading_level: 2\n"


def pages() -> dict[str, str]:
    """Path of a page to its Markdown."""
    made = {f"reference/{part}.md": _page(part) for part in PARTS}
    first = {
        part: (importlib.import_module(f"lab.{part}").__doc__ or "").strip().split("\n")[0]
        for part in PARTS
    }
    lines = "\n".join(f"- [lab.{part}]({part}.md): {words}" for part, words in first.items())
    calls = "\n".join(f"::: {getattr(lab, name).__module__}.{name}\n{OPTIONS}" for name in CALLS)
    made["reference/index.md"] = (
        f"# Reference\n\nEvery public name, from its docstring.\n\n{lines}\n\nFour functions can be called from "
        f"`lab` itself: `lab.evaluate`, `lab.load`, `lab.resume` and `lab.train`.\n\n{calls}"
    )
    return made


def _page(part: str) -> str:
    module = importlib.import_module(f"lab.{part}")
    # else Markdown sees no code
    doc = re.sub(r":\n(?= +>>>)", ":\n\n", inspect.cleandoc(module.__doc__ or ""))
    blocks = [f"::: {path}\n{OPTIONS}" for path in dict.fromkeys(_public(module))]
    return f"# lab.{part}\n\n{doc}\n\n" + "\n".join(blocks)


def _public(module: Any) -> list[str]:
    """Paths of what a part offers: its public names, then the entries of its catalogue."""
    names = getattr(module, "__all__", None) or [
        name for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", "") == module.__name__
    ]  # fmt: skip
    found = [getattr(module, name) for name in names]
    found += [module.get(name) for name in module.names()] if hasattr(module, "names") else []
    own = [one for one in found if inspect.isclass(one) or inspect.isfunction(one)]
    return [
        f"{one.__module__}.{one.__qualname__}" for one in own if one.__module__.startswith("lab.")
    ]
