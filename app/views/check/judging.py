"""A list of images to be judged, each with its evidence: its neighbours, examples of its class and of the other one."""

import os
import re
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace

import numpy as np
import streamlit as st

from app.components.gallery import Card, CardSection, Frame, Judging, JudgingAction, Query, gallery
from app.results import cards, selection
from app.results.cache import SplitView
from app.shared import address, background, page_frame, settings
from app.views.check.scene import ITEM, Scene
from lab.core.results import OTHER, SAME, UNKNOWN, EmbeddingSet, compared
from lab.runs import marks
from lab.runs.marks import Mark

ON_A_PAGE = 60
ROW = 6
"""Images in a row of evidence."""
AHEAD = 4
"""Images whose evidence is sent before they are looked at."""
NAMES = 2_000
"""Classes up to which their names are offered while one is typed."""
LONG = 20
"""Characters from which on the common beginning of two names is cut."""
NEAREST = "Its nearest neighbours"


@dataclass(frozen=True)
class Doubts:
    """Images to be judged, the surest first: items int64 [m].

    suggested: int64 [m], label that each may have; -1 for none. others: int64 [m], the image that each may repeat; -1
    for the nearest one. shares: [m], how likely or how similar, NaN for not told. where: [m], the splits, in words.
    """

    items: np.ndarray
    suggested: np.ndarray
    others: np.ndarray
    shares: np.ndarray
    where: np.ndarray

    def __len__(self) -> int:
        return len(self.items)

    def take(self, rows: np.ndarray | slice | Sequence[int]) -> "Doubts":
        """Some of them."""
        return Doubts(self.items[rows], self.suggested[rows], self.others[rows], self.shares[rows], self.where[rows])

    def choose(self) -> "Doubts":
        """Those of the splits that a person chooses."""
        counts = {"": f"All splits ({len(self):,})"}
        counts |= {str(one): f"{one} ({(self.where == one).sum():,})" for one in np.unique(self.where)}
        split = page_frame.choice("Splits", counts, key="doubts of", link="of", **page_frame.COMPACT)
        return self.take(self.where == split) if split else self


def splits_of(scene: Scene, items: np.ndarray) -> np.ndarray:
    """The split of each image, in words."""
    names = np.full(len(scene.view.images), "in no split", object)
    for name, split in scene.view.images.splits.items():
        names[split.items] = name
    return names[items]


def judge(scene: Scene, doubts: Doubts, listed: CardSection) -> None:
    """The list, page by page, and the panel in which its images are judged. listed: its heading, without cards."""
    view, pager, tools = scene.view, f"page of {listed.id}", st.container(horizontal=True, vertical_alignment="center")
    with tools:
        doubts = doubts.choose()
    here = doubts.take(page_frame.page_slice(pager, len(doubts), ON_A_PAGE))
    known, items = selection.marks_of(view.run), here.items.tolist()
    item = address.load_and_store("item", int, items, key=ITEM)
    still = [row for row, one in enumerate(items) if not known.get(one, Mark()).answer]
    at = (still or [0])[0] if item is None else items.index(item)
    coming = [at, *(row for row in still if row > at), *(row for row in still if row < at)][: AHEAD + 1]
    frames, reading = _frames(scene, here.take(coming if items else []))
    with tools:
        for split in view.run.splits:
            if items and items[at] in view.images.splits[split].query:
                query = {"run": view.run.name, "split": split, "query": str(items[at])}
                page_frame.link_to("browse", "Browse this image", query)

    def tell(told: JudgingAction) -> dict[str, int | None]:
        page, given = st.session_state[pager], _given(scene)
        then: dict[str, int | None] = {ITEM: told.at}
        with page_frame.refusals(lambda why: st.toast(f"The mark could not be saved: {why}")):
            if told.does == "undo" and given:
                then[ITEM] = _take_back(scene, given)
            elif told.does != "undo" and told.ids:
                _answer(scene, here, told, given)
            if told.last and page * ON_A_PAGE < len(doubts):
                then[pager] = page + 1
        return then

    said = {one: (known[one].answer, known[one].label) for one in items if known.get(one, Mark()).answer}
    names = sorted({str(name) for name in scene.names if name}) if len(scene.names) <= NAMES else []
    looks = [_card(scene, here, row) for row in range(len(here))]
    gallery(
        [replace(listed, cards=looks, current=items[at] if items else None, empty="None were found.")],
        key="judged",
        selected=selection.read(view.run).tolist(),
        on_select=selection.chooser(view.run, items),
        judging=Judging(frames, said, names, bool(_given(scene)), tell),
    )
    page_frame.page_buttons(pager, len(doubts), ON_A_PAGE)
    if reading.value is None:
        background.note(reading)


