"""Map: a run's images in the plane; draw around some to list them, click one for its true neighbours."""

from __future__ import annotations

import numpy as np
import streamlit as st

import lab.maps
from app import served
from app.components.displays import Meter, meters
from app.components.gallery import CardSection, Query, gallery
from app.components.scatter import MapPoints, scatter
from app.results import cache, cards, run_choice, text_search
from app.shared import address, autoplay, background, page_frame
from app.views.map import colouring, pair
from app.views.map import scene as scenes
from app.views.map.scene import NOBODY, Scene
from lab.core.explain import explain
from lab.evaluation import filters
from lab.maps.kept import Chart
from lab.maps.of_run import BEHIND, LAID_OUT, MOST, NEAREST, OVER_TIME, Map
from lab.runs import Run

NAMES = {"pca": "PCA", "umap": "UMAP", "tsne": "t-SNE"}
ON_A_PAGE = 48
LOOK_EVERY = 1.0  # seconds between two looks at a map that is being drawn
STEP = "map step"
BEAT = 1.2  # seconds a moment stays while they play: half of it the points are on their way
LONGEST = 200  # letters of a search
FOUND = "map found"  # in the session's state: which selection and words were last looked for, and how many they found
KEPT = -1  # in the place of a step: the model that was kept and evaluated
ROWS = 10_000  # of the table at most


@page_frame.page(
    "Map", "An overview in two dimensions. Neighbours always come from the full space, never from the map."
)
def show() -> None:
    view = run_choice.choose_split(run_choice.choose_run())
    split, folder = view.split, view.run.folder
    with st.sidebar:
        method = page_frame.choice("Map", NAMES, key="map", link="map")
        both = pair.choose(view)
        over_time = both is None and split == "validation" and _asks_time(list(folder.frames()))
        fields = colouring.fields(view.whole, len(view.whole.gallery), over_time)
        if both is not None:
            left_out = (colouring.NEAREST, colouring.PRECISION)
            fields = [pair.OVERLAP, *(field for field in fields if field not in left_out)]
        field = page_frame.select("Colour", fields, key="colour", link="colour")
        k = page_frame.choice("True neighbours of a point", (5, 10, 20), key="near", link="near") if not both else 0
    if both is not None:
        pair.show(view, both, method, field)
        return
    stamp = scenes.newest_frame(folder) if over_time else view.run.stamp
    drawn, shown_method = _map_of(folder, OVER_TIME if over_time else split, method, stamp)
    step = _moment(drawn) if over_time else None
    sheet = scenes.sheet(folder.name, split, stamp, step)
    address.tell("step", step)
    item = scenes.adopt_item(lambda one: sheet.row(one) is not None)
    key = (folder.name, split, stamp, step, sheet)
    if item is not None and len(sheet.whole) >= cache.MANY and background.if_ready(scenes.prepared(*key)) is None:
        item = None  # it is shown with its neighbours as soon as they can be searched
    flat, honesty = drawn.at(KEPT if step is None else step)
    scene = Scene(view, stamp, step, sheet, flat, shown_method, field, item, k)
    _say(scene)
    with st.sidebar:
        _search(scene)
    selected, linked = scenes.adopt_lasso(scene.lasso_key, sheet.on_map.items)
    _draw(scene, selected)
    _draw_honesty(honesty, NAMES[shown_method])
    _draw_images(scene, sheet.on_map.items[selected], linked)
    scenes.prepared(*key)


def _asks_time(steps: list[int]) -> bool:
    """Whether the validations over time are to be shown, where a run has kept them."""
    if not steps:
        return False
    if address.adopt("step", int, steps, key=STEP, default=None):  # a new address wants to see this moment, or none
        st.session_state["over time"] = st.session_state[STEP] is not None
    help = "The validation images after each stored validation of the training"
    return page_frame.toggle("Over time", key="over time", help=help)


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


def _map_of(folder: Run, of: str, method: lab.maps.Method, stamp: float) -> tuple[Map, str]:
    """The map that was asked for, or PCA until it is there, and which of them it is."""
    if method in BEHIND:
        chart = Chart(folder, of, method)
        drawn = chart.read()
        if drawn is not None:
            return drawn, method
        progress = chart.progress
        if progress["state"] == "absent":
            try:
                chart.start()
                progress = {"state": "working"}
            except OSError as error:
                progress = {"state": "failed", "sentence": explain(error)}
        if progress["state"] == "working":
            st.fragment(page_frame.guarded(_wait), run_every=LOOK_EVERY)(chart)
        else:
            page_frame.say_error(f"{NAMES[method]} could not be drawn, so PCA is shown. {progress['sentence']}")
            again = page_frame.guarded(chart.start)
            st.button("Try again", icon=":material/refresh:", on_click=again)
    return background.or_wait(scenes.pca(folder.name, of, stamp)), "pca"


