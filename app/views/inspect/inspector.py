"""What the Inspect page asks the inspector, and keeps: a loss, a batch, and what the one does to the other."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

import lab.losses
from app.forms import knob_forms, sliders
from app.results.cache import SplitView
from app.shared import address, background, page_frame
from lab.core.knobs import Knob, describe
from lab.core.knobs.labels import entry_in_words
from lab.maps.of_run import stratified
from lab.runs import Run
from lab.runs.building import batches
from lab.runs.building.batches import ChosenLoss, InspectedBatch, loss_for
from lab.runs.config import SECTIONS, derived_knobs

if TYPE_CHECKING:
    from lab.inspect import DeadGradients, Decomposability, MetricBound, PairGradients, WrongDirection

SPREAD = 1_000
"""Images of a split on which the gap between batches and the whole is measured."""


@dataclass(frozen=True)
class Findings:
    """What the inspector says about a loss on a batch.

    limits: why there is no gradient per pair, in a sentence; the pairs then tell what one step does to them.
    weights: where the class weights of the loss come from; empty when it has none.
    """

    pairs: PairGradients
    direction: WrongDirection
    dead: DeadGradients
    values: np.ndarray
    limits: str
    weights: str


@dataclass(frozen=True)
class Bounds:
    """Metric to whether the loss bounds its error, and where the class weights of the loss come from, as in
    `Findings`."""

    of: dict[str, MetricBound]
    weights: str


def choose_loss(run: Run) -> ChosenLoss:
    """Draw the loss and its knobs; the run's own first, with its knobs."""
    config = run.config
    names = knob_forms.offered("lab.losses")
    first = config.loss.name if config.loss.name in names else SECTIONS["loss"].default  # it may not be here
    if st.session_state.setdefault("loss of", run.name) != run.name:  # another run brings its own loss
        st.session_state["loss of"], st.session_state["loss"] = run.name, first
    titles = {one: entry_in_words(one) + " (the run's own)" * (one == config.loss.name) for one in names}
    name = page_frame.select("Loss", titles, key="loss", initial=first)
    declared = lab.losses.get(name).Knobs
    derived = derived_knobs(SECTIONS["loss"], declared)
    knobs = [knob for knob in describe(declared) if knob.name not in derived]
    root = f"inspect.{run.name}.{name}"
    sliders.adopt(config.loss, name, knobs, root)
    values = _variant(knobs, root)
    with page_frame.fold("Settings of this loss", link="settings"):
        values |= sliders.panel([knob for knob in knobs if knob.name != "variant"], root)
    trained_with = name == config.loss.name
    sliders.tell(config.loss, name, values)
    if not (config.wrappers and trained_with):
        return ChosenLoss(name, values)
    key = f"{root} wrapped"
    address.adopt("wrapped", str, ("yes", "no"))
    if given := st.session_state.pop("wrapped", None):
        st.session_state[key] = given == "yes"
    wrappers = ", ".join(one.name for one in config.wrappers)
    return ChosenLoss(name, values, page_frame.toggle("With the run's wrappers", key=key, initial=True, help=wrappers))


def as_address(run: Run, chosen: ChosenLoss) -> dict[str, str | None]:
    """What of a loss goes into the page's address besides its knobs: its name, and wrappers taken off."""
    bare = chosen.name == run.config.loss.name and run.config.wrappers and not chosen.wrapped
    return {"loss": chosen.name, "wrapped": "no" if bare else None}


def _variant(knobs: list[Knob], root: str) -> dict[str, Any]:
    """The switch between the paper's formula and what the released code computes, where there is one."""
    knob = next((knob for knob in knobs if knob.name == "variant"), None)
    if knob is None:
        return {}
    words = {"paper": "Paper", "released": "Released code", "released_224": "Released code for 224 pixels"}
    ask = page_frame.choice if len(knob.choices) < 3 else page_frame.few  # three buttons do not fit side by side
    titles = {one: words.get(one, one) for one in knob.choices}
    return {"variant": ask("Formula", titles, key=f"{root}.variant")}


