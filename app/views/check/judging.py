"""A list of images to judge, each with its neighbours and examples of its own and of the suggested class."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st

from app.components.gallery import Card, CardSection, Frame, Judging, JudgingAction, Query, gallery
from app.results import cards, selection
from app.results.cache import SplitView
from app.shared import address, background, page_frame, settings
from app.views.check.scene import ITEM, CheckScene
from lab.core.results import OTHER, SAME, UNKNOWN, EmbeddingSet, compared
from lab.runs import marks
from lab.runs.marks import Mark

ON_A_PAGE = 60
"""Images on a page."""

ROW = 6
"""Images in a row of evidence."""

AHEAD = 4
"""Number of next images whose evidence is sent in advance."""

NAMES = 2_000
"""Most classes whose names are suggested while the user types."""

LONG = 20
"""Number of characters from which the common beginning of two names is cut."""

NEAREST = "Its nearest neighbours"


@dataclass(frozen=True)
class Doubts:
    """Images to judge, the most likely errors first.

    items: int64 [m].
    suggested: int64 [m], a likely label, or -1.
    others: int64 [m], the image that each may repeat, or -1 for the nearest image.
    shares: [m], probability of an error, or similarity; NaN is not shown.
    where: [m], the splits, in words.
    """

    items: np.ndarray
    suggested: np.ndarray
    others: np.ndarray
    shares: np.ndarray
    where: np.ndarray

    def __len__(self) -> int:
        return len(self.items)

    def take(self, rows: np.ndarray | slice | Sequence[int]) -> "Doubts":
        """Return some rows."""
        return Doubts(
            self.items[rows],
            self.suggested[rows],
            self.others[rows],
            self.shares[rows],
            self.where[rows],
        )

    def choose(self) -> "Doubts":
        """Draw the choice of splits, and return their rows."""
        labels = {"": f"All splits ({len(self):,})"}
        for split in np.unique(self.where):
            labels[str(split)] = f"{split} ({(self.where == split).sum():,})"
        chosen = page_frame.choice(
            "Splits", labels, key="doubts of", link="of", **page_frame.COMPACT
        )
        if not chosen:
            return self
        return self.take(self.where == chosen)


def splits_of(scene: CheckScene, items: np.ndarray) -> np.ndarray:
    """Return the name of each image's split."""
    names = np.full(len(scene.view.images), "in no split", object)
    for name, split in scene.view.images.splits.items():
        names[split.items] = name
    return names[items]


def judge(scene: CheckScene, doubts: Doubts, section: CardSection) -> None:
    """Draw a page of the list, and the panel in which its images are judged. section: heading of the list."""
    view = scene.view
    pager = f"page of {section.id}"
    tools = st.container(horizontal=True, vertical_alignment="center")
    with tools:
        doubts = doubts.choose()
    shown = doubts.take(page_frame.page_slice(pager, len(doubts), ON_A_PAGE))
    items = shown.items.tolist()
    answered = {}
    for item, mark in selection.marks_of(view.run).items():
        if mark.answer:
            answered[item] = (mark.answer, mark.label)

    # The current image is that of the URL, or the first without an answer. Send evidence for the next ones, too.
    item = address.load_and_store("item", int, items, key=ITEM)
    unanswered = [row for row, item in enumerate(items) if item not in answered]
    current = (unanswered or [0])[0]
    if item is not None:
        current = items.index(item)
    after = [row for row in unanswered if row > current]
    before = [row for row in unanswered if row < current]
    coming = [current, *after, *before][: AHEAD + 1] if items else []
    frames, reading = _frames(scene, shown.take(coming))
    with tools:
        if items:
            _draw_browse_links(view, items[current])

    def act(action: JudgingAction) -> dict[str, int | None]:
        page = st.session_state[pager]
        history = _history(scene)
        updates: dict[str, int | None] = {ITEM: action.at}
        with page_frame.refusals(lambda reason: st.toast(f"The mark could not be saved: {reason}")):
            if action.does == "undo" and history:
                updates[ITEM] = _revert(scene, history)
            elif action.does != "undo" and action.ids:
                _answer(scene, shown, action, history)
            if action.last and page * ON_A_PAGE < len(doubts):
                updates[pager] = page + 1
        return updates

    class_names: list[str] = []
    if len(scene.names) <= NAMES:
        class_names = sorted({str(name) for name in scene.names if name})
    marked = {item: answered[item] for item in items if item in answered}
    listed = [_card(scene, shown, row) for row in range(len(shown))]
    current_item = items[current] if items else None
    gallery(
        [replace(section, cards=listed, current=current_item, empty="No images were found.")],
        key="judged",
        selected=selection.read(view.run).tolist(),
        on_select=selection.chooser(view.run, items),
        judging=Judging(frames, marked, class_names, bool(_history(scene)), act),
    )
    page_frame.page_buttons(pager, len(doubts), ON_A_PAGE)
    if reading.value is None:
        background.note(reading)


