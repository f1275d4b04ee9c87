"""What the Inspect page asks the inspector, and keeps: a loss, a batch, and what the one does to the other."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import streamlit as st

import lab.losses
import lab.runs
from app.forms import knob_forms, knob_labels, loss_knobs, sliders
from app.results import cache, projections, run_choice
from app.shared import address, background, page_frame
from app.shared.background import Job
from app.views.inspect import batches
from app.views.inspect.batches import InspectedBatch
from lab.core.knobs import Knob, describe
from lab.core.results import EmbeddingSet
from lab.runs import Run, RunConfig
from lab.runs.config import SECTIONS, derived_knobs

if TYPE_CHECKING:
    from lab.inspect import DeadGradients, Decomposability, MetricBound, PairGradients, WrongDirection
    from lab.losses import Loss

WRAPPED = "loss."
"""What a wrapper puts before the names of the weights of what it wraps."""
SPREAD = 1_000
"""Images of a split on which the gap between batches and the whole is measured."""


@dataclass(frozen=True)
class ChosenLoss:
    """A loss to inspect. values: its knobs. wrapped: with the run's wrappers."""

    name: str
    values: dict[str, Any]
    wrapped: bool = False

    @property
    def code(self) -> str:
        """Equal for equal losses; a key for caches."""
        return json.dumps([self.name, self.values, self.wrapped], sort_keys=True)


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
    name = page_frame.select(
        "Loss", names, key="loss", initial=first,
        format=lambda one: knob_labels.named(one) + (" (the run's own)" if one == config.loss.name else ""),
    )  # fmt: skip
    declared = lab.losses.get(name).Knobs
    derived = derived_knobs(SECTIONS["loss"], declared)
    knobs = [knob for knob in describe(declared) if knob.name not in derived]
    root = f"inspect.{run.name}.{name}"
    loss_knobs.adopt(config.loss, name, knobs, root)
    values = _variant(knobs, root)
    with page_frame.fold("Settings of this loss", link="settings"):
        values |= sliders.panel([knob for knob in knobs if knob.name != "variant"], root)
    trained_with = name == config.loss.name
    loss_knobs.tell(config.loss, name, values)
    wrapped = bool(config.wrappers) and trained_with and _asks_wrappers(run, root)
    return ChosenLoss(name, values, wrapped)


def as_address(run: Run, chosen: ChosenLoss) -> dict[str, str | None]:
    """What of a loss goes into the page's address besides its knobs: its name, and wrappers taken off."""
    bare = chosen.name == run.config.loss.name and run.config.wrappers and not chosen.wrapped
    return {"loss": chosen.name, "wrapped": "no" if bare else None}


def _asks_wrappers(run: Run, root: str) -> bool:
    """The switch for the run's wrappers."""
    key = f"{root} wrapped"
    address.adopt("wrapped", str, ("yes", "no"))
    answer = st.session_state.pop("wrapped", None)
    if answer:
        st.session_state[key] = answer == "yes"
    page_frame.keep(key, True)
    names = ", ".join(one.name for one in run.config.wrappers)
    return st.toggle("With the run's wrappers", key=key, persist_state="session", help=names)


def _variant(knobs: list[Knob], root: str) -> dict[str, Any]:
    """The switch between the paper's formula and what the released code computes, where there is one."""
    knob = next((knob for knob in knobs if knob.name == "variant"), None)
    if knob is None:
        return {}
    words = {"paper": "Paper", "released": "Released code", "released_224": "Released code for 224 pixels"}
    ask = page_frame.choice if len(knob.choices) < 3 else page_frame.few  # three buttons do not fit side by side
    chosen = ask("Formula", knob.choices, key=f"{root}.variant", format=lambda one: words.get(one, one))
    return {"variant": chosen}


