"""Two spaces of the same images on one map: another run, or the same run after an earlier step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st

import lab.maps
from app import served
from app.components.gallery import CardSection, gallery
from app.components.scatter import Category, Histogram, MapPoints, Pair, scatter
from app.results import cache, cards, run_choice
from app.results.cache import RunView, SplitView
from app.shared import background, page_frame
from app.views.map import colouring
from app.views.map import scene as scenes
from lab.core.results import EmbeddingSet
from lab.core.streams import result_of
from lab.data import ImageSet
from lab.evaluation import filters
from lab.inspect import spaces
from lab.maps import of_run
from lab.maps.of_run import TwoMaps
from lab.runs import Run
from lab.runs.building.batches import frame

OVERLAP = "neighbour overlap"
NEIGHBOURS = (5, 10, 20, 50)
VIEWS = {"side": "Side by side", "one": "One after the other"}
LISTED = 24
EVALUATED = -1
"""In the place of a step: the model that was kept and evaluated."""
SHARES = (
    ("0 to 20%", "cross", "#D55E00"),
    ("over 20 to 40%", "triangle", "#E69F00"),
    ("over 40 to 60%", "circle", "#999999"),
    ("over 60 to 80%", "square", "#56B4E9"),
    ("over 80 to 100%", "diamond", "#0072B2"),
)
"""Fifths of the neighbourhood that both spaces share: name, mark and colour."""


@dataclass(frozen=True)
class MappedSpace:
    """One of the two. step: of the stored validation, or None for the run as it was evaluated.

    checkpoint: `best` or `last`, whose embeddings are not stored, so that the images are embedded now.
    """

    run: RunView
    split: str
    step: int | None
    stamp: float
    name: str
    checkpoint: str = ""

    def read(self) -> EmbeddingSet:
        run = self.run.folder
        if self.step is not None:
            return frame(run.frames()[self.step])
        whole = of_run.sheet(run, self.split).whole
        if not self.checkpoint:
            return whole
        from lab.runs.building.trained import open_trained  # torchvision and what it loads take seconds
        from lab.runs.evaluate import Evaluator

        evaluator = Evaluator(open_trained(run, self.checkpoint))
        loader = evaluator.trained.loader_of(cache.images(self.run.name, self.stamp))
        return result_of(evaluator.embed(loader, whole.items))


@dataclass(frozen=True)
class PairScene:
    """What the page shows of two spaces. shares: float64 [n], of the k nearest of each image those that both have.
    selected: bool [n]. key: where the selected images stand in the session's state."""

    view: SplitView
    first: MappedSpace
    second: MappedSpace
    two: TwoMaps
    method: str
    field: str
    k: int
    shares: np.ndarray
    item: int | None
    selected: np.ndarray
    key: str

    @property
    def row(self) -> int:
        """Row of the clicked image."""
        return int(np.flatnonzero(self.two.items == self.item)[0])

    def near(self, space: int) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest of the clicked image in the first or second space, int64 [k], and which are of its class."""
        rows = self.two.near[space][self.row, : self.k]
        return self.two.items[rows], self.two.labels[rows] == self.two.labels[self.row]

    def values(self, field: str) -> tuple[list[str], np.ndarray]:
        """The values of a field in order, and the place of each image's among them, int64 [n]."""
        column = filters.column(self.view.images, field, self.two.items)
        known, codes = np.unique(column, return_inverse=True)
        return known.tolist(), codes


