"""Threshold: choose the similarity above which images have the same class; see its error rates and worst classes."""

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

# Session key of the threshold.
LINE = "threshold line"
# False accept rate of the first threshold. With few negative pairs it is the smallest measurable rate.
FAR = 0.01
# Number of positions of the line.
STOPS = 400
# Pictures of a class.
SHOWN = 12
# Option for all classes in the choice of a class.
ALL = ""


@dataclass(frozen=True)
class ThresholdScene:
    """What the Threshold page shows: the pairs of a split. column: index of the threshold."""

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
    page_frame.say(
        f"{view.run.summary} · {view.split}, {len(view.collection.query):,} queries · {view.provenance}"
    )
    run_choice.need_classes(view)
    pairs = background.or_wait(cache.all_pairs(view))
    far = max(FAR, 1 / int(pairs.counts.other[:, 0].sum()))
    thresholds = pairs.counts.thresholds
    start = float(thresholds[pairs.let_through(far)])

    def is_legal(value: float) -> bool:
        return bool(thresholds[1] <= value <= thresholds[-1])

    value = address.load_and_store("at", float, is_legal, key=LINE, default=round(start, 4))
    scene = ThresholdScene(view, pairs, pairs.column(value))
    _draw_histogram(scene)
    _draw_rates(scene)
    _draw_storing(scene)
    _draw_classes(scene)


def _draw_histogram(scene: ThresholdScene) -> None:
    """Draw the similarities of the pairs of all classes, or of one class, with the threshold as a line."""

    def move(value: float) -> None:
        st.session_state[LINE] = round(value, 4)

    pairs = scene.pairs
    names = {ALL: "all classes"}
    for label in np.unique(pairs.labels).tolist():
        names[str(label)] = scene.view.images.class_name(label)
    chosen = page_frame.select("Pairs of", names, key="threshold class", link="class", width=320)
    rows = pairs.of_class(int(chosen)) if chosen else pairs
    edges, same, other = rows.histogram()

    # The line can be at some thresholds of the drawn range, and at the current one.
    thresholds = pairs.counts.thresholds
    inside = np.flatnonzero((thresholds >= edges[0]) & (thresholds <= edges[-1]))
    stops = np.union1d(inside[:: max(1, len(inside) // STOPS)], [scene.column, inside[-1]])
    unit = (
        "cosine similarity"
        if pairs.similarity == "cosine"
        else "similarity: minus the squared distance"
    )
    same_peak = f"{edges[same.argmax()]:.2f}"
    other_peak = f"{edges[other.argmax()]:.2f}"
    threshold(
        thresholds[stops].tolist(),
        key="threshold",
        on_move=move,
        edges=edges.tolist(),
        same=same.tolist(),
        other=other.tolist(),
        far=rows.counts.far[stops].tolist(),
        frr=[None if np.isnan(rate) else float(rate) for rate in rows.counts.frr[stops]],
        value=scene.value,
        title=f"Similarities of pairs with queries of {names[chosen]}",
        unit=unit,
        alt=f"Most pairs of the same class are at {same_peak}, most pairs of different classes at {other_peak}.",
    )


def _draw_rates(scene: ThresholdScene) -> None:
    """Draw every rate at the threshold with its confidence interval."""
    pairs = scene.pairs
    rates = background.or_wait(cache.rates(scene.view, scene.column, pairs))
    table = {
        "rate": list(RATES),
        "value": [rates[name].value for name in RATES],
        "low": [rates[name].low for name in RATES],
        "high": [rates[name].high for name in RATES],
        "what it counts": list(RATES.values()),
    }
    percent = st.column_config.NumberColumn(format="percent")
    config: dict[str, Any] = {"value": percent, "low": percent, "high": percent}
    st.dataframe(table, alt="Rates at the threshold", hide_index=True, column_config=config)

    # How many pairs were compared, and what a similarity at the threshold means.
    queries = f"{len(pairs.labels):,} queries"
    if pairs.of > len(pairs.labels):
        queries += f", sampled from {pairs.of:,}"
    probability = float(np.interp(scene.value, *pairs.probability()))
    st.caption(
        f"low and high: {INTERVALS}. {queries}; {int(pairs.counts.same[:, 0].sum()):,} pairs of the same class and "
        f"{int(pairs.counts.other[:, 0].sum()):,} of different classes. At this similarity a pair has the same class "
        f"with probability {probability:.0%}, if pairs are mixed as here (isotonic regression)."
    )
    if any(np.isnan(rate.low) for rate in rates.values()):
        st.caption(TOO_FEW)


def _draw_storing(scene: ThresholdScene) -> None:
    """Draw the button that stores the threshold with the run, and the stored threshold."""
    run = scene.view.run.folder
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button("Keep this threshold", type="primary", icon=":material/save:"):
            with page_frame.refusals():
                lab.threshold.save(run, scene.pairs, scene.column)
        with page_frame.refusals(st.caption):
            stored = lab.threshold.stored(run)
            page_frame.say(
                f"Kept with {run.name}: {stored.words}. Below it Browse and `lab query --unknown` say unknown."
            )


def _draw_classes(scene: ThresholdScene) -> None:
    """Draw the classes with the lowest utility, and pictures of the chosen class."""
    classes = scene.pairs.classes(scene.column)
    st.subheader("Classes that this threshold serves worst", anchor=False)
    st.caption(
        "Utility: harmonic mean of the rate of a class's pairs that are accepted and the rate of its pairs with other "
        f"classes that are rejected. Its variation over classes is OPIS, {scene.pairs.opis:.4f} here: 0 if one "
        "threshold serves all classes equally. Select a row to see the class."
    )
    table = {
        "class": [scene.view.images.class_name(label) for label in classes.labels],
        "utility": classes.utility,
        "false accepts": classes.false_accepts,
        "false rejects": classes.false_rejects,
    }
    percent = st.column_config.NumberColumn(format="percent")
    row = page_frame.choose_row(
        table,
        key=f"threshold classes {scene.view.run.name} {scene.view.split}",
        column_config={"utility": percent, "false accepts": percent, "false rejects": percent},
        alt="Classes by how well the threshold serves them, the worst first",
    )

    # Pictures of the selected class, or of the worst.
    label = int(classes.labels[row or 0])
    gallery_set = scene.view.collection.gallery
    items = gallery_set.items[gallery_set.labels == label][:SHOWN]
    shown = [cards.card(scene.view, item) for item in items]
    name = scene.view.images.class_name(label)
    gallery([CardSection("class", name, shown)], key="threshold pictures", on_pick=lambda *_: None)
    scene.view.link(
        page_frame.as_text(f"Browse images of {name}"), queries="class", **{"class": name}
    )


page()
