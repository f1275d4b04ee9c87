"""The page's frame, its style, and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{style}</style>
</head>
<body><main>
{body}
</main></body>
</html>
"""

STYLE = """
:root { color-scheme: light dark; --ground: #fff; --ink: #1b1b1b; --soft: #595959; --line: #d5d5d5; --right: #0072b2;
  --wrong: #b84a00; --c0: #0072b2; --c1: #b84a00; --c2: #00795a; --c3: #a0487a; --c4: #8a6100; --c5: #1b1b1b; }
@media (prefers-color-scheme: dark) { :root { --ground: #14171a; --ink: #ececec; --soft: #b4b4b4; --line: #41474d;
  --right: #56b4e9; --wrong: #ff9a4d; --c0: #56b4e9; --c1: #ff9a4d; --c2: #3fd0a4; --c3: #e79cc6; --c4: #f0c04a;
  --c5: #ececec; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, "Segoe UI", sans-serif; }
main { max-width: 1100px; margin: 0 auto; padding: 16px; }
h1 { font-size: 1.6rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin-top: 2.2rem; overflow-wrap: anywhere; }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .5rem 0; }
caption, .told { text-align: left; color: var(--soft); padding: .3rem 0; margin: .5rem 0 0; }
th, td { text-align: left; padding: .3rem .7rem .3rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
pre { overflow-x: auto; font-size: .85rem; } summary { cursor: pointer; padding: .3rem 0; }
figure { margin: 0 0 1rem; } figcaption { color: var(--soft); font-size: .9rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 400px), 1fr)); gap: 1rem 2rem; }
svg { width: 100%; height: auto; display: block; } svg text { fill: var(--ink); font-size: 13px; }
svg .axis { stroke: var(--line); } .map { max-width: 640px; }
.key { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; padding: 0; margin: .3rem 0; list-style: none; }
.key svg { width: 36px; display: inline-block; vertical-align: middle; margin-right: .4rem; }
.row { display: flex; flex-wrap: wrap; gap: 8px; margin: 0 0 .8rem; padding: 0; list-style: none; }
.row li { width: 84px; font-size: .8rem; text-align: center; overflow-wrap: anywhere; line-height: 1.25; }
.row img { display: block; width: 84px; height: 84px; object-fit: contain; background: #fff;
  border: 4px solid var(--soft); }
.row .right img { border-color: var(--right); } .row .wrong img { border-color: var(--wrong); border-style: dashed; }
.row .right b { color: var(--right); } .row .wrong b { color: var(--wrong); }
"""

DASHES = ("", "7 4", "2 3", "9 3 2 3", "12 4", "4 2")
"""How lines are broken, so that colour is never alone."""


def line(number: int) -> str:
    """Attributes of the line of the number-th run."""
    return f'fill="none" stroke="var(--c{number % 6})" stroke-width="2" stroke-dasharray="{DASHES[number % 6]}"'


def key(names: Iterable[str]) -> str:
    """Which line is whose."""
    swatch = '<svg viewBox="0 0 36 8" aria-hidden="true"><path d="M0 4H36" {}/></svg>'
    items = (f"<li>{swatch.format(line(number))}{escape(name)}</li>" for number, name in enumerate(names))
    return f'<ul class="key">{"".join(items)}</ul>'


def table(caption: str, head: Sequence[Any], rows: Iterable[Sequence[Any]]) -> str:
    """A table with row and column headings; None is a dash."""
    lines = [_row(head, "th"), *(_row(row, "td") for row in rows)]
    body = f"<thead>{lines[0]}</thead><tbody>{''.join(lines[1:])}</tbody>"
    text = escape(caption)  # outside of what scrolls sideways, so that a small screen shows all of it
    return f'<p class="told">{text}</p><div class="wide" tabindex="0"><table aria-label="{text}">{body}</table></div>'


def _row(cells: Sequence[Any], others: str) -> str:
    """The first cell is a heading, the others are headings (th) or not (td)."""
    heading = f'th scope="{"col" if others == "th" else "row"}"'
    made = []
    for place, cell in enumerate(cells):
        tag = heading if place == 0 or others == "th" else others
        made.append(f"<{tag}>{escape('-' if cell is None else str(cell))}</{tag[:2]}>")
    return f"<tr>{''.join(made)}</tr>"
