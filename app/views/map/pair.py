"""Compare two embeddings of the same images on maps: two runs, or two steps of a run."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st

import lab.maps
from app import served
from app.components.gallery import CardSection, gallery
from app.components.scatter import Category, Histogram, MapPoints, Pair, scatter
from app.results import cache, cards, run_choice, selection
from app.results.cache import SplitView
from app.results.run_choice import FINAL
from app.shared import address, background, page_frame
from app.views.map import colouring
from app.views.map import scene as scenes
from lab.core.results import compared
from lab.evaluation import filters, identity
from lab.inspect import spaces
from lab.maps import of_run
from lab.maps.of_run import TwoMaps

OVERLAP = "neighbour overlap"
NEIGHBOURS = (5, 10, 20, 50)
VIEWS = {"side": "Side by side", "one": "One after the other"}
LISTED = 24
SHARES = (
    ("0 to 20%", "cross", "#D55E00"),
    ("over 20 to 40%", "triangle", "#E69F00"),
    ("over 40 to 60%", "circle", "#999999"),
    ("over 60 to 80%", "square", "#56B4E9"),
    ("over 80 to 100%", "diamond", "#0072B2"),
)
"""Fraction of common neighbours, in fifths: name, mark and colour."""


@dataclass(frozen=True)
class PairScene:
    """What the Map page shows of two embeddings.

    shares: float64 [n], fraction of each image's k nearest that both embeddings have. selected: bool [n].
    """

    view: SplitView
    both: tuple[SplitView, SplitView]
    two: TwoMaps
    field: str
    k: int
    shares: np.ndarray
    item: int | None
    selected: np.ndarray

    @property
    def names(self) -> tuple[str, str]:
        """Names of the two embeddings."""
        return _name(self.both[0]), _name(self.both[1])

    @property
    def row(self) -> int:
        """Row of the clicked image."""
        return int(np.flatnonzero(self.two.items == self.item)[0])

    def near(self, space: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest of the clicked image in the first or second embedding, int64 [k], and their verdicts of
        `compared`, int8 [k]."""
        rows = self.two.near[space][self.row, : self.k]
        return self.two.items[rows], compared(self.two.labels[rows], self.two.labels[self.row])

    def values(self, field: str) -> tuple[list[str], np.ndarray]:
        """Return the sorted values of a field, and the index of each image's value, int64 [n]."""
        column = filters.column(self.view.images, field, self.two.items)
        values, codes = np.unique(column, return_inverse=True)
        return values.tolist(), codes


def _name(view: SplitView) -> str:
    if view.step is None:
        return view.run.name
    return f"{view.run.name}, step {view.step:,}"


def choose(view: SplitView) -> tuple[SplitView, SplitView] | None:
    """Draw the choice of a second embedding, and return both, or None for no comparison."""
    run = view.run
    options = {"": "nothing", **run_choice.runs_on_same_images(view)}
    if view.step is not None and view.split in run.splits:
        options[f"step:{FINAL}"] = "this run as evaluated"
    if view.split == run_choice.VALIDATION:
        for step in dict(run.moments):
            if step != view.step:
                options[f"step:{step}"] = f"this run after step {step:,}"
    run_choice.refuse_missing_run("beside")
    help = "Another run on the same images, or, for validation images, another stored step of this run."
    code = page_frame.select("Compare with", options, key="beside", link="beside", help=help)

    # The second embedding is that of another run, or of another step of this run.
    kind, _, name = code.partition(":")
    if not kind:
        return None
    if kind == "run":
        return view, run_choice.at_the_same_step(view, name)
    other = cache.split_view(run, view.split, None if int(name) == FINAL else int(name))
    # The earlier step comes first.
    if other.step is None or (view.step is not None and view.step < other.step):
        return view, other
    return other, view


@background.job("Computing both maps", keep=4)
def _maps(first: SplitView, second: SplitView, method: lab.maps.Method) -> tuple[TwoMaps, str]:
    """Compute both maps of the common images, with the item numbers of the first. Also return how images were
    joined."""
    first_set = of_run.sheet(first.run.folder, first.split, first.step).whole
    second_set = of_run.sheet(second.run.folder, second.split, second.step).whole
    if first.run.name == second.run.name:
        return of_run.two_maps(first_set, second_set, method), ""
    joined = identity.join([cache.pictures_of(first), cache.pictures_of(second)])
    return of_run.two_maps(
        first_set, of_run.renumbered(second_set, joined), method
    ), joined.sentence