# --- answers ----------------------------------------------------------------------------------------------------------


Before = list[dict[int, Mark | None]]
"""What stood where answers were given, the last one at the end."""


def _given(scene: Scene) -> Before:
    """The list of this session, which is changed in place."""
    return st.session_state.setdefault(f"answers before, {scene.view.run.name}", [])


def _answer(scene: Scene, here: Doubts, told: JudgingAction, given: Before) -> None:
    """Keep what a person said of some images, and what stood there before."""
    known = selection.marks_of(scene.view.run)
    changes: dict[int, Mark | None] = {}
    if told.label and told.label not in scene.names:
        raise ValueError(f"there is no class {told.label}.")
    for row in np.flatnonzero(np.isin(here.items, told.ids)):
        item, suggested, other = (int(one[row]) for one in (here.items, here.suggested, here.others))
        mark = Mark(tags=known.get(item, Mark()).tags)
        if told.does == "relabel":
            label = told.label or (scene.names[suggested] if suggested >= 0 else "")
            mark = replace(mark, answer="relabel", label=str(label)) if label else known.get(item, mark)
        elif told.does == "duplicate":
            other = other if other >= 0 else _nearest(scene.whole(), here.items[row : row + 1], 1)[0][0]
            mark = replace(mark, answer="duplicate", of=str(scene.view.images.keys[other]))
        else:
            mark = replace(mark, answer=told.does)
        changes[item] = mark
    given.append(marks.write(settings.runs_root(), scene.view.images, changes))


def undo_button(scene: Scene) -> None:
    """The button that takes the last answer back."""
    none = not _given(scene)
    st.button("Undo", icon=":material/undo:", on_click=_undo, args=(scene,), disabled=none)


def _undo(scene: Scene) -> None:
    if given := _given(scene):
        st.session_state[ITEM] = _take_back(scene, given)


def _take_back(scene: Scene, given: Before) -> int | None:
    """Bring back what stood where the last answer was given; return the image that it was of."""
    marks.write(settings.runs_root(), scene.view.images, given[-1])
    return next(iter(given.pop()), None)


# --- evidence ---------------------------------------------------------------------------------------------------------


def _nearest(whole: EmbeddingSet, items: np.ndarray, most: int) -> list[list[int]]:
    """The nearest other images of each of some."""
    rows = np.searchsorted(whole.items, items)
    near = whole.vectors[rows] @ whole.vectors.T
    near[np.arange(len(rows)), rows] = -np.inf
    return whole.items[np.argsort(-near, axis=1, kind="stable")[:, :most]].tolist()


def _typical(whole: EmbeddingSet, label: int, but: int) -> list[int]:
    """The most typical images of a class: those nearest to its mean."""
    mine = np.flatnonzero((whole.labels == label) & (whole.items != but))
    near = whole.vectors[mine] @ whole.vectors[mine].sum(0)
    return whole.items[mine[np.argsort(-near, kind="stable")[:ROW]]].tolist()


