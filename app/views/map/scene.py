"""What the Map page is about, what it keeps between two clicks, and what of that stands in its address."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

import lab.runs
from app.components.gallery import Card
from app.components.scatter import KEPT, MapLine
from app.results import cache, cards
from app.results.cache import SplitView
from app.shared import address, background
from lab.maps import kept, of_run
from lab.maps.of_run import Map, Sheet
from lab.runs import Run

LONGEST = 500
"""Characters of one thing that the browser keeps in the address."""
NOBODY = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Scene:
    """What the page shows: the images of `sheet` at the places `flat`, float32 [n 2].

    stamp: changes when the embeddings do. step: of the stored validation on screen; None for the run as it was
    evaluated. method: that the map was drawn by. field: that colours it. item: the clicked image. k: its neighbours.
    """

    view: SplitView
    stamp: float
    step: int | None
    sheet: Sheet
    flat: np.ndarray
    method: str
    field: str
    item: int | None
    k: int

    @property
    def key(self) -> tuple[str, str, float, int | None]:
        """Tells the embeddings on screen from all others."""
        return self.view.run.name, self.view.split, self.stamp, self.step

    @property
    def lasso_key(self) -> str:
        """Where the selected images stand in the session's state."""
        return f"lasso {self.view.run.name} {self.view.split}"


@st.cache_resource(max_entries=24, show_spinner="Reading the embeddings ...")
def sheet(name: str, split: str, stamp: float, step: int | None = None) -> Sheet:
    """The images of a split, or the validation images after a step, and which of them are shown."""
    whole = cache.collection(name, split, stamp) if step is None else None
    known = () if whole is None else (whole.query, whole.gallery)
    return of_run.sheet(lab.runs.open(cache.run_path(name)), split, step, known)


@background.job("Laying out the map", keep=8)
def pca(name: str, split: str, stamp: float) -> Map:
    """The PCA map of a split, or of the validations over time."""
    return kept.pca_map(lab.runs.open(cache.run_path(name)), split)


@background.job("Building the index of all images", keep=2)
def prepared(name: str, split: str, stamp: float, step: int | None, _sheet: Sheet) -> bool:
    """Have the index of the full space at hand, so that the first click does not wait for it."""
    return _sheet.prepare()


def newest_frame(run: Run) -> float:
    """When the stored validations last changed; 0 without any."""
    return max((path.stat().st_mtime for path in run.frames().values()), default=0.0)


def kept_in_address(of: str) -> dict[str, str]:
    """How the browser showed these points when it last wrote into the address. of: that of `MapPoints`."""
    words = {}
    for name in KEPT:
        key = f"{name} of {of}"
        address.adopt(name, str, lambda text: len(text) <= LONGEST, key=key, default="")
        words[name] = st.session_state.get(key, "")
        address.tell(name, words[name], "")
    return words


def adopt_item(known: Callable[[int], bool]) -> int | None:
    """The clicked image, if it is a known one."""
    return address.follow("item", int, known)


def adopt_lasso(key: str, items: np.ndarray) -> tuple[np.ndarray, bool]:
    """Which of the images int64 [n] are selected, bool [n], and whether the address can hold them."""
    address.adopt("lasso", lambda text: items[unpacked(text, len(items))], key=key, default=NOBODY)
    selected = np.isin(items, st.session_state.get(key, NOBODY))
    return selected, address.tell("lasso", packed(selected) if selected.any() else None)


def packed(selected: np.ndarray) -> str:
    """Which points are selected, bool [n], in few characters, above all where it comes in long runs."""
    return base64.urlsafe_b64encode(zlib.compress(np.packbits(selected).tobytes(), 9)).decode().rstrip("=")


def unpacked(text: str, count: int) -> np.ndarray:
    """The bool [n] of `packed`.

    Raises:
        ValueError: the text is none of its, or of another number of points.
    """
    room = -(-count // 8)
    try:
        data = zlib.decompressobj().decompress(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), room + 1)
    except zlib.error:
        raise ValueError("This is not a valid selection.") from None
    if len(data) != room:
        raise ValueError("This selection is of another map.")
    return np.unpackbits(np.frombuffer(data, np.uint8), count=count).astype(bool)


def pick(item: int) -> None:
    """A point or a card was clicked."""
    st.session_state["item"] = item


def neighbours(
    view: SplitView, item: int, others: np.ndarray, right: np.ndarray, values: Sequence[str] = ()
) -> list[Card]:
    """Cards of the nearest others int64 [k] of an image. right: bool [k], whether each is of its class, as far as that
    is known. values: what each card says."""
    known, values = cards.has_class(view.images, item), values or [""] * len(others)
    return [
        cards.card(view, other, rank=rank, right=bool(same) if known else None, value=value)
        for rank, (other, same, value) in enumerate(zip(others, right, values, strict=True), 1)
    ]


def links_to(others: np.ndarray, right: np.ndarray) -> list[MapLine]:
    """The lines to the nearest others int64 [k] of the clicked point."""
    return [
        MapLine(other, same, rank)
        for rank, (other, same) in enumerate(zip(others.tolist(), right.tolist(), strict=True), 1)
    ]


def deselect() -> None:
    """The button that forgets the clicked image."""
    st.button("Deselect", icon=":material/close:", on_click=lambda: st.session_state.pop("item", None))
