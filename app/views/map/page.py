"""Map: a run's images in two dimensions. Draw around images to list them; click one for its true neighbours."""

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
from app.views.map.scene import MapScene
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
    "Map",
    "An overview in two dimensions. Neighbours always come from the full space, never from the map.",
)
def show() -> None:
    view = run_choice.choose_split(run_choice.choose_run(moments=True), moments=True)
    with st.sidebar:
        method = _choose_method(view)
        both = pair.choose(view)
        field = _choose_field(view, both is not None)
        k = 0
        if both is None:
            k = page_frame.choice(
                "True neighbours of a point", (5, 10, 20), key="near", link="near"
            )
    if both is not None:
        pair.show(view, both, method, field)
        return
    drawn, shown_method = _map_of(view, method)
    sheet = scenes.sheet(*view.key, view.collection)
    item = address.load_and_store("item", int, lambda item: sheet.row(item) is not None)
    key = (*view.key, sheet)
    if (
        item is not None
        and len(sheet.whole) >= cache.MANY
        and background.if_ready(scenes.prepared(*key)) is None
    ):
        item = None  # show it once its neighbours can be searched

    # Draw the map, its quality and the images.
    flat, quality = drawn.at(run_choice.FINAL if view.step is None else view.step)
    scene = MapScene(view, sheet, flat, shown_method, field, item, k)
    _describe(scene)
    selected = np.isin(scene.items, selection.read(view.run))
    _draw_map(scene, selected)
    _draw_quality(quality, NAMES[shown_method])
    _draw_images(scene, scene.items[selected])
    scenes.prepared(*key)


def _choose_field(view: SplitView, has_two: bool) -> str:
    """Choose the field that colours the points. has_two: two embeddings are compared."""
    fields = colouring.fields(view.collection)
    if has_two:
        fields = [
            field for field in fields if field not in (colouring.NEAREST, colouring.PRECISION)
        ]
        fields.insert(0, pair.OVERLAP)
    return page_frame.select("Colour", fields, key="colour", link="colour")


def _map_name(view: SplitView) -> str:
    """Return the name of the map for `Chart`. All steps of a training share a map."""
    return view.split if view.step is None else OVER_TIME


def _choose_method(view: SplitView) -> lab.maps.Method:
    """Choose the method of the map. The first choice is UMAP if it is computed, else PCA."""
    chart = Chart(view.run.folder, _map_name(view), "umap")
    initial = "pca"
    if chart.read() is not None or chart.progress["state"] == "working":
        initial = "umap"
    key = f"map of {view.run.name} {chart.split}"
    return page_frame.choice("Map", NAMES, key=key, initial=initial, link="map")


def _map_of(view: SplitView, method: lab.maps.Method) -> tuple[Map, str]:
    """Return the chosen map and its method, or the PCA map until the chosen one is computed."""
    if method in BEHIND:
        chart = Chart(view.run.folder, _map_name(view), method)
        drawn = chart.read()
        if drawn is not None:
            return drawn, method
        _compute(chart)
    stamp = view.run.stamp
    if view.step is not None:
        stamp = max(written for _, written in view.run.moments)
    return background.or_wait(scenes.pca(view.run.name, _map_name(view), stamp)), "pca"


def _compute(chart: Chart) -> None:
    """Start to compute a map if nobody has, and draw the progress or the reason of a failure."""
    name = NAMES[chart.method]
    progress = chart.progress
    if progress["state"] == "absent":
        try:
            chart.start()
            progress = {"state": "working"}
        except GuestRefused:
            words = f"{name} is not computed yet, so PCA is shown. {background.LATER}"
            st.caption(f":material/visibility: {words}")
        except OSError as error:
            progress = {"state": "failed", "sentence": explain(error)}
    if progress["state"] == "working":
        st.fragment(page_frame.guarded(_wait))(chart)
    elif progress["state"] == "failed":
        page_frame.say_error(
            f"{name} could not be computed, so PCA is shown. {progress['sentence']}"
        )
        st.button("Try again", icon=":material/refresh:", on_click=page_frame.guarded(chart.start))


