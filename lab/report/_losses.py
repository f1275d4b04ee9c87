"""What a report says of losses: defaults that are not those of the library's loss of that name, one rate for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.report._facts import ReportLine
    from lab.runs.config import RunConfig


def remark(config: RunConfig) -> str:
    """Return a sentence on the loss of a run, or nothing where its name says enough."""
    if config.loss.outside:
        return ""
    knobs = config.loss.values
    temperature = knobs.get("temperature", 1)
    if config.loss.name == "proxy_nca" and temperature != 1:
        return (
            f"ProxyNCA++, at temperature {temperature:.3g}; pytorch-metric-learning's "
            "ProxyNCALoss has temperature 1."
        )
    if config.loss.name == "multi_similarity" and knobs.get("miner"):
        return "with its miner; pytorch-metric-learning's MultiSimilarityLoss takes all pairs unless it is given one."
    return ""


def one_rate(lines: Sequence[ReportLine]) -> str:
    """Return a sentence where several losses were trained with one learning rate, or nothing."""
    rates = {line.facts.rate for line in lines}
    if len({line.loss for line in lines}) < 2 or len(rates) != 1 or None in rates:
        return ""
    (rate,) = rates
    return (
        f"One learning rate for all losses, {rate:g}: best rates differ by ten times and more, so a loss may be better "
        "than its line. Choose each loss's rate on validation."
    )