def _draw_browse_links(view: SplitView, item: int) -> None:
    """Draw a link to Browse for each split in which an image is a query."""
    for split in view.run.splits:
        if item in view.images.splits[split].query:
            query = {"run": view.run.name, "split": split, "query": str(item)}
            page_frame.link_to("browse", "Browse this image", query)


# --- answers ----------------------------------------------------------------------------------------------------------


History = list[dict[int, Mark | None]]
"""The marks that were replaced by each answer, the latest answer last."""


def _history(scene: CheckScene) -> History:
    """Return the history of this session. It is changed in place."""
    return st.session_state.setdefault(f"answers before, {scene.view.run.name}", [])


def _answer(scene: CheckScene, shown: Doubts, action: JudgingAction, history: History) -> None:
    """Store the user's answer for some images, and remember the marks that it replaces."""
    if action.label and action.label not in scene.names:
        raise ValueError(f"there is no class {action.label}.")
    before = selection.marks_of(scene.view.run)
    changes: dict[int, Mark | None] = {}
    for row in np.flatnonzero(np.isin(shown.items, action.ids)):
        item = int(shown.items[row])
        mark = Mark(tags=before.get(item, Mark()).tags)
        if action.does == "relabel":
            label = action.label
            if not label and shown.suggested[row] >= 0:
                label = str(scene.names[shown.suggested[row]])
            if label:
                changes[item] = replace(mark, answer="relabel", label=label)
            else:  # there is no new label, so the mark does not change
                changes[item] = before.get(item, mark)
        elif action.does == "duplicate":
            other = int(shown.others[row])
            if other < 0:
                other = _nearest(scene.features(), shown.items[row : row + 1], 1)[0][0]
            changes[item] = replace(mark, answer="duplicate", of=str(scene.view.images.keys[other]))
        else:
            changes[item] = replace(mark, answer=action.does)
    history.append(marks.write(settings.runs_root(), scene.view.images, changes))


def undo_button(scene: CheckScene) -> None:
    """Draw the button that undoes the last answer."""
    disabled = not _history(scene)
    st.button("Undo", icon=":material/undo:", on_click=_undo, args=(scene,), disabled=disabled)


def _undo(scene: CheckScene) -> None:
    history = _history(scene)
    if history:
        st.session_state[ITEM] = _revert(scene, history)


def _revert(scene: CheckScene, history: History) -> int | None:
    """Restore the marks before the last answer, and return its image."""
    marks.write(settings.runs_root(), scene.view.images, history[-1])
    return next(iter(history.pop()), None)


# --- evidence ---------------------------------------------------------------------------------------------------------


def _nearest(features: EmbeddingSet, items: np.ndarray, most: int) -> list[list[int]]:
    """Return the nearest other images of each item."""
    rows = np.searchsorted(features.items, items)
    similarities = features.vectors[rows] @ features.vectors.T
    similarities[np.arange(len(rows)), rows] = -np.inf
    return features.items[np.argsort(-similarities, axis=1, kind="stable")[:, :most]].tolist()


def _typical(features: EmbeddingSet, label: int, excluded: int) -> list[int]:
    """Return the most typical images of a class, those nearest to its mean, without one image."""
    rows = np.flatnonzero((features.labels == label) & (features.items != excluded))
    similarities = features.vectors[rows] @ features.vectors[rows].sum(0)
    return features.items[rows[np.argsort(-similarities, kind="stable")[:ROW]]].tolist()


