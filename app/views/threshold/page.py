"""Threshold: which similarity means the same, what it lets through and keeps out, and which classes it serves worst."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

import lab.threshold
from app.components.displays import threshold
from app.components.gallery import CardSection, gallery
from app.results import cache, cards, run_choice
from app.results.cache import SplitView
from app.shared import address, background, page_frame
from lab.inference.rates import TOO_FEW
from lab.threshold import INTERVALS, RATES, Pairs

LINE = "threshold line"
"""In the session's state: where the line was put."""
FAR = 0.01
"""Rate of false accepts at which the line stands at first; of fewer pairs than it takes, the least that can be told."""
STOPS = 400
"""Places at which the line may stand."""
SHOWN = 12
"""Pictures of a class."""
ALL = ""
"""What stands for all classes among them."""


@dataclass(frozen=True)
class Scene:
    """What the page shows: the pairs of a split, and the column of the threshold that is looked at."""

    view: SplitView
    pairs: Pairs
    column: int

    @property
    def value(self) -> float:
        """The threshold."""
        return float(self.pairs.counts.thresholds[self.column])


@page_frame.page("Threshold", "Which similarity means the same, and what is unknown below it.")
def page() -> None:
    view = run_choice.choose_split(run_choice.choose_run())
    page_frame.say(f"{view.run.summary} · {view.split}, {len(view.collection.query):,} queries · {view.provenance}")
    run_choice.need_classes(view)
    pairs = background.or_wait(cache.all_pairs(view))
    far = max(FAR, 1 / int(pairs.counts.other[:, 0].sum()))
    lowest, highest = (float(one) for one in pairs.counts.thresholds[[1, -1]])
    start = float(pairs.counts.thresholds[pairs.let_through(far)])
    wanted = address.load_and_store(
        "at", float, lambda value: lowest <= value <= highest, key=LINE, default=round(start, 4)
    )
    scene = Scene(view, pairs, pairs.column(wanted))
    _histogram(scene)
    _told(scene)
    _keep(scene)
    _classes(scene)


def _histogram(scene: Scene) -> None:
    """The pairs of all classes, or of one, under the line."""
    pairs, names = scene.pairs, {ALL: "all classes"}
    names |= {str(label): scene.view.images.class_name(label) for label in np.unique(pairs.labels).tolist()}
    chosen = page_frame.select("Pairs of", names, key="threshold class", link="class", width=320)
    label = int(chosen) if chosen else None
    rows = pairs if label is None else pairs.of_class(label)
    edges, same, other = rows.histogram()
    thresholds = pairs.counts.thresholds
    inside = np.flatnonzero((thresholds >= edges[0]) & (thresholds <= edges[-1]))
    stops = np.union1d(inside[:: max(1, len(inside) // STOPS)], [scene.column, inside[-1]])
    unit = "cosine similarity" if pairs.similarity == "cosine" else "similarity: minus the squared distance"
    peaks = [f"{edges[shares.argmax()]:.2f}" for shares in (same, other)]
    threshold(
        thresholds[stops].tolist(),
        key="threshold",
        on_move=lambda value: st.session_state.update({LINE: round(value, 4)}),
        edges=edges.tolist(),
        same=same.tolist(),
        other=other.tolist(),
        far=rows.counts.far[stops].tolist(),
        frr=[None if np.isnan(share) else float(share) for share in rows.counts.frr[stops]],
        value=scene.value,
        title=f"Similarities of pairs with queries of {names[chosen]}",
        unit=unit,
        alt=f"Most pairs of one class lie at {peaks[0]}, most pairs of two classes at {peaks[1]}.",
    )


def _told(scene: Scene) -> None:
    """Every rate at the line with its interval."""
    found, pairs = background.or_wait(cache.rates(scene.view, scene.column, scene.pairs)), scene.pairs
    table: dict[str, list] = {"rate": list(RATES)}
    for column in ("value", "low", "high"):
        table[column] = [getattr(found[name], column) for name in RATES]
    percent = st.column_config.NumberColumn(format="percent")
    look: dict[str, Any] = {"hide_index": True, "column_config": {one: percent for one in ("value", "low", "high")}}
    st.dataframe(table | {"what it counts": list(RATES.values())}, alt="Rates at the threshold", **look)
    drawn = f", drawn of {pairs.of:,}" if pairs.of > len(pairs.labels) else ""
    chance = float(np.interp(scene.value, *pairs.probability()))
    counts = (int(one[:, 0].sum()) for one in (pairs.counts.same, pairs.counts.other))
    st.caption(
        f"low and high: {INTERVALS}. {len(pairs.labels):,} queries{drawn}; "
        "{:,} pairs of one class and {:,} of two. ".format(*counts)
        + f"At this similarity a pair is of one class with probability {chance:.0%}, where pairs are mixed as "
        "here (isotonic regression)."
    )
    if any(np.isnan(one.low) for one in found.values()):
        st.caption(TOO_FEW)


def _keep(scene: Scene) -> None:
    """The button that keeps the threshold with the run, and what is kept."""
    run = scene.view.run.folder
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button("Keep this threshold", type="primary", icon=":material/save:"):
            with page_frame.refusals():
                lab.threshold.save(run, scene.pairs, scene.column)
        with page_frame.refusals(st.caption):
            kept = lab.threshold.stored(run)
            page_frame.say(
                f"Kept with {run.name}: {kept.words}. Below it Browse and `lab query --unknown` say unknown."
            )


def _classes(scene: Scene) -> None:
    """The classes that the threshold serves worst; a chosen one with its pictures."""
    found = scene.pairs.classes(scene.column)
    st.subheader("Classes that this threshold serves worst", anchor=False)
    st.caption(
        "Utility: harmonic mean of the pairs of a class that are let through and the pairs with other classes that are "
        f"kept out. How much it varies over classes is OPIS, {scene.pairs.opis:.4f} here: 0 if one threshold serves "
        "all classes alike. Select a row to see the class."
    )
    names = [scene.view.images.class_name(label) for label in found.labels]
    columns = {"utility": found.utility, "false accepts": found.false_accepts, "false rejects": found.false_rejects}
    percent = {name: st.column_config.NumberColumn(format="percent") for name in columns}
    key = f"threshold classes {scene.view.run.name} {scene.view.split}"
    alt = "Classes by how well the threshold serves them, the worst first"
    row = page_frame.choose_row({"class": names} | columns, key=key, column_config=percent, alt=alt)
    label = int(found.labels[0 if row is None else row])
    whole = scene.view.collection
    items = whole.gallery.items[whole.gallery.labels == label][:SHOWN]
    shown = [cards.card(scene.view, item) for item in items]
    name = scene.view.images.class_name(label)
    gallery([CardSection("class", name, shown)], key="threshold pictures", on_pick=lambda *_: None)
    scene.view.link(page_frame.as_text(f"Browse images of {name}"), queries="class", **{"class": name})


page()
