"""The choice of a loss, and the inspection of its gradients on a batch."""

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
class LossInspection:
    """The inspection of a loss on a batch.

    values: loss of each query.
    limits: why there is no gradient per pair, or "". `pairs` is then the effect of one gradient step.
    weights: where the class weights of the loss come from, or "".
    """

    pairs: PairGradients
    direction: WrongDirection
    dead: DeadGradients
    values: np.ndarray
    limits: str
    weights: str


def choose_loss(run: Run) -> ChosenLoss:
    """Draw the choice of a loss and its parameters. At first they are those of the run."""
    config = run.config
    names = knob_forms.available("lab.losses")
    first = config.loss.name
    if first not in names:  # the run's loss is not installed here
        first = SECTIONS["loss"].default
    # the user has chosen another run
    if st.session_state.setdefault("loss of", run.name) != run.name:
        st.session_state["loss of"] = run.name
        st.session_state["loss"] = first
    labels = {name: entry_in_words(name) for name in names}
    if config.loss.name in labels:
        labels[config.loss.name] += " (the run's own)"

    # The parameters of the loss, which the URL holds.
    name = page_frame.select("Loss", labels, key="loss", initial=first)
    knobs = knob_forms.open_knobs(SECTIONS["loss"], name)
    root = f"inspect.{run.name}.{name}"
    sliders.load(config.loss, name, knobs, root)
    with page_frame.expander("Settings of this loss", link="settings"):
        values = sliders.panel(knobs, root)
    sliders.store(config.loss, name, values)
    is_wrapped = bool(config.wrappers) and name == config.loss.name
    if is_wrapped:
        wrappers = ", ".join(wrapper.name for wrapper in config.wrappers)
        page_frame.say(f"With the run's wrappers: {wrappers}.")
    return ChosenLoss(name, values, is_wrapped)


def has_pair_gradients(run: Run) -> bool:
    """Return whether the run's loss compares embeddings with each other, so that pairs have gradients."""
    name = run_choice.chosen_name(run_choice.config_of(run), "loss")
    return name in lab.losses.names() and lab.losses.get(name).family not in (
        "classification",
        "proxy",
    )


def check(batch: InspectedBatch) -> None:
    """Refuse a batch that no loss can use.

    Raises:
        ValueError: the batch has no pair, or no positive pair.
    """
    if len(batch) < 2:
        raise ValueError("This batch has fewer than two usable embeddings, so it has no pair.")
    if len(np.unique(batch.embedded.labels)) == len(batch):
        raise ValueError(
            "No two images of this batch have the same class, so it has no positive pair."
        )


@background.job("Inspecting every pair", keep=16)
def examine(
    view: SplitView, batch_key: str, code: str, _chosen: ChosenLoss, _batch: InspectedBatch
) -> LossInspection:
    """Inspect a loss on a batch. batch_key, code: identify the batch and the loss.

    Raises:
        ValueError: the loss cannot be created or cannot be called on this batch.
    """
    from lab import inspect

    loss, labels, weights = loss_for(view.run.folder, _chosen, _batch, view.split)
    vectors = _batch.embedded.vectors
    limits = ""
    try:
        pairs = inspect.pair_gradients(loss, vectors, labels)
    except ValueError as error:
        pairs = inspect.pair_motion(loss, vectors, labels)
        limits = _message(error, loss, _chosen)
    pairs = replace(pairs, name=entry_in_words(_chosen.name))
    # With SiMix there are more queries, the mixtures. They come after the images.
    values = inspect.query_values(loss, vectors, labels).values[: len(_batch)]
    wrong = inspect.wrong_direction(pairs)
    dead = inspect.dead_gradients(pairs)
    return LossInspection(pairs, wrong, dead, values, limits, weights)


def _message(error: ValueError, loss: Any, choice: ChosenLoss) -> str:
    """Return the message of an error, with the name of the loss on this page in place of its class."""
    return re.sub(rf"\b{type(loss).__name__}\b", entry_in_words(choice.name), str(error))


@background.job("Comparing the loss with the metrics", keep=32)
def bounds(
    view: SplitView, batch_key: str, code: str, _chosen: ChosenLoss, _batch: InspectedBatch
) -> dict[str, MetricBound]:
    """Check for each metric whether the loss bounds its error, query by query.

    The loss is used without wrappers and without mixed images, because a mixture has no true metric.

    Raises:
        ValueError: the loss has no value per query.
    """
    from lab import inspect

    values = dict(_chosen.values)
    if "simix" in values:
        values["simix"] = False
    plain = ChosenLoss(_chosen.name, values)
    loss, labels, _ = loss_for(view.run.folder, plain, _batch, view.split)
    vectors = _batch.embedded.vectors
    try:
        by_metric = {"AP": inspect.metric_bound(loss, vectors, labels)}
    except ValueError as error:
        raise ValueError(_message(error, loss, _chosen)) from error
    for k in (1, 4):
        by_metric[f"recall@{k}"] = inspect.metric_bound(loss, vectors, labels, "recall_at_k", k)
    name = entry_in_words(_chosen.name)
    return {metric: replace(bound, name=name) for metric, bound in by_metric.items()}
