"""Map: a run's images in the plane; draw around some to list them, click one for its true neighbours."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

import lab.maps
from app import served
from app.components.displays import Meter, meters
from app.components.gallery import CardSection, Query, gallery
from app.components.scatter import MapPoints, scatter
from app.results import cache, cards, run_choice, selection
from app.results.cache import SplitView
from app.shared import address, background, changes, page_frame
from app.views.map import colouring, pair
from app.views.map import scene as scenes
from app.views.map.scene import Scene
from lab.core.explain import explain
from lab.core.files import GuestRefused
from lab.core.formats import counted
from lab.core.results import SAME, UNKNOWN, labelled
from lab.evaluation import filters
from lab.maps.kept import Chart
from lab.maps.of_run import BEHIND, LAID_OUT, MOST, NEAREST, OVER_TIME, Map
from lab.runs import Run

NAMES = {"pca": "PCA", "umap": "UMAP", "tsne": "t-SNE"}
ON_A_PAGE = 48


@page_frame.page(
    "Map", "An overview in two dimensions. Neighbours always come from the full space, never from the map."
)
def show() -> None:
    view = run_choice.choose_split(run_choice.choose_run(moments=True), moments=True)
    with st.sidebar:
        method = _choose_method(view)
        both = pair.choose(view)
        fields = colouring.fields(view.collection)
        if both is not None:
            left_out = (colouring.NEAREST, colouring.PRECISION)
            fields = [pair.OVERLAP, *(field for field in fields if field not in left_out)]
        field = page_frame.select("Colour", fields, key="colour", link="colour")
        k = page_frame.choice("True neighbours of a point", (5, 10, 20), key="near", link="near") if not both else 0
    if both is not None:
        pair.show(view, both, method, field)
        return
    drawn, shown_method = _map_of(view, method)
    sheet = scenes.sheet(*view.key, view.collection)
    item = address.load_and_store("item", int, lambda one: sheet.row(one) is not None)
    key = (*view.key, sheet)
    if item is not None and len(sheet.whole) >= cache.MANY and background.if_ready(scenes.prepared(*key)) is None:
        item = None  # it is shown with its neighbours as soon as they can be searched
    flat, quality = drawn.at(run_choice.FINAL if view.step is None else view.step)
    scene = Scene(view, sheet, flat, shown_method, field, item, k)
    _say(scene)
    selected = np.isin(scene.items, selection.read(view.run))
    _draw(scene, selected)
    _draw_quality(quality, NAMES[shown_method])
    _draw_images(scene, scene.items[selected])
    scenes.prepared(*key)


def _about(view: SplitView) -> str:
    """What the map is of, as `Chart` calls it: all moments of a training share one map."""
    return view.split if view.step is None else OVER_TIME


def _choose_method(view: SplitView) -> lab.maps.Method:
    """Draw the choice of the map. It opens on UMAP where that has been laid out, as it is when a run ends."""
    chart = Chart(view.run.folder, _about(view), "umap")
    there = chart.read() is not None or chart.progress["state"] == "working"
    key = f"map of {view.run.name} {chart.split}"
    return page_frame.choice("Map", NAMES, key=key, initial="umap" if there else "pca", link="map")


def _map_of(view: SplitView, method: lab.maps.Method) -> tuple[Map, str]:
    """The map that was asked for, or PCA until it is there, and which of them it is."""
    of, moments = _about(view), (written for _, written in view.run.moments)
    stamp = view.run.stamp if view.step is None else max(moments)
    if method in BEHIND:
        chart = Chart(view.run.folder, of, method)
        drawn = chart.read()
        if drawn is not None:
            return drawn, method
        progress = chart.progress
        if progress["state"] == "absent":
            try:
                chart.start()
                progress = {"state": "working"}
            except GuestRefused:
                words = f"{NAMES[method]} is not drawn yet, so PCA is shown. {background.LATER}"
                st.caption(f":material/visibility: {words}")
                progress = {"state": "refused"}
            except OSError as error:
                progress = {"state": "failed", "sentence": explain(error)}
        if progress["state"] == "working":
            st.fragment(page_frame.guarded(_wait))(chart)
        elif progress["state"] == "failed":
            page_frame.say_error(f"{NAMES[method]} could not be drawn, so PCA is shown. {progress['sentence']}")
            again = page_frame.guarded(chart.start)
            st.button("Try again", icon=":material/refresh:", on_click=again)
    return background.or_wait(scenes.pca(view.run.name, of, stamp)), "pca"


def _stage(run: Path, split: str, method: lab.maps.Method) -> tuple[Any, ...]:
    """Return how far the drawing of a map is."""
    progress = Chart(Run(run), split, method).progress
    return progress["state"], progress.get("done"), progress.get("total")


def _wait(chart: Chart) -> None:
    changes.follow(_stage, chart.run.path, chart.split, chart.method, key="map in the making")
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
    page_frame.say(f"{view.run.summary} · {view.split}, {view.provenance}, {total:,} images")
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


def _draw(scene: Scene, selected: np.ndarray) -> None:
    on_map, item, run = scene.sheet.on_map, scene.item, scene.view.run
    legend, line_of = colouring.categories(scene, selected)
    known, names = colouring.coded_by(scene, filters.CLASS)
    of, pictures = f"{run.name}/{scene.view.split}/{len(on_map)}/{run.stamp}", served.pictures(run.name, run.stamp)
    histograms = colouring.histograms(scene)
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
        near=None if item is None else scene.near[:2],
        kept=scenes.kept_in_address(points.version),
        on_select=partial(scenes.select, scene.view, scene.items),
        on_pick=scenes.pick,
    )


def _draw_quality(quality: dict[str, float], method: str) -> None:
    trust, agreement, chance = (quality[name] for name in ("trustworthiness", "agreement", "chance"))
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
    meters([agreeing, Meter("Trustworthiness", trust, true, 0.5, "random map")], key="quality")


def _draw_images(scene: Scene, chosen: np.ndarray) -> None:
    """The clicked image with its neighbours, and those that are selected, int64 [s]."""
    selection.bar(scene.view.run)
    item, sections = scene.item, []
    if item is not None:
        near = scenes.neighbours(scene.view, *scene.near[:2], [f"{score:.3f}" for score in scene.near[2]])
        note = f"in the full space, by {scene.sheet.similarity}; lines lead to them on the map"
        sections.append(CardSection("neighbours", f"The {len(near)} true neighbours", near, note))
    if len(chosen):
        sections.append(_selection(scene, chosen))
    if not sections:
        st.info("Draw around points to list their images here, or click a point to see its true neighbours.")
        return
    st.space("small")
    panel = _picked(scene, item) if item is not None else None
    pick, choice = (lambda _, one: scenes.pick(one)), selection.choosable(scene.view.run, sections)
    gallery(sections, key="map images", on_pick=pick, query=panel, **choice)
    with st.container(horizontal=True, horizontal_alignment="distribute"):
        if item is not None:
            with st.container(horizontal=True, width="content"):
                if scene.view.collection.row(item) is not None:
                    scene.view.link("Browse", query=str(item))
                    scene.view.link("Inspect", "inspect", query=str(item), batch="query")
                scenes.deselect()
        page_frame.page_buttons("selection page", len(chosen), ON_A_PAGE)


def _selection(scene: Scene, chosen: np.ndarray) -> CardSection:
    labels, count = scene.view.images.labels[chosen], len(chosen)
    classes, without = len(np.unique(labels[labelled(labels)])), int((~labelled(labels)).sum())
    here = page_frame.page_slice("selection page", count, ON_A_PAGE)
    part = f", {here.start + 1:,} to {here.stop:,} shown" if count > ON_A_PAGE else ""
    lacking = f" ({without:,} without a class)" if without and classes else ""
    of = f"of {counted(classes, 'class', 'classes')}{lacking}, by class" if classes else "without a class"
    note = f"{counted(count, 'image')} {of}{part}"
    listed = chosen[np.argsort(labels, kind="stable")][here].tolist()
    shown = [cards.card(scene.view, one) for one in listed]
    return CardSection("selection", "Selected on the map", shown, note, current=scene.item)


def _picked(scene: Scene, item: int) -> Query:
    sheet, (others, right, _) = scene.sheet, scene.near
    facts = []
    if cards.has_class(scene.view.images, item):
        known = right != UNKNOWN
        facts.append(("same class", f"{(right == SAME).sum()} of {known.sum()}", "of its true neighbours with a class"))
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