def choose(view: SplitView) -> tuple[MappedSpace, MappedSpace] | None:
    """Draw the choice of what to compare the run with; None while nothing is to be compared."""
    run, split, folder = view.run, view.split, view.run.folder
    steps = list(folder.frames()) if split == "validation" else []
    options = {"": "nothing"} | run_choice.on_the_same_images(view)
    options |= {f"step:{step}": f"this run after step {step:,}" for step in steps}
    options |= {f"kept:{one}": f"this run, its {one} checkpoint" for one in _unused(folder, split)}
    help = "Another run on the same images, another checkpoint of this run, or, of validation images, an earlier step."
    chosen = page_frame.select("Compare with", options, key="beside", link="beside", help=help)
    if not chosen:
        return None
    at = EVALUATED
    if steps:
        moments = {EVALUATED: "as evaluated"} | {step: f"after step {step:,}" for step in steps}
        at = page_frame.select("This run", moments, key="beside at", link="at")
    else:
        st.caption(
            "This run stored no embeddings of earlier steps, so they cannot be compared."
            if split == "validation"
            else "Earlier steps of the training can be compared on the split Validation only."
        )
    kind, _, name = chosen.partition(":")
    first = _space(run, split, at)
    if kind == "run":
        return first, _space(run_choice.view(run_choice.library()[name]), split, EVALUATED)
    if kind == "kept":
        return first, MappedSpace(run, split, None, run.stamp, f"{run.name}, {name} checkpoint", name)
    # Time goes from left to right: an earlier step is the first of the two.
    second = _space(run, split, int(name))
    return (second, first) if at == EVALUATED or int(name) < at else (first, second)


def _unused(run: Run, split: str) -> list[str]:
    """The checkpoints that the stored embeddings of a split are not of."""
    if run.config.outside:
        return []
    return [one for one in ("best", "last") if run.checkpoint(one) and one != run.origin(split).checkpoint]


def _space(run: RunView, split: str, step: int) -> MappedSpace:
    if step == EVALUATED:
        return MappedSpace(run, split, None, run.stamp, run.name)
    return MappedSpace(run, split, step, scenes.newest_frame(run.folder), f"{run.name}, step {step:,}")


@background.job("Laying out both maps", keep=4)
def _laid_out(first: MappedSpace, second: MappedSpace, method: lab.maps.Method) -> TwoMaps:
    return of_run.two_maps(first.read(), second.read(), method)


@background.job("Looking for images that moved together", keep=8)
def _groups(
    first: MappedSpace, second: MappedSpace, method: str, _two: TwoMaps, _images: ImageSet
) -> list[spaces.Group]:
    fields = {name: filters.column(_images, name, _two.items) for name in filters.fields(_images)}
    return spaces.moved_together(_two.before, _two.after, fields)


def show(view: SplitView, both: tuple[MappedSpace, MappedSpace], method: lab.maps.Method, field: str) -> None:
    """Draw both maps and what follows from them."""
    first, second = both
    with st.container(horizontal=True, vertical_alignment="bottom"):
        look = page_frame.choice("View", VIEWS, key="pair view", link="view")
        k = page_frame.choice("Neighbours compared", NEIGHBOURS, key="pair near", link="k")
    two = background.or_wait(_laid_out(first, second, method))
    k = min(k, two.near[0].shape[1])
    shares = spaces.overlap(two.near[0][:, :k], two.near[1][:, :k])
    sample = f", a random sample of the {two.total:,} that both have" if len(two.items) < two.total else ""
    page_frame.say(
        f"{first.name} and {second.name} · {len(two.items):,} images{sample}. Of an image's {k} nearest, "
        f"{shares.mean():.0%} are the same in both; {np.mean(shares < 0.2):.0%} of the images keep less than a fifth. "
        f"The second map is aligned with the first. Of the {of_run.NEAREST} nearest on the maps, "
        f"{two.agreement[0]:.0%} and {two.agreement[1]:.0%} are true ones."
    )
    item = scenes.adopt_item(lambda one: one in two.items)
    key = f"lasso of two {first.name} {second.name}"
    selected, _ = scenes.adopt_lasso(key, two.items)
    scene = PairScene(view, first, second, two, method, field, k, shares, item, selected, key)
    _draw(scene, look)
    _draw_groups(scene)
    _draw_images(scene)


def _colours(scene: PairScene) -> tuple[list[Category], np.ndarray]:
    if scene.field != OVERLAP:
        return colouring.by_value(scene.field, *scene.values(scene.field), scene.selected)
    fifth = np.clip(np.ceil(scene.shares * 5 - 1e-9).astype(int) - 1, 0, 4)
    counts = np.bincount(fifth, minlength=5)
    return [Category(name, int(counts[at]), mark, colour) for at, (name, mark, colour) in enumerate(SHARES)], fifth