def _frames(scene: Scene, coming: Doubts) -> tuple[list[Frame], background.Job[bool]]:
    """The evidence of the current image, and of the next ones as soon as their pictures are read."""
    whole, labels, names = scene.whole(), scene.view.images.labels, scene.names
    rows = [{NEAREST: near} for near in _nearest(whole, coming.items, ROW)]
    for row, item, suggested in zip(rows, coming.items, coming.suggested, strict=True):
        for label in (labels[item], suggested):
            if label >= 0:
                row[f"Examples of {names[label]}"] = _typical(whole, label, item)
    wanted = {item for row in rows[1:] for items in row.values() for item in items}
    reading = _pictures(scene.view, tuple(sorted(wanted)))
    ready = len(rows) if reading.value else 1
    return [_frame(scene, coming, at, row) for at, row in enumerate(rows[:ready])], reading


@background.job("Reading the pictures of the next images", keep=4)
def _pictures(view: SplitView, items: tuple[int, ...]) -> bool:
    """Have small pictures at hand before they are asked for."""
    return all(view.run.picture(item) or True for item in items)


def _frame(scene: Scene, coming: Doubts, at: int, rows: dict[str, list[int]]) -> Frame:
    item, suggested, other, share, _ = (one[at] for one in astuple(coming))
    name = str(scene.names[suggested]) if suggested >= 0 else ""
    facts = [("looks like", name, "")]
    if not np.isnan(share):
        facts.append(("likely wrong", f"{share:.0%}", ""))
    shown = [_large(scene, item, facts if other < 0 else [("similarity", f"{share:.3f}", "")])]
    if other >= 0:
        shown.append(_large(scene, other, []))
    sections = [_row(scene, item, title, items) for title, items in rows.items()]
    return Frame(int(item), shown, sections, name, "Same as its nearest" if other < 0 else "Same as the other")


def _large(scene: Scene, item: int, facts: list[tuple[str, str, str]]) -> Query:
    query = cards.query(scene.view, int(item), [("split", str(splits_of(scene, np.array([item]))[0]), ""), *facts])
    return replace(query, alt=f"to be judged: {query.title}")


def _row(scene: Scene, judged: int, title: str, items: list[int]) -> CardSection:
    """A row of evidence. Neighbours may be of any class, and are right where they have that of the judged one."""
    labels, own = scene.view.images.labels, cards.image_title(scene.view.images, judged)
    if title != NEAREST:
        return CardSection(title, title, [cards.card(scene.view, one) for one in items], size="small quiet")
    verdicts = cards.right(scene.view.images, compared(labels[items], labels[judged]))
    listed = [cards.card(scene.view, one, right=right) for one, right in zip(items, verdicts, strict=True)]
    return CardSection(title, title, [replace(one, title=apart(one.title, own)) for one in listed], size="small")


def _card(scene: Scene, here: Doubts, row: int) -> Card:
    """A doubtful image in the list, or a pair of them."""
    images, item, other, where = scene.view.images, int(here.items[row]), int(here.others[row]), here.where[row]
    if other >= 0:
        verdict = int(compared(images.labels[item], images.labels[other]))
        words = {SAME: "same class", OTHER: "different classes", UNKNOWN: "class not known"}
        said = f"{where} · {words[verdict]}"
        pair = cards.pair(scene.view, item, other, verdict == SAME, value=f"{here.shares[row]:.3f}", subtitle=said)
        return replace(pair, id=item)
    name = apart(str(scene.names[here.suggested[row]]), cards.image_title(images, item))
    likely = "" if np.isnan(here.shares[row]) else f" · {here.shares[row]:.0%}"
    return cards.card(scene.view, item, value=f"{where}{likely}", subtitle=f"looks like {name}")


def apart(name: str, other: str) -> str:
    """A long name without the beginning that it has in common with another one, cut where a word ends."""
    common = re.match(r".*[^\w\s]\s*|.*[\s_]", os.path.commonprefix([name, other]))
    return name if common is None or len(name) < LONG or name == other else f"… {name[common.end() :]}"
