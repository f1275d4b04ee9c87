"""A flat map of the queries as inline SVG: where the nearest neighbour is right, and where it is not."""

from __future__ import annotations

from html import escape

import numpy as np

import lab.maps
from lab.report.page import _queries
from lab.runs.folder import Run

SIDE, EDGE, MOST = 640, 12, 2_000
"""Of the picture in its own units; and queries that are drawn at most."""


def of(run: Run, split: str) -> str:
    """Principal components of the embeddings; wrong ones are crosses, so that colour is not alone."""
    query = run.embeddings(split)
    if len(query) < 3:
        return "<p>There are too few queries for a map.</p>"
    rows = np.sort(np.random.default_rng(0).permutation(len(query))[:MOST])
    vectors = query.vectors[rows]
    flat = lab.maps.flatten(vectors, "pca")
    searched, some = run.embeddings(split, "gallery") or query, query.take(rows)
    right = _queries.right(some, searched, _queries.nearest(some, searched, 1, run.config_of(split).similarity))[:, 0]
    low, span = flat.min(0), float(np.ptp(flat, axis=0).max()) or 1.0
    places = EDGE + (SIDE - 2 * EDGE) * (flat - low) / span
    height = int(places[:, 1].max()) + EDGE
    dots = "".join(f"M{x:.0f} {height - y:.0f}h0" for x, y in places[right])
    crosses = "".join(f"M{x - 3:.0f} {height - y - 3:.0f}l6 6m0-6l-6 6" for x, y in places[~right])
    kept = lab.maps.honesty(vectors, flat, k=min(10, max(1, len(rows) // 2 - 1)))
    alt = escape(f"Map of {len(rows):,} queries of {run.name}: the nearest neighbour of {right.sum():,} is right.")
    svg = (
        f'<svg class="map" viewBox="0 0 {SIDE} {height}" role="img" aria-label="{alt}"><title>{alt}</title>'
        f'<path d="{crosses}" fill="none" stroke="var(--wrong)" stroke-width="1.6"/>'
        f'<path d="{dots}" fill="none" stroke="var(--right)" stroke-width="5" stroke-linecap="round"/></svg>'
    )
    caption = (
        f"{len(rows):,} of {len(query):,} queries by their first two principal components. Dots: the nearest neighbour "
        f"is right ({right.sum():,}); crosses: it is not ({(~right).sum():,}). A map shows the overview only: "
        f"{100 * kept['agreement']:.0f} % of the nearest neighbours on it are true ones, by chance "
        f"{100 * kept['chance']:.1f} %."
    )
    return f"<figure>{svg}<figcaption>{caption}</figcaption></figure>"
