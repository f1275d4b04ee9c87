"""Two spaces of the same images on one map: another run, or the same run after an earlier step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import streamlit as st

import lab.maps
import lab.runs
from app import served
from app.components.gallery import Card, Section, gallery
from app.components.scatter import Category, Filter, Line, Pair, Points, scatter
from app.results import cache, cards, filters, projections, run_choice
from app.results.collection import Collection
from app.results.projections import TwoMaps
from app.shared import address, background, page_frame
from app.views.map import colouring
from lab.core.results import EmbeddingSet
from lab.core.streams import result_of
from lab.data import ImageSet
from lab.inspect import spaces
from lab.runs import Run
from lab.runs.folder import tensors

OVERLAP = "neighbour overlap"
NEIGHBOURS = (5, 10, 20, 50)
VIEWS = {"side": "Side by side", "one": "One after the other"}
LISTED = 24
EVALUATED = -1
"""In the place of a step: the model that was kept and evaluated."""
NOBODY = np.zeros(0, np.int64)
SHARES = (("0 to 20%", "cross", "#D55E00"), ("over 20 to 40%", "triangle", "#E69F00"),
          ("over 40 to 60%", "circle", "#999999"), ("over 60 to 80%", "square", "#56B4E9"),
          ("over 80 to 100%", "diamond", "#0072B2"))  # fmt: skip
"""Fifths of the neighbourhood that both spaces share: name, mark and colour."""


@dataclass(frozen=True)
class Space:
    """One of the two. step: of the stored validation, or None for the run as it was evaluated.

    checkpoint: `best` or `last`, whose embeddings are not stored, so that the images are embedded now.
    """

    run: cache.RunView
    split: str
    step: int | None
    stamp: float
    name: str
    checkpoint: str = ""

    def read(self) -> EmbeddingSet:
        run = lab.runs.open(cache.run_path(self.run.name))
        if self.checkpoint:
            return self._embedded(run)
        if self.step is None:
            return projections.sheet(run, self.split).whole
        read = tensors(run.frames()[self.step])
        return EmbeddingSet(read["vectors"], read["labels"], read["items"])

    def _embedded(self, run: Run) -> EmbeddingSet:
        from lab.runs.building.trained import open_trained  # torchvision and what it loads take seconds
        from lab.runs.evaluate import Examiner

        examiner = Examiner(open_trained(run, self.checkpoint))
        items = projections.sheet(run, self.split).whole.items
        return result_of(examiner.embed(examiner.trained.loader_of(cache.images(self.run.name, self.stamp)), items))


def choose(run: cache.RunView, split: str) -> tuple[Space, Space] | None:
    """Draw the choice of what to compare the run with; None while nothing is to be compared."""
    library = run_choice.library()
    folder = library[run.name]
    data = run_choice.data_of(folder)
    others = {
        f"run:{other.name}": other.name
        for other in library.runs
        if other.name != run.name and run_choice.data_of(other) == data and split in run_choice.view(other).splits
    }
    steps = list(folder.frames()) if split == "validation" else []
    options = {"": "nothing"} | others | {f"step:{step}": f"this run after step {step:,}" for step in steps}
    options |= {f"kept:{one}": f"this run, its {one} checkpoint" for one in _unused(folder, split)}
    chosen = page_frame.select(
        "Compare with", list(options), key="beside", format=lambda one: options.get(one, one), link="beside",
        help="Another run on the same images, another checkpoint of this run, or, of validation images, "
        "an earlier step.",
    )  # fmt: skip
    if not chosen:
        return None
    at = None
    if steps:
        moments = [EVALUATED, *steps]
        at = page_frame.select(
            "This run",
            moments,
            key="beside at",
            link="at",
            format=lambda step: "as evaluated" if step == EVALUATED else f"after step {step:,}",
        )
        at = None if at == EVALUATED else at
    else:
        st.caption(
            "This run stored no embeddings of earlier steps, so they cannot be compared."
            if split == "validation"
            else "Earlier steps of the training can be compared on the split Validation only."
        )
    kind, _, name = chosen.partition(":")
    first = _space(run, split, at)
    if kind == "run":
        return first, _space(run_choice.view(library[name]), split, None)
    if kind == "kept":
        return first, Space(run, split, None, run.stamp, f"{run.name}, {name} checkpoint", name)
    # Time goes from left to right: an earlier step is the first of the two.
    second = _space(run, split, int(name))
    return (second, first) if at is None or int(name) < at else (first, second)


def _unused(run: Run, split: str) -> list[str]:
    """The checkpoints that the stored embeddings of a split are not of."""
    if run.config.outside:
        return []
    return [one for one in ("best", "last") if run.checkpoint(one) and one != run.origin(split).checkpoint]


def _space(run: cache.RunView, split: str, step: int | None) -> Space:
    stamp = run.stamp if step is None else colouring.newest_frame(run_choice.library()[run.name])
    return Space(run, split, step, stamp, run.name if step is None else f"{run.name}, step {step:,}")


@background.job("Laying out both maps", keep=4)
def _laid_out(first: Space, second: Space, method: lab.maps.Method) -> TwoMaps:
    return projections.two_maps(first.read(), second.read(), method)


@background.job("Looking for images that moved together", keep=8)
def _groups(first: Space, second: Space, method: str, _two: TwoMaps, _images: ImageSet) -> list[spaces.Group]:
    fields = {name: filters.column(_images, name, _two.items) for name in filters.fields(_images)}
    return spaces.moved_together(_two.before, _two.after, fields)


def show(run: cache.RunView, split: str, both: tuple[Space, Space], method: lab.maps.Method, field: str) -> None:
    """Draw both maps and what follows from them."""
    first, second = both
    collection = cache.collection(run.name, split, run.stamp)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        view = page_frame.choice("View", list(VIEWS), key="pair view", format=VIEWS.__getitem__, link="view")
        k = page_frame.choice("Neighbours compared", NEIGHBOURS, key="pair near", link="k")
    two = background.or_wait(_laid_out(first, second, method))
    k = min(k, two.near[0].shape[1])
    shares = spaces.overlap(two.near[0][:, :k], two.near[1][:, :k])
    st.caption(page_frame.as_text(_words(two, both, shares, k)))
    address.adopt("item", int, lambda item: item in two.items, default=None)
    item = st.session_state.get("item")
    item = item if item is not None and item in two.items else None
    address.publish(item=item)
    key = f"lasso of two {first.name} {second.name}"
    address.adopt("lasso", lambda text: two.items[colouring.unpacked(text, len(two.items))], key=key, default=NOBODY)
    selected = np.isin(two.items, st.session_state.get(key, NOBODY))
    address.tell("lasso", colouring.packed(selected) if selected.any() else None)
    _draw(both, two, collection, view, method, field, shares, selected, item, k, key)
    _draw_groups(both, two, method, collection, key)
    _draw_images(both, two, collection, shares, selected, item, k)


def _words(two: TwoMaps, both: tuple[Space, Space], shares: np.ndarray, k: int) -> str:
    sample = f", a random sample of the {two.total:,} that both have" if len(two.items) < two.total else ""
    return (
        f"{both[0].name} and {both[1].name} · {len(two.items):,} images{sample}. Of an image's {k} nearest, "
        f"{shares.mean():.0%} are the same in both; {np.mean(shares < 0.2):.0%} of the images keep less than a fifth. "
        "The second map is aligned with the first. Of the "
        f"{projections.NEAREST} nearest on the maps, {two.agreement[0]:.0%} and {two.agreement[1]:.0%} are true ones."
    )


def _colours(
    two: TwoMaps, collection: Collection, field: str, shares: np.ndarray, selected: np.ndarray
) -> tuple[list[Category], np.ndarray]:
    if field != OVERLAP:
        known, codes = np.unique(filters.column(collection.images, field, two.items), return_inverse=True)
        return colouring.by_value(field, known.tolist(), codes, selected)
    fifth = np.clip(np.ceil(shares * 5 - 1e-9).astype(int) - 1, 0, 4)
    counts = np.bincount(fifth, minlength=5)
    return [Category(name, int(counts[at]), mark, colour) for at, (name, mark, colour) in enumerate(SHARES)], fifth


def _draw(
    both: tuple[Space, Space], two: TwoMaps, collection: Collection, view: str, method: str, field: str,
    shares: np.ndarray, selected: np.ndarray, item: int | None, k: int, key: str,
) -> None:  # fmt: skip
    first, second = both
    legend, line_of = _colours(two, collection, field, shares, selected)
    known, names = np.unique(filters.column(collection.images, filters.CLASS, two.items), return_inverse=True)
    way = spaces.ways(two.before, two.after)
    histograms = [
        _overlap_bars(shares, k),
        colouring.number_bars("distance moved", way),
        *(
            colouring.bars(name, *_coded(filters.column(collection.images, name, two.items)))
            for name in filters.fields(collection.images)[: colouring.HISTOGRAMS - 2]
        ),
    ]
    points = Points(
        of=f"{first}/{second}/{method}",
        ids=two.items, flat=two.after, names=names, known=known.tolist(), categories=line_of, legend=legend,
        pictures=served.pictures(first.run.name, first.run.stamp), filters=histograms,
        pair=Pair(two.before, (first.name, second.name), view),
    )  # fmt: skip
    lines = _lines(two, item, k) if item is not None else []
    scatter(
        points,
        key="two maps drawn",
        title="Share of neighbours in common" if field == OVERLAP else field.capitalize(),
        alt=f"Two maps of {len(two.items):,} images, {first.name} and {second.name}, coloured by {field}",
        selected=selected,
        picked=item,
        lines=lines,
        kept=colouring.kept(points.of),
        on_select=partial(_select, key),
        on_pick=_pick,
    )


def _overlap_bars(shares: np.ndarray, k: int) -> Filter:
    """A bar for each number of neighbours in common; of many neighbours in tenths."""
    if k >= colouring.BARS:
        return colouring.number_bars(OVERLAP, shares, 10)
    return Filter(OVERLAP, [f"{one} of {k}" for one in range(k + 1)], np.rint(shares * k).astype(int))


def _coded(values: np.ndarray) -> tuple[list[str], np.ndarray]:
    known, codes = np.unique(values, return_inverse=True)
    return known.tolist(), codes


def _select(key: str, ids: np.ndarray) -> None:
    st.session_state[key] = ids


def _pick(item: int) -> None:
    st.session_state["item"] = item


def _row(two: TwoMaps, item: int) -> int:
    return int(np.flatnonzero(two.items == item)[0])


def _lines(two: TwoMaps, item: int, k: int) -> list[Line]:
    """To the neighbours in the second space."""
    row = _row(two, item)
    return [
        Line(int(two.items[other]), bool(two.labels[other] == two.labels[row]), rank)
        for rank, other in enumerate(two.near[1][row, :k], start=1)
    ]


def _draw_groups(both: tuple[Space, Space], two: TwoMaps, method: str, collection: Collection, key: str) -> None:
    groups = background.if_ready(_groups(both[0], both[1], method, two, collection.images))
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
            st.button(
                page_frame.as_text(_name(group)), key=f"moved {place}", help="Select these images",
                on_click=partial(_select, key, two.items[group.rows]),
            )  # fmt: skip


def _name(group: spaces.Group) -> str:
    what = f"{group.share:.0%} {group.field} {group.value}" if group.field else "nothing in common"
    return f"{len(group.rows):,} images: {what}, moved {group.far:.1f} × the map's spread"


def _draw_images(
    both: tuple[Space, Space], two: TwoMaps, collection: Collection, shares: np.ndarray, selected: np.ndarray,
    item: int | None, k: int,
) -> None:  # fmt: skip
    sections = []
    if item is not None:
        sections += [_neighbours(space, two.near[at], two, collection, item, k) for at, space in enumerate(both)]
    if selected.any():
        sections.append(_selection(both[0], two, collection, shares, selected, item))
    if not sections:
        st.info("Click a point to see its neighbours in both spaces, or draw around several to list their images.")
        return
    query = None
    if item is not None:
        share = shares[_row(two, item)]
        facts = [("same neighbours", f"{share * k:.0f} of {k}", "that are among the nearest in both spaces")]
        query = cards.query(both[0].run, collection, item, facts)
    gallery(sections, key="two maps images", on_pick=lambda _, one: _pick(one), query=query)
    if item is not None:
        _links(both, collection, item)


def _neighbours(space: Space, near: np.ndarray, two: TwoMaps, collection: Collection, item: int, k: int) -> Section:
    row, known = _row(two, item), cards.has_class(collection, item)
    listed = [
        _card(
            space,
            collection,
            int(two.items[other]),
            rank,
            bool(two.labels[other] == two.labels[row]) if known else None,
        )
        for rank, other in enumerate(near[row, :k], start=1)
    ]
    return Section(space.name, f"Nearest in {space.name}", listed, "in the full space")


def _card(space: Space, collection: Collection, item: int, rank: int, right: bool | None) -> Card:
    return replace(cards.plain(space.run, collection, item), rank=rank, right=right)


def _selection(
    space: Space, two: TwoMaps, collection: Collection, shares: np.ndarray, selected: np.ndarray, item: int | None
) -> Section:
    rows = np.flatnonzero(selected)
    rows = rows[np.argsort(shares[rows], kind="stable")]
    listed = [
        cards.plain(space.run, collection, int(two.items[row]), value=f"{shares[row]:.0%} in common")
        for row in rows[:LISTED]
    ]
    note = f"{len(rows):,} images, those with the fewest neighbours in common first"
    note += f"; {LISTED} shown" if len(rows) > LISTED else ""
    return Section("selection", "Selected on the map", listed, note, current=item)


def _links(both: tuple[Space, Space], collection: Collection, item: int) -> None:
    first, second = both
    about = {"run": first.run.name, "split": first.split, "query": str(item)}
    words = "Browse"
    if first.run.name != second.run.name:
        about["rival"], words = f"run:{second.run.name}", "Browse both runs"
    with st.container(horizontal=True):
        if collection.row(item) is not None:
            st.page_link("views/browse/page.py", label=words, icon=":material/image_search:", query_params=about)
        st.button("Deselect", icon=":material/close:", on_click=lambda: st.session_state.pop("item", None))
    if first.run.name == second.run.name:
        st.caption(
            "Browse shows the run as it was evaluated; other steps and checkpoints can be seen on this map only."
        )
