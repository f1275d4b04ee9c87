"""Why two are alike, by their regions; and right or wrong by the person, with what that changes of the scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from PIL import Image

from app.components.displays import Regions, regions
from app.results import cache, cards
from app.results.pictures import thumbnail
from app.shared import background, page_frame
from app.views.browse.scene import Scene
from lab.evaluation.collection import Collection, at_k, per_query
from lab.runs import marks

if TYPE_CHECKING:
    import pandas as pd

SIDE = 480
"""Longest side of the pictures, in pixels."""
HOW = {
    True: "The colours are an exact sum: the embedding is pooled from a map of features, and each of its cells adds "
    "its share to the cosine. A cell also reflects its surroundings, which the earlier layers have mixed into it.",
    False: "This encoder's embedding is not a sum over regions, so the colours are gradients with respect to the "
    "pixels, summed along the path from a picture of the mean colour (integrated gradients).",
}
REMAINDER = {
    True: "the bias of the last layer",
    False: "the similarity of an empty picture and the error of the numerical sum",
}
SHOWN = 50
"""Queries in the table of scores."""


def alike(scene: Scene, first: int, second: int) -> None:
    """Draw both pictures with what their regions add to the similarity, or the sentence that says why not."""
    import pandas as pd

    st.subheader("Why these two are alike", anchor=False)
    try:
        found = background.if_ready(cache.alike(scene.view, first, second))
    except ValueError as error:
        st.info(page_frame.as_text(str(error)))
        return
    if found is None:
        return
    images = scene.view.images
    titles = [f"Query: {cards.named(images, first)}", f"Result: {cards.named(images, second)}"]
    drawn = []
    for at, title in enumerate(titles):
        pixels = np.zeros((1, 1, 3), np.uint8) if found.pictures is None else found.pictures[at]
        seen = Image.fromarray(pixels).resize((SIDE, SIDE), Image.Resampling.BICUBIC)  # as the encoder saw it
        drawn.append(Regions(thumbnail(seen, SIDE), title, found.maps[at].round(5).tolist(), found.words(at)))
    regions(drawn, key="regions", largest=found.largest, unit="of the cosine")
    table = pd.DataFrame({"picture": titles, "regions": [float(one.sum()) for one in found.maps]})
    table = table.assign(remainder=found.left_over, cosine=found.similarity)
    numbers = dict.fromkeys(table.columns[1:], st.column_config.NumberColumn(format="%.4f"))
    words = "The sum of each picture's regions, the remainder, and the cosine"
    st.dataframe(table, hide_index=True, width=620, column_config=numbers, alt=words)
    words = f"{HOW[found.exact]} The remainder is {REMAINDER[found.exact]}. {found.held}"
    if scene.view.whole.similarity != "cosine":
        words += " This run ranks by distance; the picture explains the cosine."
    page_frame.say(words)


def verdicts_of(scene: Scene, item: int) -> dict[int, bool]:
    """Image to whether it is right, where a person said so of the results of one query."""
    verdicts = marks.verdicts(scene.view.run.folder).get(str(scene.view.images.keys[item]), {})
    return _by_item(scene.view.whole, verdicts) if verdicts else {}


def _by_item(whole: Collection, verdicts: Mapping[str, str]) -> dict[int, bool]:
    keys = {int(item): str(whole.images.keys[item]) for item in whole.gallery.items}
    return {item: verdicts[key] == "right" for item, key in keys.items() if key in verdicts}


def judge(scene: Scene, query: int, item: int) -> None:
    """A click: against what the label says, or, of a marked image, the mark away. An image whose class is not known is
    marked right, then wrong, then not at all."""
    images, before = scene.view.images, verdicts_of(scene, query).get(item)
    verdict = {None: "right", True: "wrong", False: None}[before]
    if cards.has_class(images, query):
        verdict = "wrong" if images.labels[item] == images.labels[query] else "right"
        verdict = None if before is not None else verdict
    with page_frame.refusals(lambda why: st.toast(f"The mark could not be saved: {why}")):
        marks.judge(scene.view.run.folder, str(images.keys[query]), str(images.keys[item]), verdict)


def my_marks(scene: Scene) -> None:
    """Every judged query: its scores without and with the marks, their means, and the marks as CSV."""
    view, whole, images = scene.view, scene.view.whole, scene.view.images
    judged = marks.verdicts(view.run.folder)
    place = {str(images.keys[item]): int(item) for item in whole.query.items} if judged else {}
    here = {place[key]: _by_item(whole, verdicts) for key, verdicts in judged.items() if key in place}
    count = sum(len(judged[key]) for key in judged if key in place)
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
        st.dataframe(_table(scene, here), hide_index=True, alt="Scores of each judged query without and with marks")
        if len(here) > SHOWN:
            st.caption(f"The first {SHOWN} queries are listed, and the means are over these.")
        measured = background.if_ready(cache.measured(view))
        if measured is not None and "mAP" in measured:
            values = measured["mAP"].copy()
            for item, verdicts in here.items():
                values[whole.row(item)] = _scores(scene, item, verdicts)[0]
            before, after = np.nanmean(measured["mAP"]), np.nanmean(values)
            st.caption(f"mAP of all {len(values):,} queries: {before:.4f} without the marks, {after:.4f} with them.")
        names = dict(zip(map(str, images.keys), (images.class_names[label] for label in images.labels), strict=True))
        page_frame.offer("Marks as CSV", marks.verdicts_as_csv(judged, names), f"{view.run.name}-relevance.csv")


def _scores(scene: Scene, item: int, verdicts: Mapping[int, bool]) -> tuple[float, float]:
    """AP and recall@k of one query under some verdicts; NaN where nothing is right."""
    evidence = scene.view.whole.ask(item, verdicts=verdicts)
    return float(per_query(evidence)["mAP"][0]), at_k(evidence, scene.k)[f"recall@{scene.k}"]


def _table(scene: Scene, here: Mapping[int, Mapping[int, bool]]) -> pd.DataFrame:
    import pandas as pd

    queries, recall = list(here.items())[:SHOWN], f"recall@{scene.k}"
    values = []
    for item, verdicts in queries:
        before, after = _scores(scene, item, {}), _scores(scene, item, verdicts)
        values.append([value for pair in zip(before, after, strict=True) for value in pair])
    table = pd.DataFrame(values, columns=["AP", "AP with marks", recall, f"{recall} with marks"])
    table.loc[len(table)] = table.mean()
    table.insert(0, "query", [*(cards.named(scene.view.images, item) for item, _ in queries), "mean"])
    counts = [len(verdicts) for _, verdicts in queries]
    table.insert(1, "marks", [*counts, sum(counts)])
    return table.round(3)