def _frames(scene: CheckScene, coming: Doubts) -> tuple[list[Frame], background.Job[bool]]:
    """Return the panel of the current image, and those of the next images once their pictures are read."""
    features = scene.features()
    evidence: list[dict[str, list[int]]] = []
    next_items: set[int] = set()
    for row, near in enumerate(_nearest(features, coming.items, ROW)):
        item = coming.items[row]
        by_title = {NEAREST: near}
        for label in (scene.view.images.labels[item], coming.suggested[row]):
            if label >= 0:
                by_title[f"Examples of {scene.names[label]}"] = _typical(features, label, item)
        evidence.append(by_title)
        if row > 0:
            next_items.update(*by_title.values())
    reading = _pictures(scene.view, tuple(sorted(next_items)))
    if not reading.value:
        evidence = evidence[:1]
    return [_frame(scene, coming, row, by_title) for row, by_title in enumerate(evidence)], reading


@background.job("Reading the pictures of the next images", keep=4)
def _pictures(view: SplitView, items: tuple[int, ...]) -> bool:
    """Read small pictures into the cache."""
    for item in items:
        view.run.picture(item)
    return True


def _frame(scene: CheckScene, coming: Doubts, row: int, evidence: dict[str, list[int]]) -> Frame:
    """Return the panel of an image. evidence: heading to items."""
    item = int(coming.items[row])
    other = int(coming.others[row])
    share = coming.shares[row]
    suggested = ""
    if coming.suggested[row] >= 0:
        suggested = str(scene.names[coming.suggested[row]])
    sections = [_row(scene, item, title, items) for title, items in evidence.items()]
    if other >= 0:
        large = [
            _large(scene, item, [("similarity", f"{share:.3f}", "")]),
            _large(scene, other, []),
        ]
        return Frame(item, large, sections, suggested, "Same as the other")
    facts = [("looks like", suggested, "")]
    if not np.isnan(share):
        facts.append(("likely wrong", f"{share:.0%}", ""))
    return Frame(item, [_large(scene, item, facts)], sections, suggested, "Same as its nearest")


def _large(scene: CheckScene, item: int, facts: list[tuple[str, str, str]]) -> Query:
    split = str(splits_of(scene, np.array([item]))[0])
    query = cards.query(scene.view, item, [("split", split, ""), *facts])
    return replace(query, alt=f"to be judged: {query.title}")


def _row(scene: CheckScene, judged: int, title: str, items: list[int]) -> CardSection:
    """Return a row of evidence. Neighbours may have any class, and are right if they have that of the judged image."""
    if title != NEAREST:
        return CardSection(
            title, title, [cards.card(scene.view, item) for item in items], size="small quiet"
        )
    images = scene.view.images
    class_name = cards.image_title(images, judged)
    verdicts = cards.right(images, compared(images.labels[items], images.labels[judged]))
    near = []
    for item, right in zip(items, verdicts, strict=True):
        card = cards.card(scene.view, item, right=right)
        near.append(replace(card, title=apart(card.title, class_name)))
    return CardSection(title, title, near, size="small")


def _card(scene: CheckScene, shown: Doubts, row: int) -> Card:
    """Return the card of an image to judge, or of a pair."""
    images = scene.view.images
    item = int(shown.items[row])
    other = int(shown.others[row])
    where = shown.where[row]
    share = shown.shares[row]
    if other >= 0:
        verdict = int(compared(images.labels[item], images.labels[other]))
        words = {SAME: "same class", OTHER: "different classes", UNKNOWN: "class not known"}
        subtitle = f"{where} · {words[verdict]}"
        pair = cards.pair(
            scene.view, item, other, verdict == SAME, value=f"{share:.3f}", subtitle=subtitle
        )
        return replace(pair, id=item)
    name = apart(str(scene.names[shown.suggested[row]]), cards.image_title(images, item))
    value = str(where) if np.isnan(share) else f"{where} · {share:.0%}"
    return cards.card(scene.view, item, value=value, subtitle=f"looks like {name}")


def apart(name: str, other: str) -> str:
    """Shorten a long name by its common beginning with another name, cut at the end of a word."""
    if len(name) < LONG or name == other:
        return name
    common = re.match(r".*[^\w\s]\s*|.*[\s_]", os.path.commonprefix([name, other]))
    if common is None:
        return name
    return f"… {name[common.end() :]}"