def find(run: cache.RunView, split: str, batch: InspectedBatch, about: str, chosen: ChosenLoss) -> Job[Findings]:
    """Inspect a loss on a batch. about: changes when the batch does.

    Raises:
        ValueError: there is no pair to look at, or none of one class. The job's value: the loss cannot be made or
            cannot be called on this batch; says why.
    """
    if len(batch) < 2:
        raise ValueError("This batch has fewer than two usable embeddings, so there is no pair to look at.")
    if len(np.unique(batch.embedded.labels)) == len(batch):
        raise ValueError("No two images of this batch share a class, so no loss has anything to pull together.")
    return _found(run.name, run.stamp, split, about, chosen.code, chosen, batch)


@background.job("Inspecting every pair", keep=16)
def _found(
    name: str, stamp: float, split: str, about: str, code: str, _asked: ChosenLoss, _batch: InspectedBatch
) -> Findings:
    from lab import inspect

    run = lab.runs.open(cache.run_path(name))
    loss, labels, weights = loss_for(run, _asked, _batch, split)
    vectors = _batch.embedded.vectors
    try:
        pairs, limits = inspect.pair_gradients(loss, vectors, labels), ""
    except ValueError as error:
        pairs, limits = inspect.pair_motion(loss, vectors, labels), _in_words(error, loss, _asked)
    pairs = replace(pairs, name=knob_labels.named(_asked.name))
    # SiMix asks with mixtures, too; they come after the images.
    values = inspect.query_values(loss, vectors, labels).values[: len(_batch)]
    return Findings(pairs, inspect.wrong_direction(pairs), inspect.dead_gradients(pairs), values, limits, weights)


def _in_words(error: ValueError, loss: Any, choice: ChosenLoss) -> str:
    """What the library says, with the loss called as everywhere on the page and not by its class."""
    return re.sub(rf"\b{type(loss).__name__}\b", knob_labels.named(choice.name), str(error))


@background.job("Comparing the loss with the metrics", keep=32)
def _bounds(
    name: str, stamp: float, split: str, about: str, code: str, _asked: ChosenLoss, _batch: InspectedBatch
) -> Bounds:
    from lab import inspect

    loss, labels, weights = loss_for(lab.runs.open(cache.run_path(name)), plain(_asked), _batch, split)
    vectors = _batch.embedded.vectors
    try:
        by_metric = {"AP": inspect.metric_bound(loss, vectors, labels)}
    except ValueError as error:
        raise ValueError(_in_words(error, loss, _asked)) from error
    for k in (1, 4):
        by_metric[f"recall@{k}"] = inspect.metric_bound(loss, vectors, labels, "recall_at_k", k)
    name = knob_labels.named(_asked.name)
    return Bounds({metric: replace(bound, name=name) for metric, bound in by_metric.items()}, weights)


def plain(chosen: ChosenLoss) -> ChosenLoss:
    """The loss without wrappers and without mixing images: a mixture has no true metric."""
    mixing = {"simix": False} if "simix" in chosen.values else {}
    return ChosenLoss(chosen.name, {**chosen.values, **mixing})


def bounds(run: cache.RunView, split: str, batch: InspectedBatch, about: str, chosen: ChosenLoss) -> Job[Bounds]:
    """Whether the loss, see `plain`, bounds the metrics' errors, query by query; a ValueError of the job's value
    says that the loss has no value per query."""
    return _bounds(run.name, run.stamp, split, about, chosen.code, chosen, batch)


@background.job("Splitting into batches", keep=8)
def gap(name: str, split: str, stamp: float, size: int, _pool: EmbeddingSet) -> Decomposability:
    """How far the AP of random batches of this size flatters the AP of a split (a sample of it where it is large)."""
    from lab import inspect

    rows = projections.stratified(_pool.labels, SPREAD)
    return inspect.decomposability(_pool.vectors[rows], _pool.labels[rows], (min(size, len(rows)),), splits=3)