def _wait(chart: Chart) -> None:
    progress = chart.progress
    if progress["state"] != "working":
        st.rerun()  # it is there, or it failed
    part = f" ({progress['done']} of {progress['total']} moments)" if progress["total"] > 1 else ""
    st.info(
        f"{NAMES[chart.method]} is being drawn in the background{part} and kept with the run; this takes some seconds "
        "to minutes. Until then PCA is shown. You may leave this page.",
        icon=":material/hourglass_top:",
    )


def _say(scene: Scene) -> None:
    view, total, count = scene.view, len(scene.sheet.whole), len(scene.sheet.rows)
    what = f"{view.split}, {view.provenance}" if scene.step is None else f"validation after step {scene.step:,}"
    page_frame.say(f"{view.run.summary} · {what}, {total:,} images")
    if count < total:
        st.info(
            f"{count:,} of {total:,} images are on the map: a random sample, the same every time, that takes its share "
            f"from each class (a map shows at most {MOST:,}). Neighbours are searched among all {total:,}."
        )
    if scene.method != "pca" and count > LAID_OUT:
        st.info(
            f"{NAMES[scene.method]} laid out a random sample of {LAID_OUT:,} images; the other {count - LAID_OUT:,} "
            "stand beside their nearest neighbours of it."
        )


def _search(scene: Scene) -> None:
    """A field for words: the images on the map that have all of them are selected, as if somebody drew around them."""
    look = {"placeholder": "file, class or column"}
    look["help"] = "Selects the images whose file name, class or columns have every word."
    words = page_frame.text("Find on the map", key="map words", most=LONGEST, link="find", **look)
    if not words.strip():
        if st.session_state.pop(FOUND, None):
            _select_found(scene.lasso_key, NOBODY)
        return
    search = (scene.lasso_key, words)
    if st.session_state.get(FOUND, (None, 0))[0] != search:
        lines = colouring.lines(*scene.key, scene.view.images, scene.sheet)
        rows = text_search.holding(lines, words)
        st.session_state[FOUND] = search, len(rows)
        _select_found(scene.lasso_key, scene.sheet.on_map.items[rows])
    if not st.session_state[FOUND][1]:
        st.caption("No image on this map has these words.")


def _select_found(key: str, items: np.ndarray) -> None:
    st.session_state[key] = items
    st.session_state.pop("selection page", None)


def _draw(scene: Scene, selected: np.ndarray) -> None:
    on_map, item, (name, split, stamp) = scene.sheet.on_map, scene.item, scene.view.key
    legend, line_of = colouring.categories(scene, selected)
    known, names = colouring.coded_by(scene, filters.CLASS)
    of, pictures, histograms = f"{name}/{split}/{stamp}", served.pictures(name, stamp), colouring.histograms(scene)
    points = MapPoints(of, on_map.items, scene.flat, names, known, line_of, legend, pictures, histograms)
    nearest = scene.field == colouring.NEAREST
    scatter(
        points,
        key="map drawn",
        title="Nearest neighbour in the full space" if nearest else scene.field.capitalize(),
        alt=f"{NAMES[scene.method]} map of {len(on_map):,} images coloured by {scene.field}; {selected.sum():,} "
        "selected",
        selected=selected,
        picked=item,
        lines=[] if item is None else scenes.links_to(*_near(scene, item)),
        kept=scenes.kept_in_address(points.of),
        on_select=lambda ids: _select(scene.lasso_key, ids),
        on_pick=scenes.pick,
    )


def _near(scene: Scene, item: int) -> tuple[np.ndarray, np.ndarray]:
    """The true neighbours of an image, int64 [k], and which of them are of its class."""
    others, sheet = scene.sheet.neighbours(item, scene.k)[0], scene.sheet
    return others, np.array([sheet.label(other) == sheet.label(item) for other in others.tolist()], bool)


def _select(key: str, ids: np.ndarray) -> None:
    """Points were drawn around, so that words do not select any more."""
    _select_found(key, ids)
    st.session_state["map words"] = ""
    st.session_state.pop(FOUND, None)


