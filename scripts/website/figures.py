"""The gallery: a page for every figure, live; data packed beside the pages, plotly once for all of them."""

from __future__ import annotations

import base64
import hashlib
import io
import sys
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import lab.figures
from lab.core import web_page
from lab.core.knobs import describe
from lab.figures import live_page
from lab.figures._base import Figure
from scripts.website import places

STOPS = (13, 5)
"""Of the first slider and of the second: a page of the site is opened more often than a saved one."""
LAB = places.ROOT / "lab"
BELOW = (
    "core",
    "figures/examples",
    "figures/measured",
    "inspect",
    "kernels",
    "losses",
    "metrics",
    "papers",
    "surrogates.py",
)
"""What a figure's numbers may depend on besides its own file: see the layers in pyproject.toml."""


class Figures:
    """Figures in use on the site; what is computed is kept in `cache` by a hash of all that it depends on.

    compute: whether to compute what the cache lacks; without, those places say so, and `missing` counts them.
    """

    def __init__(self, cache: Path, compute: bool = True):
        self._cache, self._compute = cache, compute
        self.packed: dict[str, bytes] = {}
        self._below = _hash(
            *(path for part in BELOW for path in (LAB / part, *(LAB / part).rglob("*.*"))),
            *LAB.glob("figures/*.*"),
        )

    def live(self, name: str, knobs: Mapping[str, Any] | None = None) -> str:
        """The place where a figure will be drawn, as a line of HTML."""
        figure = lab.figures.create(name, **(knobs or {}))
        key = f"{name}-{hashlib.sha256(repr(figure.knobs).encode()).hexdigest()[:8]}"
        if key not in self.packed:
            self.packed[key] = self._data(key, figure)
        kind = type(figure)
        words = '<div class="knobs"></div><div class="picture"></div><p class="words" role="status"></p>'
        if not self.packed[key]:
            draws = f"<code>lab papers figure {name} --save {name}.html</code>"
            words = f'<p class="words">This copy of the site was built without the pictures; {draws} draws them.</p>'
        elif trained := live_page.trained_words(figure):
            words += f'<p class="source">{trained}</p>'
        return (
            f'<div class="live-figure{"" if self.packed[key] else " missing"}" data-figure="{key}" id="{key}">'
            f'<p class="question">{escape(kind.question)}</p>{words}'
            f'<code class="code"></code><p class="source">{escape(kind.origin())}</p></div>'
        )

    @property
    def missing(self) -> int:
        """How many of the figures that were placed have no pictures."""
        return sum(not packed for packed in self.packed.values())

    def _data(self, key: str, figure: Figure) -> bytes:
        """What a figure is drawn from: its packed pictures, from the cache if nothing has changed."""
        if live_page.computes_in_page(figure):
            return live_page.packed_pictures(figure)[0]  # one picture, made in a moment
        kept = (
            self._cache / f"{key}-{_hash(*_siblings(figure), also=self._below + repr(STOPS))}.b64"
        )
        if not kept.exists():
            if not self._compute:
                return b""
            print(f"computing {key} ...", flush=True)
            packed, kinds = live_page.packed_pictures(figure, most=STOPS)
            if not kinds <= live_page.TRACES:
                raise ValueError(
                    f"{key} draws {', '.join(kinds - live_page.TRACES)}, which plotly.min.js lacks."
                )
            self._cache.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(packed)
        return kept.read_bytes()

    def thumbnail(self, name: str) -> bytes:
        """A small still of a figure, webp; empty where there is no browser to draw with."""
        figure = lab.figures.create(name)
        kept = self._cache / f"{name}-{_hash(*_siblings(figure), also=self._below)}.webp"
        if self._compute and not kept.exists():
            from PIL import Image

            from lab.figures.saving import picture

            kept.parent.mkdir(parents=True, exist_ok=True)
            try:
                still = Image.open(io.BytesIO(picture(figure.figure(), "png", 900)))
                kept.write_bytes(base64.b64decode(web_page.thumbnail(still, 640).partition(",")[2]))
            except ValueError as error:
                print(f"no thumbnail of {name}: {error}")
                return b""
        return kept.read_bytes() if kept.exists() else b""

    def write(self, folder: Path) -> None:
        """The data of every figure that was placed, as scripts: they load from a disk, too."""
        folder.mkdir(parents=True, exist_ok=True)
        for key, packed in ((key, packed) for key, packed in self.packed.items() if packed):
            (folder / f"{key}.js").write_text(f'rankscopeFigure("{key}", "{packed.decode()}");\n')


def gallery(figures: Figures, lessons: Mapping[str, list[str]]) -> dict[str, str]:
    """The gallery's pages: all figures by question, and one page for each."""
    import importlib

    made, cards = (
        {},
        [
            "# Gallery\n\nEvery figure of the papers that this lab draws, with what it is made after.\n"
        ],
    )
    used, groups = list(lessons), lab.figures.groups()
    first = {
        group: min((used.index(one) for one in {*names} & {*used}), default=99)
        for group, names in groups.items()
    }
    for group, names in sorted(groups.items(), key=lambda one: first[one[0]]):
        question = (importlib.import_module(f"lab.figures.{group}").__doc__ or group).strip()
        cards.append(f'## {question}\n\n<div class="grid">')
        for name in names:
            kind = lab.figures.get(name)
            there = figures.thumbnail(name)
            still = (
                f'<img src="../images/figures/{name}.webp" alt="" loading="lazy">' if there else ""
            )
            cards.append(
                f'<a href="{name}.html" class="card">{still}<strong>{escape(kind.title)}</strong>'
                f"<span>{escape(kind.origin())}</span></a>"
            )
            made[f"gallery/{name}.md"] = _page(name, kind, figures, lessons.get(name, []))
        cards.append("</div>\n")
    return {"gallery/index.md": "\n".join(cards), **made}


def _page(name: str, kind: type[Figure], figures: Figures, lessons: list[str]) -> str:
    """The page of one figure."""
    told = [
        f"- {knob.name}: {knob.help} Default: `{knob.default}`." for knob in describe(kind.Knobs)
    ]
    links = [
        f"[{stem.removeprefix('appendix_')[0].upper()}](../lessons/{stem}.md)" for stem in lessons
    ]
    doc = (kind.__doc__ or "").strip().split("\n\n")[0]
    return "\n\n".join(
        [
            f"# {kind.title}", f"{doc}", figures.live(name),
            f"**Source.** {kind.origin()}. **Lessons.** {', '.join(links) or 'none'}. **Dashboard.** "
            "page [Figures](../guides/dashboard.md).",
            f"```sh\nlab figures {name} --save {name}.html\n```", "## Its knobs", "\n".join(told),
        ]
    ) + "\n"  # fmt: skip


def _siblings(figure: Figure) -> list[Path]:
    """The files of the figure's folder, its own among them: some share code."""
    return sorted(Path(str(sys.modules[type(figure).__module__].__file__)).parent.glob("*.py"))


def _hash(*paths: Path, also: str = "") -> str:
    """Of the contents of files; compiled ones do not count."""
    found = hashlib.sha256(also.encode())
    for path in sorted(paths):
        if path.is_file() and "__pycache__" not in path.parts:
            found.update(path.read_bytes())
    return found.hexdigest()[:16]
