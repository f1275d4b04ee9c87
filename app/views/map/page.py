"""Map: a run's images in the plane; draw around some to list them, click one for its true neighbours."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

import lab.maps
from app import origin, served
from app.components.gallery import Card, Query, Section, gallery
from app.components.meters import Meter, meters
from app.components.scatter import Line, Points, scatter
from app.results import cache, cards, filters, run_choice
from app.results.collection import Collection
from app.results.projections import BEHIND, LAID_OUT, MOST, NEAREST, OVER_TIME, Chart, Map, Sheet
from app.shared import address, autoplay, background, page_frame
from app.views.map import colouring, pair
from lab.core.explain import explain
from lab.runs import Run

NAMES = {"pca": "PCA", "umap": "UMAP", "tsne": "t-SNE"}
ON_A_PAGE = 48
LOOK_EVERY = 1.0  # seconds between two looks at a map that is being drawn
STEP = "map step"
BEAT = 1.2  # seconds a moment stays while they play: half of it the points are on their way
NOBODY = np.zeros(0, np.int64)
LONGEST = 200  # letters of a search
FOUND = "map found"  # in the session's state: which selection and words were last looked for, and how many they found
KEPT = -1  # in the place of a step: the model that was kept and evaluated


@page_frame.page(
    "Map", "An overview in two dimensions. Neighbours always come from the full space, never from the map."
)
def show() -> None:
    run = run_choice.choose_run()
    folder = run_choice.library()[run.name]
    with st.sidebar:
        split = page_frame.choice("Split", run.splits, key="split", format=str.capitalize, link="split")
        method = page_frame.choice("Map", lab.maps.METHODS, key="map", format=NAMES.__getitem__, link="map")
        both = pair.choose(run, split)
        steps = list(folder.frames()) if split == "validation" and both is None else []
        over_time = _asks_time(steps)
        collection = cache.collection(run.name, split, run.stamp)
        fields = colouring.fields(collection.images, len(collection.gallery))
        if colouring.NEAREST in fields and not over_time and collection.judged and "mAP" in collection.columns:
            fields.insert(fields.index(colouring.NEAREST) + 1, colouring.PRECISION)
        if both is not None:
            fields = [
                pair.OVERLAP,
                *(field for field in fields if field not in (colouring.NEAREST, colouring.PRECISION)),
            ]
        field = page_frame.select("Colour", fields, key="colour", link="colour")
        k = page_frame.choice("True neighbours of a point", (5, 10, 20), key="near", link="near") if not both else 0
    if both is not None:
        pair.show(run, split, both, method, field)
        return
    of = OVER_TIME if over_time else split
    stamp = colouring.newest_frame(folder) if over_time else run.stamp
    drawn, shown_method = _map_of(run, folder, of, method, stamp)
    step = _moment(drawn) if over_time else None
    sheet = colouring.sheet(run.name, "validation" if over_time else split, stamp, step)
    address.adopt("item", int, lambda item: sheet.row(item) is not None, default=None)
    item = st.session_state.get("item")
    if sheet.row(item) is None:
        item = None
    address.publish(step=step, item=item)
    on_screen = run.name, "validation" if over_time else split, stamp, step, sheet
    large = len(sheet.whole) >= cache.MANY
    if item is not None and large and background.if_ready(colouring.prepared(*on_screen)) is None:
        item = None  # it is shown with its neighbours as soon as they can be searched
    _say(run, sheet, of, step, shown_method)
    flat, honesty = drawn.at(KEPT if step is None else step)
    with st.sidebar:
        _search(run, collection, sheet, of, stamp, step)
    lasso = _lasso(run, sheet, of)
    _draw(run, collection, sheet, flat, shown_method, of, step, stamp, field, lasso, item, k)
    _draw_honesty(honesty, NAMES[shown_method], len(sheet.rows))
    _draw_images(run, collection, sheet, flat, split, lasso, item, k)
    colouring.prepared(*on_screen)


def _asks_time(steps: list[int]) -> bool:
    """Whether the validations over time are wanted, where a run has kept them."""
    if not steps:
        return False
    if address.adopt("step", int, steps, key=STEP, default=None):  # a new address wants to see this moment, or none
        st.session_state["over time"] = st.session_state[STEP] is not None
    return st.toggle(
        "Over time", key="over time", help="The validation images after each stored validation of the training",
        persist_state="session",
    )  # fmt: skip


def _moment(drawn: Map) -> int:
    """The step on a slider over the stored validations, which can play."""
    steps = drawn.steps.tolist()
    if st.session_state.get(STEP) not in steps:
        st.session_state[STEP] = steps[-1]
    if len(steps) == 1:
        return steps[0]
    autoplay.advance(STEP, steps)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        autoplay.button(STEP, steps, BEAT)
        return st.select_slider("After step", steps, key=STEP, format_func=lambda step: f"{step:,}")


def _map_of(run: cache.RunView, folder: Run, of: str, method: str, stamp: float) -> tuple[Map, str]:
    """The map that was asked for, or PCA until it is there, and which of them it is."""
    if method not in BEHIND:
        return background.or_wait(colouring.pca(run.name, of, stamp)), method
    chart = Chart(folder, of, method)
    drawn = chart.read()
    if drawn is not None:
        return drawn, method
    progress = chart.progress
    if progress["state"] == "absent":
        progress = _begun(chart)
    if progress["state"] == "working":
        st.fragment(page_frame.guarded(_wait), run_every=LOOK_EVERY)(str(folder.path), of, method)
    else:
        page_frame.say_error(f"{NAMES[method]} could not be drawn, so PCA is shown. {progress['sentence']}")
        st.button("Try again", icon=":material/refresh:", on_click=_try_again, args=(chart,))
    return background.or_wait(colouring.pca(run.name, of, stamp)), "pca"


def _begun(chart: Chart) -> dict[str, Any]:
    """The progress of a map that begins to be drawn, or why it cannot be kept with its run."""
    try:
        chart.start()
    except OSError as error:
        return {"state": "failed", "sentence": explain(error)}
    return {"state": "working", "done": 0, "total": 1}


def _try_again(chart: Chart) -> None:
    with suppress(OSError):  # the page still says what went wrong
        chart.start()


def _wait(path: str, of: str, method: lab.maps.Method) -> None:
    chart = Chart(Run(path), of, method)
    progress = chart.progress
    if progress["state"] != "working":
        st.rerun()  # it is there, or it failed
    part = f" ({progress['done']} of {progress['total']} moments)" if progress["total"] > 1 else ""
    st.info(
        f"{NAMES[method]} is being drawn in the background{part} and kept with the run; this takes some seconds to "
        "minutes. Until then PCA is shown. You may leave this page.",
        icon=":material/hourglass_top:",
    )


def _say(run: cache.RunView, sheet: Sheet, of: str, step: int | None, method: str) -> None:
    total, count = len(sheet.whole), len(sheet.rows)
    what = f"validation after step {step:,}" if of == OVER_TIME else f"{of}, {origin.words(run.name, of)}"
    st.caption(page_frame.as_text(f"{run.summary} · {what}, {total:,} images"))
    if count < total:
        st.info(
            f"{count:,} of {total:,} images are on the map: a random sample, the same every time, that takes its share "
            f"from each class (a map shows at most {MOST:,}). Neighbours are searched among all {total:,}."
        )
    if method != "pca" and count > LAID_OUT:
        st.info(
            f"{NAMES[method]} laid out a random sample of {LAID_OUT:,} images; the other {count - LAID_OUT:,} stand "
            "beside their nearest neighbours of it."
        )


@dataclass(frozen=True)
class Lasso:
    """What is selected: key in the session's state, items int64 [s], and whether the address can hold them."""

    key: str
    items: np.ndarray
    linked: bool