def loss_for(run: Run, chosen: ChosenLoss, batch: InspectedBatch, split: str) -> tuple[Loss, np.ndarray, str]:
    """The loss, the labels [n] that it is to be called with, and where its class weights come from.

    A loss that owns weights takes those that the run has learnt, if it is the run's own and the batch is of classes
    that it was trained on: of the checkpoint and step that the split's embeddings are of. Else random ones for the
    classes of the batch, which is then said.

    Raises:
        ValueError: knobs out of range, or that do not fit together.
    """
    config = run.config.changed("loss", {"name": chosen.name, **chosen.values})
    if not chosen.wrapped:
        config = config.changed("wrappers", [])
    labels, width = batch.embedded.labels, batch.embedded.vectors.shape[1]
    classes, compact = np.unique(labels, return_inverse=True)
    if not config.loss.derived:
        return _created(config, len(classes), width), labels, ""
    dataset = run.dataset()
    trained = np.unique(dataset.labels[dataset.splits["train"].items]) if "train" in dataset.splits else classes[:0]
    if run.config.loss.outside:
        why = "this run was made elsewhere"
    elif chosen.name != run.config.loss.name:
        why = f"this run was trained with {knob_labels.named(run.config.loss.name)}, which learns no such weights"
    elif not np.isin(classes, trained).all():
        why = "this run was trained on other classes; choose a batch that it stored to see learnt weights"
    else:
        loss = _created(config, len(trained), width)
        why, weights = _take_over(loss, run, chosen.wrapped, batch, split)
        if not why:
            return loss, np.searchsorted(trained, labels), weights
    return (
        _created(config, len(classes), width),
        compact,
        f"Its weights for the {len(classes)} classes of this batch are random: {why}.",
    )


def _created(config: RunConfig, num_classes: int, width: int) -> Loss:
    import torch

    from lab.runs.building.loss import wrapped_loss

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.training.knobs.seed)
        return cast("Loss", wrapped_loss(config, num_classes, width))


def _take_over(loss: Loss, run: Run, wrapped: bool, batch: InspectedBatch, split: str) -> tuple[str, str]:
    """Give a loss the weights that the run has learnt.

    Returns:
        why that is impossible (empty when it was done), and which weights they are.
    """
    from lab.runs.building.trained import read_checkpoint

    origin = run.origin(split)
    if run.used_checkpoint() is None:
        return "the run has no checkpoint", ""
    name, state = read_checkpoint(run, origin.checkpoint)
    step = state["progress"]["step"]
    if batch.step is None and origin.checkpoint and (name, step) != (origin.checkpoint, origin.step):
        return f"these embeddings are of the {origin.words}, which is not kept any more; evaluate the run again", ""
    prefix = "" if wrapped else WRAPPED * len(run.config.wrappers)
    learnt = {key.removeprefix(prefix): value for key, value in state["loss"].items() if key.startswith(prefix)}
    try:
        loss.load_state_dict(learnt)
    except RuntimeError:
        return f"those of the {name} checkpoint have another shape, since the loss has other knobs here", ""
    sentence = f"Its class weights are those that the run has learnt: {name} checkpoint, step {step:,}"
    if batch.step is not None and batch.step != step:
        sentence += f", while the embeddings of this batch are of step {batch.step:,}"
    return "", f"{sentence}."


def list_problem(chosen: ChosenLoss) -> str:
    """Why a similarity of this loss cannot be changed alone; empty when it can."""
    from lab import inspect

    if chosen.name in inspect.list_losses():
        return ""
    words = knob_labels.named(chosen.name)
    others = ", ".join(map(knob_labels.named, inspect.list_losses()[:6]))
    return (
        f"For {words} one similarity cannot change alone: it looks at more than the query's own list (class weights, "
        f"lengths, or what the images have in common with each other). Choose another loss, such as {others}."
    )


def for_list(chosen: ChosenLoss) -> Loss:
    """The loss, see `plain`, as it looks at a single list.

    Raises:
        ValueError: knobs out of range.
    """
    return lab.losses.create(chosen.name, **plain(chosen).values)


def read_batch(run: cache.RunView, code: str, split: str, draw: int, item: int | None) -> tuple[InspectedBatch, str]:
    """A batch, and a word that changes when it does."""
    collection = cache.collection(run.name, split, run.stamp)
    about = f"{code}/{split}/{draw if code == batches.DRAWN else ''}/{item if code == batches.QUERY else ''}"
    return batches.read(run_choice.library()[run.name], code, collection, draw, item), about
