"""Choosing what to compare a run with: another run on the same images, a re-ranking, or two-stage search."""

from __future__ import annotations

from dataclasses import dataclass

import lab.reranking
from app import address, cache, frame, library
from app.cache import RunView
from app.rivals import OtherRun, Rival

NOTHING = ""


@dataclass(frozen=True)
class Opponent:
    """A rival and the run whose images its cards show. code: as it stands in the address."""

    code: str
    rival: Rival
    view: RunView


def choose(run: RunView, split: str) -> Opponent | None:
    """Draw the choice; None while nothing is to be compared."""
    options = {NOTHING: "nothing"} | _others(run, split)
    options |= {f"rerank:{name}": f"itself, re-ranked ({name.replace('_', '-')})" for name in lab.reranking.names()}
    options["two-stage:1"] = "itself, two-stage search"
    address.adopt("rival", str, options)
    code = frame.select("Compare with", list(options), key="rival", format=lambda one: options.get(one, one))
    return _opponent(code, run, split) if code else None


def code(opponent: Opponent | None) -> str | None:
    """The opponent in the address."""
    return opponent.code if opponent else None


def _others(run: RunView, split: str) -> dict[str, str]:
    """Other runs that embedded the same split of the same images."""
    found = library.library()
    own = library.data_of(found[run.name])
    return {
        f"run:{other.name}": other.name
        for other in found.runs
        if other.name != run.name and library.data_of(other) == own and split in library.view(other).splits
    }


def _opponent(code: str, run: RunView, split: str) -> Opponent:
    kind, _, name = code.partition(":")
    if kind == "rerank":
        return Opponent(code, cache.reranked(run.name, split, run.stamp, name), run)
    if kind == "two-stage":
        return Opponent(code, cache.two_stage(run.name, split, run.stamp, int(name)), run)
    other = library.view(library.library()[name])
    return Opponent(code, OtherRun(name, cache.collection(name, split, other.stamp)), other)