def show(
    view: SplitView, both: tuple[SplitView, SplitView], method: lab.maps.Method, field: str
) -> None:
    """Draw both maps, the agreement of their neighbours, and the images."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        layout = page_frame.choice("View", VIEWS, key="pair view", link="view")
        k = page_frame.choice("Neighbours compared", NEIGHBOURS, key="pair near", link="k")
    two, joined = background.or_wait(_maps(*both, method))
    k = min(k, two.near[0].shape[1])
    shares = spaces.overlap(two.near[0][:, :k], two.near[1][:, :k])
    item = address.load_and_store("item", int, lambda item: item in two.items)
    selected = np.isin(two.items, selection.read(view.run))
    scene = PairScene(view, both, two, field, k, shares, item, selected)

    # Say which images were compared, and how well their neighbours agree.
    if joined:
        page_frame.say(joined)
    count = f"{len(two.items):,} images"
    if len(two.items) < two.total:
        count += f", a random sample of the {two.total:,} that both have"
    page_frame.say(
        f"{' and '.join(scene.names)} · {count}. Of an image's {k} nearest, {shares.mean():.0%} are the same in both; "
        f"{np.mean(shares < 0.2):.0%} of the images keep less than a fifth. The second map is aligned with the first. "
        f"Of the {of_run.NEAREST} nearest on the maps, {two.agreement[0]:.0%} and {two.agreement[1]:.0%} are true "
        "neighbours."
    )
    _draw_maps(scene, layout)
    selection.bar(view.run)
    _draw_images(scene)


def _legend(scene: PairScene) -> colouring.Legend:
    if scene.field != OVERLAP:
        values, codes = scene.values(scene.field)
        return colouring.by_value(scene.field, values, codes, scene.selected)
    fifths = np.clip(np.ceil(scene.shares * 5 - 1e-9).astype(int) - 1, 0, 4)
    counts = np.bincount(fifths, minlength=5)
    lines = []
    for fifth, (name, mark, colour) in enumerate(SHARES):
        lines.append(Category(name, int(counts[fifth]), mark, colour))
    return lines, fifths


def _draw_maps(scene: PairScene, layout: str) -> None:
    """Draw both maps. layout: a key of `VIEWS`."""
    two = scene.two
    run = scene.view.run
    legend, categories = _legend(scene)
    vocabulary, names = scene.values(filters.CLASS)
    histograms = [
        _overlap_bars(scene.shares, scene.k),
        colouring.number_bars("distance moved", spaces.ways(two.before, two.after)),
    ]
    for field in filters.fields(scene.view.images)[: colouring.HISTOGRAMS - 2]:
        histograms.append(colouring.bars(field, *scene.values(field)))
    points = MapPoints(
        version="/".join(str(view.key) for view in scene.both),
        ids=two.items,
        flat=two.after,
        names=names,
        vocabulary=vocabulary,
        categories=categories,
        legend=legend,
        pictures=served.pictures(run.name, run.stamp),
        filters=histograms,
        pair=Pair(two.before, scene.names, layout),
    )
    scatter(
        points,
        key="two maps drawn",
        title="Share of neighbours in common"
        if scene.field == OVERLAP
        else scene.field.capitalize(),
        alt=f"Two maps of {len(two.items):,} images, {' and '.join(scene.names)}, coloured by {scene.field}",
        selected=scene.selected,
        picked=scene.item,
        near=None if scene.item is None else scene.near(1),
        kept=scenes.browser_parameters(points.version),
        on_select=partial(scenes.select, scene.view, two.items),
        on_pick=scenes.pick,
    )


def _overlap_bars(shares: np.ndarray, k: int) -> Histogram:
    """Return the histogram of common neighbours, with a bar for each number, or in tenths for many neighbours."""
    if k >= colouring.BARS:
        return colouring.number_bars(OVERLAP, shares, 10)
    return Histogram(
        OVERLAP, [f"{count} of {k}" for count in range(k + 1)], np.rint(shares * k).astype(int)
    )


def _draw_images(scene: PairScene) -> None:
    """Draw the neighbours of the clicked image in both embeddings, and the selected images."""
    item = scene.item
    sections = []
    query = None
    if item is not None:
        for space, name in enumerate(scene.names):
            near = scenes.neighbours(scene.view, *scene.near(space))
            sections.append(CardSection(name, f"Nearest in {name}", near, "in the full space"))
        same = f"{scene.shares[scene.row] * scene.k:.0f} of {scene.k}"
        facts = [("same neighbours", same, "images that are among the nearest in both embeddings")]
        query = cards.query(scene.view, item, facts)
    if scene.selected.any():
        sections.append(_selection(scene))
    if not sections:
        st.info(
            "Click a point to see its neighbours in both spaces, or draw around several to list their images."
        )
        return
    gallery(
        sections, key="two maps images", on_pick=lambda _, picked: scenes.pick(picked), query=query
    )
    if item is not None:
        names = {view.run.name for view in scene.both} - {scene.view.run.name}
        with st.container(horizontal=True):
            if scene.view.collection.row(item) is not None:
                if names:
                    scene.view.link("Browse both runs", query=str(item), rival=f"run:{names.pop()}")
                else:
                    scene.view.link("Browse", query=str(item))
            scenes.deselect()


def _selection(scene: PairScene) -> CardSection:
    """Return the section of the selected images, those with the fewest common neighbours first."""
    rows = np.flatnonzero(scene.selected)
    rows = rows[np.argsort(scene.shares[rows], kind="stable")]
    listed = []
    for row in rows[:LISTED]:
        value = f"{scene.shares[row]:.0%} in common"
        listed.append(cards.card(scene.view, scene.two.items[row], value=value))
    note = f"{len(rows):,} images, those with the fewest neighbours in common first"
    if len(rows) > LISTED:
        note += f"; {LISTED} shown"
    return CardSection("selection", "Selected on the map", listed, note, current=scene.item)