def _stage(run: Path, split: str, method: lab.maps.Method) -> tuple[Any, ...]:
    """Return the progress of a map's computation."""
    progress = Chart(Run(run), split, method).progress
    return progress["state"], progress.get("done"), progress.get("total")


def _wait(chart: Chart) -> None:
    """Draw the progress of a map's computation, and draw the page again when it is over."""
    changes.follow(_stage, chart.run.path, chart.split, chart.method, key="map in the making")
    progress = chart.progress
    if progress["state"] != "working":
        st.rerun()
    part = ""
    if progress["total"] > 1:
        part = f" ({progress['done']} of {progress['total']} steps)"
    st.info(
        f"{NAMES[chart.method]} is being computed in the background{part} and stored with the run; this takes some "
        "seconds to minutes. Until then PCA is shown. You may leave this page.",
        icon=":material/hourglass_top:",
    )


def _describe(scene: MapScene) -> None:
    """Draw what the map shows, and how images were sampled."""
    view = scene.view
    total = len(scene.sheet.whole)
    count = len(scene.sheet.rows)
    page_frame.say(f"{view.run.summary} · {view.split}, {view.provenance}, {total:,} images")
    if count < total:
        st.info(
            f"{count:,} of {total:,} images are on the map: a random sample, the same every time and in proportion to "
            f"the classes (a map shows at most {MOST:,}). Neighbours are searched among all {total:,}."
        )
    if scene.method != "pca" and count > LAID_OUT:
        st.info(
            f"{NAMES[scene.method]} places a random sample of {LAID_OUT:,} images; the other {count - LAID_OUT:,} "
            "are placed beside their nearest neighbours in the sample."
        )


def _draw_map(scene: MapScene, selected: np.ndarray) -> None:
    """Draw the points. selected: bool [n]."""
    run = scene.view.run
    count = len(scene.items)
    legend, categories = colouring.categories(scene, selected)
    vocabulary, names = colouring.coded_by(scene, filters.CLASS)
    points = MapPoints(
        version=f"{run.name}/{scene.view.split}/{count}/{run.stamp}",
        ids=scene.items,
        flat=scene.flat,
        names=names,
        vocabulary=vocabulary,
        categories=categories,
        legend=legend,
        pictures=served.pictures(run.name, run.stamp),
        filters=colouring.histograms(scene),
    )
    title = scene.field.capitalize()
    if scene.field == colouring.NEAREST:
        title = "Nearest neighbour in the full space"
    words = f"{NAMES[scene.method]} map of {count:,} images coloured by {scene.field}; {selected.sum():,} selected"
    scatter(
        points,
        key="map drawn",
        title=title,
        alt=words,
        selected=selected,
        picked=scene.item,
        near=None if scene.item is None else scene.near[:2],
        kept=scenes.browser_parameters(points.version),
        on_select=partial(scenes.select, scene.view, scene.items),
        on_pick=scenes.pick,
    )


def _draw_quality(quality: dict[str, float], method: str) -> None:
    """Draw how far the map can be trusted, as two bars."""
    agreement = quality["agreement"]
    if np.isnan(agreement):
        st.caption("There are too few images to say how far this map can be trusted.")
        return
    chance = quality["chance"]
    words = (
        f"Of the {NEAREST} nearest points on the map, {agreement:.0%} are among the {NEAREST} nearest in the full "
        f"space: {agreement / chance:.0f} times as many as on a random map. "
    )
    if agreement < 0.5:
        words += "Do not read neighbourhoods off this map; click a point instead."
    agreement_bar = Meter(
        f"Neighbour agreement of this {method} map", agreement, words, chance, "chance"
    )

    trust = quality["trustworthiness"]
    advice = "Even coarse groups may be an artefact."
    if trust >= 0.95:
        advice = "Points that are close here are mostly close in the full space."
    elif trust >= 0.8:
        advice = "Coarse groups are reliable, details are not."
    words = f"How close false neighbours on the map truly are: 1 is perfect, a random map has about 0.5. {advice}"
    meters(
        [agreement_bar, Meter("Trustworthiness", trust, words, 0.5, "random map")], key="quality"
    )