def _lasso_key(run: cache.RunView, of: str) -> str:
    return f"lasso {run.name} {'validation' if of == OVER_TIME else of}"


def _search(run: cache.RunView, collection: Collection, sheet: Sheet, of: str, stamp: float, step: int | None) -> None:
    """A field for words: the images on the map that have all of them are selected, as if somebody drew around them."""
    key, split = _lasso_key(run, of), "validation" if of == OVER_TIME else of
    page_frame.keep("map words", "", lambda words: len(words) <= LONGEST, link="find")
    words = st.text_input(
        "Find on the map", key="map words", placeholder="file, class or column",
        max_chars=LONGEST, help="Selects the images whose file name, class or columns have every word.",
        persist_state="session",
    )  # fmt: skip
    if not words.strip():
        if st.session_state.pop(FOUND, None):
            _select_found(key, NOBODY)
        return
    search = (key, words)
    if st.session_state.get(FOUND, (None, 0))[0] != search:
        rows = colouring.holding(colouring.lines(run.name, split, stamp, step, collection.images, sheet), words)
        st.session_state[FOUND] = search, len(rows)
        _select_found(key, sheet.on_map.items[rows])
    if not st.session_state[FOUND][1]:
        st.caption("No image on this map has these words.")


def _select_found(key: str, items: np.ndarray) -> None:
    st.session_state[key] = items
    st.session_state.pop("selection page", None)