def _draw(scene: PairScene, look: str) -> None:
    first, second, two = scene.first, scene.second, scene.two
    legend, line_of = _colours(scene)
    known, names = scene.values(filters.CLASS)
    shown = filters.fields(scene.view.images)[: colouring.HISTOGRAMS - 2]
    histograms = [
        _overlap_bars(scene.shares, scene.k),
        colouring.number_bars("distance moved", spaces.ways(two.before, two.after)),
        *(colouring.bars(name, *scene.values(name)) for name in shown),
    ]
    pictures = served.pictures(first.run.name, first.run.stamp)
    both = Pair(two.before, (first.name, second.name), look)
    of = f"{first}/{second}/{scene.method}"
    points = MapPoints(of, two.items, two.after, names, known, line_of, legend, pictures, histograms, both)
    scatter(
        points,
        key="two maps drawn",
        title="Share of neighbours in common" if scene.field == OVERLAP else scene.field.capitalize(),
        alt=f"Two maps of {len(two.items):,} images, {first.name} and {second.name}, coloured by {scene.field}",
        selected=scene.selected,
        picked=scene.item,
        lines=[] if scene.item is None else scenes.links_to(*scene.near(1)),
        kept=scenes.kept_in_address(points.of),
        on_select=partial(_select, scene.key),
        on_pick=scenes.pick,
    )


def _overlap_bars(shares: np.ndarray, k: int) -> Histogram:
    """A bar for each number of neighbours in common; of many neighbours in tenths."""
    if k >= colouring.BARS:
        return colouring.number_bars(OVERLAP, shares, 10)
    return Histogram(OVERLAP, [f"{one} of {k}" for one in range(k + 1)], np.rint(shares * k).astype(int))


def _select(key: str, ids: np.ndarray) -> None:
    st.session_state[key] = ids


def _draw_groups(scene: PairScene) -> None:
    groups = background.if_ready(_groups(scene.first, scene.second, scene.method, scene.two, scene.view.images))
    if groups is None:
        return
    st.subheader("Images that moved together", anchor=False)
    if not groups:
        st.caption("No group of images moved together from the first map to the second.")
        return
    st.caption(
        "Found by where they were and how they moved on these maps. A map can tear apart what is close: judge a group "
        "by its images."
    )
    with st.container(horizontal=True):
        for place, group in enumerate(groups):
            what = f"{group.share:.0%} {group.field} {group.value}" if group.field else "nothing in common"
            words = f"{len(group.rows):,} images: {what}, moved {group.far:.1f} × the map's spread"
            select = partial(_select, scene.key, scene.two.items[group.rows])
            words = page_frame.as_text(words)
            st.button(words, key=f"moved {place}", help="Select these images", on_click=select)


def _draw_images(scene: PairScene) -> None:
    sections, item, query = [], scene.item, None
    if item is not None:
        sections = [_neighbours(scene, space, at) for at, space in enumerate((scene.first, scene.second))]
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
        _links(scene, item)


def _neighbours(scene: PairScene, space: MappedSpace, at: int) -> CardSection:
    listed = scenes.neighbours(scene.view, int(scene.two.items[scene.row]), *scene.near(at))
    return CardSection(space.name, f"Nearest in {space.name}", listed, "in the full space")


def _selection(scene: PairScene) -> CardSection:
    rows, items, shares = np.flatnonzero(scene.selected), scene.two.items, scene.shares
    rows = rows[np.argsort(shares[rows], kind="stable")]
    listed = [cards.card(scene.view, items[row], value=f"{shares[row]:.0%} in common") for row in rows[:LISTED]]
    note = f"{len(rows):,} images, those with the fewest neighbours in common first"
    note += f"; {LISTED} shown" if len(rows) > LISTED else ""
    return CardSection("selection", "Selected on the map", listed, note, current=scene.item)


def _links(scene: PairScene, item: int) -> None:
    first, other = scene.first.run.name, scene.second.run.name
    rival = {} if first == other else {"rival": f"run:{other}"}
    with st.container(horizontal=True):
        if scene.view.whole.row(item) is not None:
            scene.view.link("Browse both runs" if rival else "Browse", query=str(item), **rival)
        scenes.deselect()
    if not rival:
        st.caption(
            "Browse shows the run as it was evaluated; other steps and checkpoints can be seen on this map only."
        )