def _draw_images(scene: MapScene, chosen: np.ndarray) -> None:
    """Draw the clicked image with its neighbours, and the selected images, int64 [s]."""
    selection.bar(scene.view.run)
    item = scene.item
    sections = []
    panel = None
    if item is not None:
        others, verdicts, scores = scene.near
        near = scenes.neighbours(scene.view, others, verdicts, [f"{score:.3f}" for score in scores])
        panel = _clicked(scene, item)
        note = f"in the full space, by {scene.sheet.similarity}; lines lead to them on the map"
        sections.append(CardSection("neighbours", f"The {len(near)} true neighbours", near, note))
    if len(chosen):
        sections.append(_selection(scene, chosen))
    if not sections:
        st.info(
            "Draw around points to list their images here, or click a point to see its true neighbours."
        )
        return
    st.space("small")
    gallery(
        sections,
        key="map images",
        on_pick=lambda _, picked: scenes.pick(picked),
        query=panel,
        **selection.choosable(scene.view.run, sections),
    )

    # Links for the clicked image, and the pages of the selected images.
    with st.container(horizontal=True, horizontal_alignment="distribute"):
        if item is not None:
            with st.container(horizontal=True, width="content"):
                if scene.view.collection.row(item) is not None:
                    scene.view.link("Browse", query=str(item))
                    scene.view.link("Inspect", "inspect", query=str(item), batch="query")
                scenes.deselect()
        page_frame.page_buttons("selection page", len(chosen), ON_A_PAGE)


def _selection(scene: MapScene, chosen: np.ndarray) -> CardSection:
    """Return the section of the selected images, sorted by class."""
    labels = scene.view.images.labels[chosen]
    has_label = labelled(labels)
    classes = len(np.unique(labels[has_label]))
    note = f"{counted(len(chosen), 'image')} without a class"
    if classes:
        without = int((~has_label).sum())
        missing = f" ({without:,} without a class)" if without else ""
        note = f"{counted(len(chosen), 'image')} of {counted(classes, 'class', 'classes')}{missing}, by class"
    page = page_frame.page_slice("selection page", len(chosen), ON_A_PAGE)
    if len(chosen) > ON_A_PAGE:
        note += f", {page.start + 1:,} to {page.stop:,} shown"
    items = chosen[np.argsort(labels, kind="stable")][page].tolist()
    shown = [cards.card(scene.view, item) for item in items]
    return CardSection("selection", "Selected on the map", shown, note, current=scene.item)


def _clicked(scene: MapScene, item: int) -> Query:
    """Return the panel of the clicked image, with the number of true neighbours that are near it on the map."""
    others, verdicts, _ = scene.near
    facts = []
    if cards.has_class(scene.view.images, item):
        count = f"{(verdicts == SAME).sum()} of {(verdicts != UNKNOWN).sum()}"
        facts.append(("same class", count, "of its true neighbours with a class"))

    # Compare the nearest images on the map with the true neighbours.
    rows = np.flatnonzero(scene.items == item)
    if len(rows):
        # sums over columns are twenty times as fast as sums over the short axis
        x, y = scene.flat.T
        distances = (x - x[rows[0]]) ** 2 + (y - y[rows[0]]) ** 2
        distances[rows[0]] = np.inf
        if scene.k < len(distances):
            near = np.argpartition(distances, scene.k)[: scene.k]
        else:
            near = np.argsort(distances)
        kept = int(np.isin(scene.items[near], others).sum())
        facts.append(
            (
                "kept by the map",
                f"{kept} of {len(near)}",
                "of the nearest on the map are true neighbours",
            )
        )
    else:
        facts.append(("on the map", "no", "it is not in the sample that is shown"))
    return cards.query(scene.view, item, facts)


show()
