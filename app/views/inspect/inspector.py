"""What the Inspect page asks the inspector, and keeps: a loss, a batch, and what the one does to the other."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

import lab.losses
from app.forms import knob_forms, sliders
from app.results import run_choice
from app.results.cache import SplitView
from app.shared import background, page_frame
from lab.core.knobs.labels import entry_in_words
from lab.runs import Run
from lab.runs.building.batches import ChosenLoss, InspectedBatch, loss_for
from lab.runs.config import SECTIONS

if TYPE_CHECKING:
    from lab.inspect import DeadGradients, MetricBound, PairGradients, WrongDirection


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


def choose_loss(run: Run) -> ChosenLoss:
    """Draw the loss and its knobs; the run's own first, with its knobs."""
    config = run.config
    names = knob_forms.available("lab.losses")
    first = config.loss.name if config.loss.name in names else SECTIONS["loss"].default  # it may not be here
    if st.session_state.setdefault("loss of", run.name) != run.name:  # another run brings its own loss
        st.session_state["loss of"], st.session_state["loss"] = run.name, first
    titles = {one: entry_in_words(one) + " (the run's own)" * (one == config.loss.name) for one in names}
    name = page_frame.select("Loss", titles, key="loss", initial=first)
    knobs = knob_forms.open_knobs(SECTIONS["loss"], name)
    root = f"inspect.{run.name}.{name}"
    sliders.load(config.loss, name, knobs, root)
    with page_frame.expander("Settings of this loss", link="settings"):
        values = sliders.panel(knobs, root)
    sliders.store(config.loss, name, values)
    wrapped = bool(config.wrappers) and name == config.loss.name
    if wrapped:
        page_frame.say(f"With the run's wrappers: {', '.join(one.name for one in config.wrappers)}.")
    return ChosenLoss(name, values, wrapped)


def on_pairs(run: Run) -> bool:
    """Whether the run's loss compares embeddings with each other, so that its pairs have gradients."""
    name = run_choice.chosen_name(run_choice.config_of(run), "loss")
    return name in lab.losses.names() and lab.losses.get(name).family not in ("classification", "proxy")


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


@background.job("Comparing the loss with the metrics", keep=32)
def bounds(
    view: SplitView, about: str, code: str, _chosen: ChosenLoss, _batch: InspectedBatch
) -> dict[str, MetricBound]:
    """Whether the loss bounds the metrics' errors, query by query: by metric. It is taken without wrappers and without
    mixing images: a mixture has no true metric.

    Raises:
        ValueError: the loss has no value per query.
    """
    from lab import inspect

    plain = ChosenLoss(_chosen.name, _chosen.values | ({"simix": False} if "simix" in _chosen.values else {}))
    loss, labels, _ = loss_for(view.run.folder, plain, _batch, view.split)
    vectors = _batch.embedded.vectors
    try:
        by_metric = {"AP": inspect.metric_bound(loss, vectors, labels)}
    except ValueError as error:
        raise ValueError(_in_words(error, loss, _chosen)) from error
    for k in (1, 4):
        by_metric[f"recall@{k}"] = inspect.metric_bound(loss, vectors, labels, "recall_at_k", k)
    named = entry_in_words(_chosen.name)
    return {metric: replace(bound, name=named) for metric, bound in by_metric.items()}