def check(batch: InspectedBatch) -> None:
    """Refuse what no loss can be asked of.

    Raises:
        ValueError: there is no pair to look at, or none of one class.
    """
    if len(batch) < 2:
        raise ValueError("This batch has fewer than two usable embeddings, so there is no pair to look at.")
    if len(np.unique(batch.embedded.labels)) == len(batch):
        raise ValueError("No two images of this batch share a class, so no loss has anything to pull together.")


@background.job("Inspecting every pair", keep=16)
def find(view: SplitView, about: str, code: str, _chosen: ChosenLoss, _batch: InspectedBatch) -> Findings:
    """Inspect a loss on a batch. about, code: change when the batch or the loss does.

    Raises:
        ValueError: the loss cannot be made or cannot be called on this batch; says why.
    """
    from lab import inspect

    loss, labels, weights = loss_for(view.run.folder, _chosen, _batch, view.split)
    vectors = _batch.embedded.vectors
    try:
        pairs, limits = inspect.pair_gradients(loss, vectors, labels), ""
    except ValueError as error:
        pairs, limits = inspect.pair_motion(loss, vectors, labels), _in_words(error, loss, _chosen)
    pairs = replace(pairs, name=entry_in_words(_chosen.name))
    # SiMix asks with mixtures, too; they come after the images.
    values = inspect.query_values(loss, vectors, labels).values[: len(_batch)]
    return Findings(pairs, inspect.wrong_direction(pairs), inspect.dead_gradients(pairs), values, limits, weights)


def _in_words(error: ValueError, loss: Any, choice: ChosenLoss) -> str:
    """What the library says, with the loss called as everywhere on the page and not by its class."""
    return re.sub(rf"\b{type(loss).__name__}\b", entry_in_words(choice.name), str(error))


def plain(chosen: ChosenLoss) -> ChosenLoss:
    """The loss without wrappers and without mixing images: a mixture has no true metric."""
    mixing = {"simix": False} if "simix" in chosen.values else {}
    return ChosenLoss(chosen.name, {**chosen.values, **mixing})


@background.job("Comparing the loss with the metrics", keep=32)
def bounds(view: SplitView, about: str, code: str, _chosen: ChosenLoss, _batch: InspectedBatch) -> Bounds:
    """Whether the loss, see `plain`, bounds the metrics' errors, query by query.

    Raises:
        ValueError: the loss has no value per query.
    """
    from lab import inspect

    loss, labels, weights = loss_for(view.run.folder, plain(_chosen), _batch, view.split)
    vectors = _batch.embedded.vectors
    try:
        by_metric = {"AP": inspect.metric_bound(loss, vectors, labels)}
    except ValueError as error:
        raise ValueError(_in_words(error, loss, _chosen)) from error
    for k in (1, 4):
        by_metric[f"recall@{k}"] = inspect.metric_bound(loss, vectors, labels, "recall_at_k", k)
    named = entry_in_words(_chosen.name)
    return Bounds({metric: replace(bound, name=named) for metric, bound in by_metric.items()}, weights)


@background.job("Splitting into batches", keep=8)
def gap(view: SplitView, size: int) -> Decomposability:
    """How far the AP of random batches of this size flatters the AP of a split (a sample of it where it is large)."""
    from lab import inspect

    pool = view.whole.gallery
    rows = stratified(pool.labels, SPREAD)
    return inspect.decomposability(pool.vectors[rows], pool.labels[rows], (min(size, len(rows)),), splits=3)


def list_problem(chosen: ChosenLoss) -> str:
    """Why a similarity of this loss cannot be changed alone; empty when it can."""
    from lab import inspect

    if chosen.name in inspect.list_losses():
        return ""
    words = entry_in_words(chosen.name)
    others = ", ".join(map(entry_in_words, inspect.list_losses()[:6]))
    return (
        f"For {words} one similarity cannot change alone: it looks at more than the query's own list (class weights, "
        f"lengths, or what the images have in common with each other). Choose another loss, such as {others}."
    )


def read_batch(view: SplitView, code: str, draw: int, item: int | None) -> tuple[InspectedBatch, str]:
    """A batch, and a word that changes when it does."""
    about = f"{code}/{view.split}/{draw if code == batches.DRAWN else ''}/{item if code == batches.QUERY else ''}"
    return batches.read(view.run.folder, code, view.whole, draw, item), about
