"""The generator's configuration."""

from __future__ import annotations

from pathlib import Path

import yaml

from scripts.website import places, reference

GUIDES = (
    "quick-start", "installation", "command", "playground", "dashboard", "own-images", "data-doctor", "layers",
    "adapt", "threshold", "verdict", "own-loss",
    "extending", "own-loop", "gpu", "several-processes", "clusters", "failures", "large-galleries", "streamed-data",
    "exports", "serving", "kernels", "contributing", "security",
)  # fmt: skip
RESULTS = ("claims", "intervals", "published", "tricks", "benchmarks", "misprints", "reliability")


def text(source: Path, html: Path) -> str:
    """The configuration as YAML; both folders lie beside the file."""
    notebooks = sorted(path.stem for path in (places.ROOT / "notebooks").glob("*.ipynb"))
    nav = [
        {"Home": "index.md"},
        {"Guides": [f"guides/{name}.md" for name in GUIDES]},
        {
            "Lessons": [
                f"lessons/{name}.md" for name in ("index", *notebooks, "teaching", "classroom")
            ]
        },
        {"Gallery": ["gallery/index.md"]},
        {"Results": [f"results/{name}.md" for name in RESULTS]},
        {
            "Reference": [
                "reference/index.md",
                *({f"lab.{part}": f"reference/{part}.md"} for part in reference.PARTS),
            ]
        },
        {"Changes": "changelog.md"},
    ]
    palette = [
        {"media": "(prefers-color-scheme: light)", "scheme": "default", "primary": "indigo",
         "toggle": {"icon": "lucide/sun", "name": "Dark colours"}},
        {"media": "(prefers-color-scheme: dark)", "scheme": "slate", "primary": "indigo",
         "toggle": {"icon": "lucide/moon", "name": "Light colours"}},
    ]  # fmt: skip
    theme = {
        "name": "material", "font": False, "palette": palette, "favicon": "live/icon.svg",
        "features": ["navigation.tabs", "navigation.footer", "navigation.top",
                     "content.code.copy", "search.highlight"],
    }  # fmt: skip
    docstrings = {
        "docstring_style": "google", "show_source": False, "show_root_heading": True, "members_order": "source",
        "show_labels": False, "extensions": [str(Path(__file__).with_name("examples.py"))],
    }  # fmt: skip
    return yaml.safe_dump({
        "site_name": "Rankscope",
        "docs_dir": str(source),
        "site_dir": str(html),
        "use_directory_urls": False,
        "nav": nav,
        "theme": theme,
        "extra": {"generator": False},
        "extra_css": ["live/drag.css", "live/site.css"],
        "extra_javascript": ["live/live.js", "live/site.js"],
        "plugins": ["search", "offline",
                    {"mkdocstrings": {"handlers": {"python": {"paths": [str(places.ROOT)], "options": docstrings}}}}],
        "markdown_extensions": ["admonition", "attr_list", "md_in_html", "tables", {"toc": {"permalink": True}},
                                "pymdownx.superfences", "pymdownx.highlight", "pymdownx.inlinehilite"],
    }, sort_keys=False)  # fmt: skip