def _lasso(run: cache.RunView, sheet: Sheet, of: str) -> Lasso:
    key = _lasso_key(run, of)
    items = sheet.on_map.items
    address.adopt("lasso", lambda text: items[colouring.unpacked(text, len(items))], key=key, default=NOBODY)
    selected = np.isin(items, st.session_state.get(key, NOBODY))
    linked = address.tell("lasso", colouring.packed(selected) if selected.any() else None)
    return Lasso(key, items[selected], linked)


def _draw(
    run: cache.RunView,
    collection: Collection,
    sheet: Sheet,
    flat: np.ndarray,
    method: str,
    of: str,
    step: int | None,
    stamp: float,
    field: str,
    lasso: Lasso,
    item: int | None,
    k: int,
) -> None:
    on_map, images = sheet.on_map, collection.images
    selected = np.isin(on_map.items, lasso.items)
    split = "validation" if of == OVER_TIME else of
    lines, line_of = colouring.categories(run, images, split, step, stamp, field, selected)
    known, names = colouring.coded(run.name, split, stamp, step, filters.CLASS, len(on_map), images, sheet)
    neighbours = sheet.neighbours(item, k)[0] if item is not None else np.zeros(0, np.int64)
    mine = sheet.label(item) if item is not None else None
    points = Points(
        of=f"{run.name}/{split}/{run.stamp}",
        ids=on_map.items,
        flat=flat,
        names=names,
        known=known,
        categories=line_of,
        legend=lines,
        pictures=served.pictures(run.name, run.stamp),
        filters=colouring.histograms(run, images, split, step, stamp),
    )
    scatter(
        points,
        key="map drawn",
        title="Nearest neighbour in the full space" if field == colouring.NEAREST else field.capitalize(),
        alt=f"{NAMES[method]} map of {len(on_map):,} images coloured by {field}; {len(lasso.items):,} selected",
        selected=selected,
        picked=item,
        lines=[
            Line(int(other), sheet.label(int(other)) == mine, rank) for rank, other in enumerate(neighbours, start=1)
        ],
        kept=colouring.kept(points.of),
        on_select=lambda ids: _select(lasso.key, ids),
        on_pick=lambda one: _pick("", one),
    )


def _select(key: str, ids: np.ndarray) -> None:
    """Points were drawn around, so that words do not select any more."""
    _select_found(key, ids)
    st.session_state["map words"] = ""
    st.session_state.pop(FOUND, None)


def _pick(section: str, item: int) -> None:
    """A point or a card was clicked."""
    st.session_state["item"] = item


def _draw_honesty(honesty: dict[str, float], method: str, count: int) -> None:
    trust, agreement, chance = (honesty[name] for name in ("trustworthiness", "agreement", "chance"))
    if np.isnan(agreement):
        st.caption("Too few images to say how far this map can be trusted.")
        return
    times = agreement / chance
    meters(
        [
            Meter(
                f"Neighbour agreement of this {method} map",
                agreement,
                f"Of the {NEAREST} nearest points on the map, {agreement:.0%} are among the {NEAREST} nearest in the "
                f"full space: {times:.0f} times what a random map would reach. "
                + ("Do not read neighbourhoods off it; click a point instead." if agreement < 0.5 else ""),
                against=chance,
                against_title="chance",
            ),
            Meter(
                "Trustworthiness",
                trust,
                f"How close false neighbours on the map truly are: 1 is perfect, a random map has "
                f"about 0.5. {_trust(trust)}",
                against=0.5,
                against_title="random map",
            ),
        ],
        key="honesty",
    )


def _trust(value: float) -> str:
    if value >= 0.95:
        return "Points that are close here are mostly close in the full space."
    return "Coarse groups hold, details do not." if value >= 0.8 else "Even coarse groups may be an artefact."


def _draw_images(
    run: cache.RunView,
    collection: Collection,
    sheet: Sheet,
    flat: np.ndarray,
    split: str,
    lasso: Lasso,
    item: int | None,
    k: int,
) -> None:
    sections: list[Section] = []
    if item is not None:
        sections.append(_neighbours(run, collection, sheet, item, k))
    if len(lasso.items):
        sections.append(_selection(run, collection, lasso, item))
    if not sections:
        st.info("Draw around points to list their images here, or click a point to see its true neighbours.")
        return
    st.space("small")
    gallery(
        sections,
        key="map images",
        on_pick=_pick,
        query=_picked(run, collection, sheet, flat, item, k) if item is not None else None,
    )
    pages = _pages(lasso)
    with st.container(horizontal=True, horizontal_alignment="distribute"):
        if item is not None:
            _links(run, collection, split, item)
        if pages > 1:
            st.pagination(pages, key="selection page")
    if len(lasso.items):
        _table(run, collection, lasso)


