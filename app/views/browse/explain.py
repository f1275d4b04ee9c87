"""Why two are alike, by their regions."""

import numpy as np
import streamlit as st
from PIL import Image

from app.components.displays import Regions, regions
from app.results import cache, cards
from app.results.pictures import thumbnail
from app.shared import background, page_frame
from app.views.browse.scene import Scene

SIDE = 440
"""Longest side of the pictures, in pixels: they are drawn at half of it, sharp on fine screens."""
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


def alike(scene: Scene, first: int, second: int) -> None:
    """Draw both pictures with what their regions add to the similarity, or the sentence that says why not."""
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
    words = f"{found.summary} {HOW[found.exact]} The remainder is {REMAINDER[found.exact]}."
    if found.matches:
        words += " Lines join the regions whose pairs add most to the cosine."
    if scene.view.whole.similarity != "cosine":
        words += " This run ranks by distance; the picture explains the cosine."
    title = f"Why these two are alike: cosine {found.similarity:.3f}"
    look: dict[str, str | float] = {"largest": found.largest, "unit": "of the cosine", "title": title, "how": words}
    regions(drawn, found.matches, key="regions", **look)
