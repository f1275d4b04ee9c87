"""Which knobs differ over some runs, and how much each of them says about a score.

Importance is measured by scikit-learn: a random forest learns the score from the knobs, and a knob counts as much as
the forest's error grows on runs that it has not seen when the values of this knob are shuffled among them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lab.core.formats import counted
from lab.report._lines import flattened

LEAST_RUNS = 12
LEAST_SETTINGS = 6
"""Runs with a score, and different settings among them, below which nothing can be said."""

FOLDS = 5
TREES = 100
SHUFFLES = 10


@dataclass(frozen=True)
class Weight:
    """How much one knob says about the score.

    knobs: its name, or those of several that were always changed together. share: by how much the error on unseen runs
    grows when it is shuffled, as a share of the variance of the scores; near 0 or below: nothing. trend: Spearman's
    correlation of value and score, -1 to 1; None where the values are no numbers.
    """

    knobs: tuple[str, ...]
    share: float
    trend: float | None


@dataclass(frozen=True)
class Importance:
    """weights: the weightiest first. explained: share of the variance of unseen runs' scores that the forest predicts;
    at 0 and below it predicts nothing, and the weights mean nothing. runs: with a score."""

    weights: tuple[Weight, ...]
    explained: float
    runs: int


def varying(configs: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Dotted knob to its value in each configuration (None where one does not have it), for knobs that differ; without
    the seed, the machine, and where data lie.

    Args:
        configs: as `Run.config_dict` has them.

    Example:
        >>> from lab.report import knobs
        >>> knobs.varying([{"loss": {"name": "roadmap", "lam": lam}, "training": {"seed": 3}} for lam in (0.1, 0.5)])
        {'loss.lam': [0.1, 0.5]}
    """
    flat = [flattened(config) for config in configs]
    names = [name for one in flat for name in one]
    columns = {}
    for name in dict.fromkeys(names):
        values = [one.get(name) for one in flat]
        if any(value != values[0] for value in values):
            columns[name] = values
    return columns


def importance(columns: Mapping[str, Sequence[Any]], scores: Sequence[float | None]) -> Importance:
    """What each knob says about a score. Takes some seconds for hundreds of runs.

    Args:
        columns: knob to its values [n], as `varying` finds them.
        scores: [n]; runs without one are left out.

    Raises:
        ValueError: too few runs or settings, no knob differs, or all scores are the same.

    Example:
        >>> from lab.report import knobs
        >>> columns = {"loss.tau": [n % 5 for n in range(40)], "sampler.per_class": [2 + n // 20 for n in range(40)]}
        >>> found = knobs.importance(columns, [0.1 * tau for tau in columns["loss.tau"]])
        >>> [weight.knobs for weight in found.weights], found.weights[0].trend
        ([('loss.tau',), ('sampler.per_class',)], 1.0)
    """
    kept = [at for at, score in enumerate(scores) if score is not None and np.isfinite(score)]
    y = np.array([scores[at] for at in kept], np.float64)
    together = _together({name: [values[at] for at in kept] for name, values in columns.items()})
    if len(kept) < LEAST_RUNS:
        verb = "is" if len(kept) == 1 else "are"
        raise ValueError(
            f"{counted(len(kept), 'run')} with this score {verb} too few to say which knobs matter; it takes at least "
            f"{LEAST_RUNS}, and more for many knobs."
        )
    if not together:
        raise ValueError("These runs differ in no knob but their seed, so no knob can matter.")
    if np.ptp(y) == 0:
        raise ValueError("All of these runs have the same score, so no knob matters.")
    x = np.column_stack(list(together.values()))
    comparable = np.where(np.isnan(x), np.inf, x)  # by rows numpy takes each NaN for another value
    settings = np.unique(comparable, axis=0, return_inverse=True)[1].reshape(-1)
    different = len(set(settings.tolist()))
    if different < LEAST_SETTINGS:
        raise ValueError(
            f"These {len(kept)} runs have only {different} different settings; it takes at least {LEAST_SETTINGS} to "
            "say which knobs matter."
        )
    explained, shares = _held_out(x, y, settings)
    weights = []
    for (names, codes), share in zip(together.items(), shares, strict=True):
        is_number = numbers(_known(columns[names[0]]))
        weights.append(Weight(names, float(share), _trend(codes, y) if is_number else None))
    weights.sort(key=lambda weight: -weight.share)
    return Importance(tuple(weights), explained, len(kept))


def in_words(importance: Importance, score: str) -> str:
    """What the numbers are worth, in a sentence or two."""
    if importance.explained <= 0:
        return (
            f"From these {importance.runs} runs {score} cannot be predicted from the settings: no setting matters by "
            "itself, or there are too few runs. So none is ranked."
        )
    return (
        f"From {importance.runs} runs. Their settings predict {100 * importance.explained:.0f} % of the variance of "
        f"{score} in held-out runs; importance is how much of the variance is lost when a setting is shuffled."
    )


def numbers(values: Sequence[Any]) -> bool:
    """Whether all values are numbers, so that they can stand on an axis."""
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _known(values: Sequence[Any]) -> list[Any]:
    """The values of runs that have the knob."""
    return [value for value in values if value is not None]


def _together(columns: Mapping[str, Sequence[Any]]) -> dict[tuple[str, ...], np.ndarray]:
    """Knobs with codes float64 [n]; those that tell the same runs apart stand together, for nothing can part them."""
    groups: dict[tuple[int, ...], tuple[list[str], np.ndarray]] = {}
    for name, values in columns.items():
        words = [str(value) for value in values]
        different = list(dict.fromkeys(words))  # in the order of the runs
        if len(different) < 2:
            continue
        pattern = tuple(different.index(word) for word in words)
        names, _ = groups.setdefault(pattern, ([], _codes(values)))
        names.append(name)
    return {tuple(names): codes for names, codes in groups.values()}


def _codes(values: Sequence[Any]) -> np.ndarray:
    """Numbers as they are, a missing one NaN, which forests know; anything else by its place in the alphabet."""
    if numbers(_known(values)):
        return np.array([np.nan if value is None else value for value in values], np.float64)
    words = [str(value) for value in values]
    return np.unique(words, return_inverse=True)[1].astype(np.float64)


def _held_out(x: np.ndarray, y: np.ndarray, settings: np.ndarray) -> tuple[float, np.ndarray]:
    """Share of the variance that is explained on settings that were held out, and each knob's share [k]."""
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.inspection import permutation_importance
    from sklearn.model_selection import GroupKFold

    error = 0.0
    grown = np.zeros(x.shape[1])
    for train, test in GroupKFold(FOLDS).split(x, y, settings):
        forest = RandomForestRegressor(TREES, random_state=0).fit(x[train], y[train])
        error += float(np.square(forest.predict(x[test]) - y[test]).sum())
        shuffled = permutation_importance(
            forest,
            x[test],
            y[test],
            scoring="neg_mean_squared_error",
            n_repeats=SHUFFLES,
            random_state=0,
        )
        grown += len(test) * shuffled.importances_mean
    total = len(y) * y.var()
    return 1 - error / total, grown / total


def _trend(codes: np.ndarray, y: np.ndarray) -> float | None:
    """Spearman's correlation of a knob's values and the score; None where too few values are known."""
    known = np.isfinite(codes)
    if len(set(codes[known].tolist())) < 2:
        return None
    from scipy.stats import spearmanr

    correlation = float(spearmanr(codes[known], y[known]).statistic)
    return round(correlation, 12) if np.isfinite(correlation) else None
