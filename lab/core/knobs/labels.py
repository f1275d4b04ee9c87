"""What a figure calls its knobs: the same in a notebook, on the dashboard and in a saved page."""

from __future__ import annotations

from lab.core.knobs import Knob

SYMBOLS = {
    "alpha": "α", "beta": "β", "delta": "δ", "delta_neg": "δ₋", "delta_pos": "δ₊", "eps": "ε", "epsilon": "ε",
    "gamma": "γ", "lam": "λ", "nu": "ν", "rank_minus": "rank⁻", "rank_plus": "rank⁺", "rho": "ρ", "tau": "τ",
    "tau1": "τ₁", "tau2": "τ₂", "theta": "θ",
}  # fmt: skip
"""Knob to how formulas and axes write it."""

WORDS = {
    "alone": "M₊ alone", "both": "M₊ and M₋", "dim": "embedding size", "gaps": "gaps shown", "last": "last rank shown",
    "init_scale": "initial scale", "less": "compared with", "log_loss": "logarithmic loss", "lr": "learning rate",
    "log_y": "logarithmic gradient", "min_norm": "minimum norm", "most": "items compared", "top": "ranks shown",
    "per_class": "items per class", "ranks": "ranks shown", "shown": "pairs shown", "upto": "up to",
}  # fmt: skip
"""Knob to a few words, where its name alone does not say what it is."""


def name_in_words(knob: Knob) -> str:
    """The symbol of the formulas, or the name in words.

    Example:
        >>> from lab.core.knobs import Knobs, describe, knob
        >>> class Some(Knobs):
        ...     tau1: float = knob(1.0, "Temperature.", unit="ranks")
        ...     per_class: int = knob(4, "Images per class.")
        ...     lift_ties: bool = knob(False, "Count a tie as 1.")
        >>> [name_in_words(one) for one in describe(Some)]
        ['τ₁', 'Items per class', 'Lift ties']
    """
    if knob.name in SYMBOLS:
        return SYMBOLS[knob.name]
    words = WORDS.get(knob.name, knob.name.replace("_", " "))
    return words if len(words) == 1 else words[:1].upper() + words[1:]


def label(knob: Knob) -> str:
    """The name in words with its unit, where the words do not say it.

    Example:
        >>> from lab.core.knobs import Knobs, describe, knob
        >>> class Some(Knobs):
        ...     rank_plus: int = knob(1, "Rank among positives.", unit="ranks")
        ...     ranks: int = knob(10, "Ranks to show.", unit="ranks")
        >>> [label(one) for one in describe(Some)]
        ['rank⁺ (ranks)', 'Ranks shown']
    """
    words = name_in_words(knob)
    return f"{words} ({knob.unit})" if knob.unit and knob.unit not in words.lower() else words
