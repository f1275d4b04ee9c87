"""Right or wrong by the person: verdicts on the results of queries, and what they change of the scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

import lab.runs
from app.results import cache, cards
from app.results.cache import RunView
from app.results.collection import Collection, at_k, per_query
from app.shared import background, page_frame
from lab.core.explain import explain
from lab.runs import marks

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 50
"""Queries in the table of scores."""

Verdicts = Mapping[int, bool]
"""Image to whether it is right for a query."""


def of_query(run: RunView, whole: Collection, item: int) -> dict[int, bool]:
    """What a person said of the results of one query."""
    verdicts = marks.verdicts(lab.runs.open(cache.run_path(run.name))).get(str(whole.images.keys[item]), {})
    return _by_item(whole, verdicts) if verdicts else {}


def _by_item(whole: Collection, verdicts: Mapping[str, str]) -> dict[int, bool]:
    keys = whole.images.keys
    return {
        int(item): verdicts[str(keys[item])] == "right" for item in whole.gallery.items if str(keys[item]) in verdicts
    }


def turn(run: RunView, whole: Collection, query: int, item: int) -> None:
    """A click: against what the label says, or, of a marked image, the mark away. An image whose class is not known is
    marked right, then wrong, then not at all."""
    before, keys = of_query(run, whole, query).get(item), whole.images.keys
    verdict: str | None
    if cards.has_class(whole, query):
        verdict = "wrong" if whole.images.labels[item] == whole.images.labels[query] else "right"
        verdict = None if before is not None else verdict
    else:
        verdict = {None: "right", True: "wrong", False: None}[before]
    try:
        marks.judge(lab.runs.open(cache.run_path(run.name)), str(keys[query]), str(keys[item]), verdict)
    except (ValueError, OSError) as error:
        st.toast(page_frame.as_text(f"The mark could not be saved: {explain(error)}"))


def panel(run: RunView, split: str, whole: Collection, k: int) -> None:
    """Every judged query: its scores without and with the marks, their means, and the marks as CSV."""
    judged = marks.verdicts(lab.runs.open(cache.run_path(run.name)))
    place = {str(whole.images.keys[item]): int(item) for item in whole.query.items} if judged else {}
    here = {place[key]: verdicts for key, verdicts in judged.items() if key in place}
    count = sum(map(len, here.values()))
    title = f"My marks: {count:,} on {len(here):,} quer{'y' if len(here) == 1 else 'ies'}" if here else "My marks"
    with page_frame.fold(title, link="my-marks", icon=":material/rule:"):
        if not page_frame.is_open("my-marks"):
            return
        if not here:
            st.caption(
                "Nothing in this split is marked yet. Choose “Mark it right or wrong” above and click a result: it "
                "then counts as the opposite of what its label says. A second click removes the mark."
            )
            return
        st.dataframe(_table(whole, here, k), hide_index=True, alt="Scores of each judged query without and with marks")
        if len(here) > SHOWN:
            st.caption(f"The first {SHOWN} queries are listed, and the means are over these.")
        _overall(run, split, whole, here)
        labels = zip(whole.images.keys, whole.images.labels.tolist(), strict=True)
        names = {str(key): str(whole.images.class_names[label]) for key, label in labels}
        st.download_button(
            "Marks as CSV", marks.verdicts_as_csv(judged, names), f"{run.name}-relevance.csv", "text/csv",
            icon=":material/download:", on_click="ignore",
        )  # fmt: skip


def scores(whole: Collection, item: int, verdicts: Verdicts, k: int) -> tuple[float, float]:
    """AP and recall@k of one query under some verdicts; NaN where nothing is right."""
    evidence = whole.ask(item, verdicts=verdicts)
    return float(per_query(evidence)["mAP"][0]), at_k(evidence, k)[f"recall@{k}"]


def _table(whole: Collection, here: Mapping[int, Mapping[str, str]], k: int) -> pd.DataFrame:
    import pandas as pd

    queries, values = list(here.items())[:SHOWN], []
    for item, verdicts in queries:
        before, after = scores(whole, item, {}, k), scores(whole, item, _by_item(whole, verdicts), k)
        values.append([value for pair in zip(before, after, strict=True) for value in pair])
    table = pd.DataFrame(values, columns=["AP", "AP with marks", f"recall@{k}", f"recall@{k} with marks"])
    table.loc[len(table)] = table.mean()
    table.insert(0, "query", [*(cards.class_name(whole, item) for item, _ in queries), "mean"])
    counts = [len(verdicts) for _, verdicts in queries]
    table.insert(1, "marks", [*counts, sum(counts)])
    return table.round(3)


def _overall(run: RunView, split: str, whole: Collection, here: Mapping[int, Mapping[str, str]]) -> None:
    measured = background.if_ready(cache.measured("", run.name, split, run.stamp, whole))
    if measured is None or "mAP" not in measured:
        return
    values = measured["mAP"].copy()
    before = np.nanmean(values)
    for item, verdicts in here.items():
        values[whole.row(item)] = scores(whole, item, _by_item(whole, verdicts), 1)[0]
    st.caption(
        f"mAP of all {len(values):,} queries: {before:.4f} without the marks, {np.nanmean(values):.4f} with them."
    )
