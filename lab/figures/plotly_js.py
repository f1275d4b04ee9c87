"""plotly.js with the kinds of traces that the lab's figures use: a quarter of the whole."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

TRACES = frozenset({"scatter", "bar", "heatmap", "histogram2dcontour", "table", "waterfall"})
"""What scripts/plotly/entry.js puts into `plotly.min.js`."""
FILE = Path(__file__).with_name("plotly.min.js")


def source(kinds: Collection[str]) -> str:
    """plotly.js for these kinds of traces: ours, or the installed package's whole one where ours lacks any."""
    if TRACES.issuperset(kinds):
        return FILE.read_text(encoding="utf-8")
    from plotly.offline import get_plotlyjs

    return get_plotlyjs()