def _draw_honesty(honesty: dict[str, float], method: str) -> None:
    trust, agreement, chance = (honesty[name] for name in ("trustworthiness", "agreement", "chance"))
    if np.isnan(agreement):
        st.caption("Too few images to say how far this map can be trusted.")
        return
    rely = "Even coarse groups may be an artefact."
    if trust >= 0.8:
        rely = "Coarse groups hold, details do not."
    if trust >= 0.95:
        rely = "Points that are close here are mostly close in the full space."
    kept = (
        f"Of the {NEAREST} nearest points on the map, {agreement:.0%} are among the {NEAREST} nearest in the full "
        f"space: {agreement / chance:.0f} times what a random map would reach. "
    )
    kept += "Do not read neighbourhoods off it; click a point instead." if agreement < 0.5 else ""
    true = f"How close false neighbours on the map truly are: 1 is perfect, a random map has about 0.5. {rely}"
    agreeing = Meter(f"Neighbour agreement of this {method} map", agreement, kept, chance, "chance")
    meters([agreeing, Meter("Trustworthiness", trust, true, 0.5, "random map")], key="honesty")


def _draw_images(scene: Scene, chosen: np.ndarray, linked: bool) -> None:
    """The clicked image with its neighbours, and those that are selected, int64 [s]."""
    item, sections = scene.item, [] if scene.item is None else [_neighbours(scene, scene.item)]
    if len(chosen):
        sections.append(_selection(scene, chosen, linked))
    if not sections:
        st.info("Draw around points to list their images here, or click a point to see its true neighbours.")
        return
    st.space("small")
    panel = _picked(scene, item) if item is not None else None
    gallery(sections, key="map images", on_pick=lambda _, one: scenes.pick(one), query=panel)
    with st.container(horizontal=True, horizontal_alignment="distribute"):
        if item is not None:
            with st.container(horizontal=True, width="content"):
                if scene.view.whole.row(item) is not None:
                    scene.view.link("Browse", query=str(item))
                    scene.view.link("Inspect", "inspect", query=str(item), batch="query")
                scenes.deselect()
        page_frame.turn("selection page", len(chosen), ON_A_PAGE)
    if len(chosen):
        _table(scene, chosen)


def _table(scene: Scene, chosen: np.ndarray) -> None:
    """What is selected as a table, for keyboard and screen reader."""
    with page_frame.fold("The selection as a table", link="table"):
        if not page_frame.is_open("table"):
            return
        items, images = chosen[:ROWS], scene.view.images
        columns = {name: filters.column(images, name, items) for name in filters.fields(images)}
        st.dataframe({"image": items, "file": [images.keys[item] for item in items], **columns}, hide_index=True)
        if len(chosen) > ROWS:
            st.caption(f"The first {ROWS:,} of {len(chosen):,}.")


def _neighbours(scene: Scene, item: int) -> CardSection:
    values = [f"{score:.3f}" for score in scene.sheet.neighbours(item, scene.k)[1]]
    near = scenes.neighbours(scene.view, item, *_near(scene, item), values)
    note = f"in the full space, by {scene.sheet.similarity}; lines lead to them on the map"
    return CardSection("neighbours", f"The {len(near)} true neighbours", near, note)


def _selection(scene: Scene, chosen: np.ndarray, linked: bool) -> CardSection:
    labels, count = scene.view.images.labels[chosen], len(chosen)
    here = page_frame.part("selection page", count, ON_A_PAGE)
    part = f", {here.start + 1:,} to {here.stop:,} shown" if count > ON_A_PAGE else ""
    note = f"{count:,} image{'s' * (count > 1)} of {len(np.unique(labels)):,} classes, by class{part}"
    note += "" if linked else "; too many to be kept in the link"
    listed = chosen[np.argsort(labels, kind="stable")][here].tolist()
    shown = [cards.card(scene.view, one) for one in listed]
    return CardSection("selection", "Selected on the map", shown, note, current=scene.item)


def _picked(scene: Scene, item: int) -> Query:
    sheet, (others, right) = scene.sheet, _near(scene, item)
    facts = []
    if cards.has_class(scene.view.images, item):
        facts.append(("same class", f"{right.sum()} of {len(others)}", "of its true neighbours"))
    at = np.flatnonzero(sheet.on_map.items == item)
    if len(at):
        far = sum((side - side[at[0]]) ** 2 for side in scene.flat.T)  # twenty times as fast as along the short axis
        far[at[0]] = np.inf
        near = np.argpartition(far, scene.k)[: scene.k] if scene.k < len(far) else np.argsort(far)
        kept = int(np.isin(sheet.on_map.items[near], others).sum())
        facts.append(("kept by the map", f"{kept} of {len(near)}", "of the nearest on the map are true neighbours"))
    else:
        facts.append(("on the map", "no", "it is not in the sample that is shown"))
    return cards.query(scene.view, item, facts)


show()
