"""Two spaces of the same images on one map: another run, or the same run after another step."""

import math
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
"""Fifths of the neighbourhood that both spaces share: name, mark and colour."""


@dataclass(frozen=True)
class PairScene:
    """What the page shows of two spaces. shares: float64 [n], of the k nearest of each image those that both have.
    selected: bool [n]."""

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
        """Of the two spaces."""
        first, second = (
            one.run.name if one.step is None else f"{one.run.name}, step {one.step:,}" for one in self.both
        )
        return first, second

    @property
    def row(self) -> int:
        """Row of the clicked image."""
        return int(np.flatnonzero(self.two.items == self.item)[0])

    def near(self, space: int) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest of the clicked image in the first or second space, int64 [k], and whether they are of its
        class, int8 [k] as `compared` says it."""
        rows = self.two.near[space][self.row, : self.k]
        return self.two.items[rows], compared(self.two.labels[rows], self.two.labels[self.row])

    def values(self, field: str) -> tuple[list[str], np.ndarray]:
        """The values of a field in order, and the place of each image's among them, int64 [n]."""
        column = filters.column(self.view.images, field, self.two.items)
        known, codes = np.unique(column, return_inverse=True)
        return known.tolist(), codes


def choose(view: SplitView) -> tuple[SplitView, SplitView] | None:
    """Draw the choice of what to compare the run with; None while nothing is to be compared."""
    run, split = view.run, view.split
    steps = list(dict(run.moments)) if split == run_choice.VALIDATION else []
    options = {"": "nothing"} | run_choice.runs_on_same_images(view)
    if view.step is not None and split in run.splits:
        options[f"step:{FINAL}"] = "this run as evaluated"
    options |= {f"step:{step}": f"this run after step {step:,}" for step in steps if step != view.step}
    help = "Another run on the same images, or, of validation images, another stored step of this run."
    run_choice.refuse_missing_run("beside")
    kind, _, name = page_frame.select("Compare with", options, key="beside", link="beside", help=help).partition(":")
    if not kind:
        return None
    if kind == "run":
        return view, run_choice.at_the_same_step(view, name)
    other = cache.split_view(run, split, None if int(name) == FINAL else int(name))
    # Time goes from left to right: an earlier step is the first of the two.
    first, second = sorted((view, other), key=lambda one: math.inf if one.step is None else one.step)
    return first, second


@background.job("Laying out both maps", keep=4)
def _laid_out(first: SplitView, second: SplitView, method: lab.maps.Method) -> tuple[TwoMaps, str]:
    """Both maps of the images that both spaces have, under the numbers of the first; and which images these are."""
    one, other = (of_run.sheet(each.run.folder, each.split, each.step).whole for each in (first, second))
    if first.run.name == second.run.name:  # one list of images
        return of_run.two_maps(one, other, method), ""
    joined = identity.join([cache.pictures_of(view) for view in (first, second)])
    return of_run.two_maps(one, of_run.renumbered(other, joined), method), joined.sentence