ROWS = 10_000
"""Rows of the table at most."""


def _table(run: cache.RunView, collection: Collection, lasso: Lasso) -> None:
    """What is selected as a table, for keyboard and screen reader."""
    with page_frame.fold("The selection as a table", link="table"):
        if not page_frame.is_open("table"):
            return
        items = lasso.items[:ROWS]
        images = collection.images
        columns = {name: filters.column(images, name, items) for name in filters.fields(images)}
        st.dataframe({"image": items, "file": [images.keys[item] for item in items], **columns}, hide_index=True)
        if len(lasso.items) > ROWS:
            st.caption(f"The first {ROWS:,} of {len(lasso.items):,}.")


def _links(run: cache.RunView, collection: Collection, split: str, item: int) -> None:
    about = {"run": run.name, "split": split, "query": str(item)}
    with st.container(horizontal=True, width="content"):
        if collection.row(item) is not None:
            st.page_link("views/browse/page.py", label="Browse", icon=":material/image_search:", query_params=about)
            st.page_link(
                "views/inspect/page.py", label="Inspect", icon=":material/troubleshoot:",
                query_params={**about, "batch": "query"},
            )  # fmt: skip
        st.button("Deselect", icon=":material/close:", on_click=lambda: st.session_state.pop("item", None))


def _neighbours(run: cache.RunView, collection: Collection, sheet: Sheet, item: int, k: int) -> Section:
    others, scores = sheet.neighbours(item, k)
    mine, known = sheet.label(item), cards.has_class(collection, item)
    near = [
        replace(
            _card(run, collection, int(other)),
            rank=rank,
            right=sheet.label(int(other)) == mine if known else None,
            value=f"{score:.3f}",
        )
        for rank, (other, score) in enumerate(zip(others, scores, strict=True), start=1)
    ]
    note = f"in the full space, by {sheet.similarity}; lines lead to them on the map"
    return Section("neighbours", f"The {len(near)} true neighbours", near, note)


def _pages(lasso: Lasso) -> int:
    return -(-len(lasso.items) // ON_A_PAGE)


def _selection(run: cache.RunView, collection: Collection, lasso: Lasso, item: int | None) -> Section:
    lassoed, pages = lasso.items, _pages(lasso)
    order = np.argsort(collection.images.labels[lassoed], kind="stable")
    page_frame.keep("selection page", 1, range(1, pages + 1), link="page")
    page = st.session_state["selection page"] - 1
    start, stop = page * ON_A_PAGE, min((page + 1) * ON_A_PAGE, len(lassoed))
    lassoed_cards = [_card(run, collection, int(one)) for one in lassoed[order][start:stop]]
    classes = len(np.unique(collection.images.labels[lassoed]))
    part = f", {start + 1:,} to {stop:,} shown" if pages > 1 else ""
    note = f"{len(lassoed):,} image{'s' if len(lassoed) > 1 else ''} of {classes:,} classes, by class{part}"
    note += "" if lasso.linked else "; too many to be kept in the link"
    return Section("selection", "Selected on the map", lassoed_cards, note, current=item)


def _card(run: cache.RunView, collection: Collection, item: int) -> Card:
    return cards.plain(run, collection, item)


def _picked(run: cache.RunView, collection: Collection, sheet: Sheet, flat: np.ndarray, item: int, k: int) -> Query:
    others, _ = sheet.neighbours(item, k)
    same = sum(sheet.label(int(other)) == sheet.label(item) for other in others)
    known = cards.has_class(collection, item)
    facts = [("same class", f"{same} of {len(others)}", "of its true neighbours")] if known else []
    at = np.flatnonzero(sheet.on_map.items == item)
    if len(at):
        far = sum((side - side[at[0]]) ** 2 for side in flat.T)  # twenty times as fast as along the short axis
        far[at[0]] = np.inf
        nearest = np.argpartition(far, k)[:k] if k < len(far) else np.argsort(far)
        near = sheet.on_map.items[nearest]
        kept = int(np.isin(near, others).sum())
        facts.append(("kept by the map", f"{kept} of {len(near)}", "of the nearest on the map are true neighbours"))
    else:
        facts.append(("on the map", "no", "it is not in the sample that is shown"))
    return cards.query(run, collection, item, facts)


show()
