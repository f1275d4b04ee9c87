"""Why two are alike: the query and one of its results, with what their regions add to the similarity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from PIL import Image

from app.components.regions import Regions, regions
from app.results import cache, cards
from app.results.cache import RunView
from app.results.collection import Collection
from app.results.thumbnails import thumbnail
from app.shared import background, page_frame
from lab.inspect import AlikeRegions

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


def panel(run: RunView, split: str, whole: Collection, first: int, second: int) -> None:
    """Draw both pictures, or the sentence that says why there is nothing to draw."""
    names = [cards.class_name(whole, item) for item in (first, second)]
    st.subheader("Why these two are alike", anchor=False)
    try:
        explanation = background.if_ready(cache.alike(run.name, split, run.stamp, first, second, whole.images))
    except ValueError as error:
        st.info(page_frame.as_text(str(error)))
        return
    if explanation is None:
        return
    titles = f"Query: {names[0]}", f"Result: {names[1]}"
    drawn = [
        Regions(_source(explanation, at), titles[at], explanation.maps[at].round(5).tolist(), explanation.words(at))
        for at in (0, 1)
    ]
    regions(drawn, key="regions", largest=explanation.largest, unit="of the cosine")
    st.dataframe(
        _sums(explanation, titles), hide_index=True, width=620,
        column_config={
            name: st.column_config.NumberColumn(format="%.4f") for name in ("regions", "remainder", "cosine")
        },
        alt="The sum of each picture's regions, the remainder, and the cosine",
    )  # fmt: skip
    rest = (
        "the bias of the last layer"
        if explanation.exact
        else "the similarity of an empty picture and the error of the numerical sum"
    )
    words = f"{HOW[explanation.exact]} The remainder is {rest}. {explanation.held}"
    if whole.similarity != "cosine":
        words += " This run ranks by distance; the picture explains the cosine."
    st.caption(page_frame.as_text(words))


def _sums(explanation: AlikeRegions, titles: tuple[str, str]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        {
            "picture": list(titles),
            "regions": [float(one.sum()) for one in explanation.maps],
            "remainder": list(explanation.left_over),
            "cosine": [explanation.similarity] * 2,
        }
    )


def _source(explanation: AlikeRegions, which: int) -> str:
    """The picture as the encoder saw it, which small ones are enlarged from."""
    pixels = np.zeros((1, 1, 3), np.uint8) if explanation.pictures is None else explanation.pictures[which]
    seen = Image.fromarray(pixels)
    return thumbnail(seen.resize((SIDE, SIDE), Image.Resampling.BICUBIC), SIDE)