def show(view: SplitView, both: tuple[SplitView, SplitView], method: lab.maps.Method, field: str) -> None:
    """Draw both maps and what follows from them."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        look = page_frame.choice("View", VIEWS, key="pair view", link="view")
        k = page_frame.choice("Neighbours compared", NEIGHBOURS, key="pair near", link="k")
    two, joined = background.or_wait(_laid_out(*both, method))
    k = min(k, two.near[0].shape[1])
    shares = spaces.overlap(two.near[0][:, :k], two.near[1][:, :k])
    item = address.load_and_store("item", int, lambda one: one in two.items)
    selected = np.isin(two.items, selection.read(view.run))
    scene = PairScene(view, both, two, field, k, shares, item, selected)
    sample = f", a random sample of the {two.total:,} that both have" if len(two.items) < two.total else ""
    if joined:
        page_frame.say(joined)
    page_frame.say(
        f"{' and '.join(scene.names)} · {len(two.items):,} images{sample}. Of an image's {k} nearest, "
        f"{shares.mean():.0%} are the same in both; {np.mean(shares < 0.2):.0%} of the images keep less than a fifth. "
        f"The second map is aligned with the first. Of the {of_run.NEAREST} nearest on the maps, "
        f"{two.agreement[0]:.0%} and {two.agreement[1]:.0%} are true ones."
    )
    _draw(scene, look)
    selection.bar(view.run)
    _draw_images(scene)


def _colours(scene: PairScene) -> tuple[list[Category], np.ndarray]:
    if scene.field != OVERLAP:
        return colouring.by_value(scene.field, *scene.values(scene.field), scene.selected)
    fifth = np.clip(np.ceil(scene.shares * 5 - 1e-9).astype(int) - 1, 0, 4)
    counts = np.bincount(fifth, minlength=5)
    return [Category(name, int(counts[at]), mark, colour) for at, (name, mark, colour) in enumerate(SHARES)], fifth


def _draw(scene: PairScene, look: str) -> None:
    two, run = scene.two, scene.view.run
    legend, line_of = _colours(scene)
    known, names = scene.values(filters.CLASS)
    shown = filters.fields(scene.view.images)[: colouring.HISTOGRAMS - 2]
    histograms = [
        _overlap_bars(scene.shares, scene.k),
        colouring.number_bars("distance moved", spaces.ways(two.before, two.after)),
        *(colouring.bars(name, *scene.values(name)) for name in shown),
    ]
    pictures = served.pictures(run.name, run.stamp)
    pair, of = Pair(two.before, scene.names, look), "/".join(str(one.key) for one in scene.both)
    points = MapPoints(of, two.items, two.after, names, known, line_of, legend, pictures, histograms, pair)
    scatter(
        points,
        key="two maps drawn",
        title="Share of neighbours in common" if scene.field == OVERLAP else scene.field.capitalize(),
        alt=f"Two maps of {len(two.items):,} images, {' and '.join(scene.names)}, coloured by {scene.field}",
        selected=scene.selected,
        picked=scene.item,
        near=None if scene.item is None else scene.near(1),
        kept=scenes.kept_in_address(points.version),
        on_select=partial(scenes.select, scene.view, two.items),
        on_pick=scenes.pick,
    )


def _overlap_bars(shares: np.ndarray, k: int) -> Histogram:
    """A bar for each number of neighbours in common; of many neighbours in tenths."""
    if k >= colouring.BARS:
        return colouring.number_bars(OVERLAP, shares, 10)
    return Histogram(OVERLAP, [f"{one} of {k}" for one in range(k + 1)], np.rint(shares * k).astype(int))


def _draw_images(scene: PairScene) -> None:
    sections, item, query = [], scene.item, None
    if item is not None:
        for at, name in enumerate(scene.names):
            listed = scenes.neighbours(scene.view, *scene.near(at))
            sections.append(CardSection(name, f"Nearest in {name}", listed, "in the full space"))
        same = f"{scene.shares[scene.row] * scene.k:.0f} of {scene.k}"
        facts = [("same neighbours", same, "that are among the nearest in both spaces")]
        query = cards.query(scene.view, item, facts)
    if scene.selected.any():
        sections.append(_selection(scene))
    if not sections:
        st.info("Click a point to see its neighbours in both spaces, or draw around several to list their images.")
        return
    gallery(sections, key="two maps images", on_pick=lambda _, one: scenes.pick(one), query=query)
    if item is not None:
        other = next(one for one in scene.both if one is not scene.view).run.name
        rival = {} if other == scene.view.run.name else {"rival": f"run:{other}"}
        with st.container(horizontal=True):
            if scene.view.collection.row(item) is not None:
                scene.view.link("Browse both runs" if rival else "Browse", query=str(item), **rival)
            scenes.deselect()


def _selection(scene: PairScene) -> CardSection:
    rows, items, shares = np.flatnonzero(scene.selected), scene.two.items, scene.shares
    rows = rows[np.argsort(shares[rows], kind="stable")]
    listed = [cards.card(scene.view, items[row], value=f"{shares[row]:.0%} in common") for row in rows[:LISTED]]
    note = f"{len(rows):,} images, those with the fewest neighbours in common first"
    note += f"; {LISTED} shown" if len(rows) > LISTED else ""
    return CardSection("selection", "Selected on the map", listed, note, current=scene.item)
