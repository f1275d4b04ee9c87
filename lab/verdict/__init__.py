"""Verdict: what is wrong with a training, why, and which knob to move, read off what the run has recorded so far.

for finding in lab.verdict.diagnose(lab.runs.open("first")):
    print(finding.sentence, finding.knob, finding.advice)

signs      what is measured of a batch and of validation images, in milliseconds
evidence   what a run has recorded, as one frozen value
findings   one function a finding, in the order of causes: sentence, evidence, place, knob

A finding is added in `findings` alone: a function of `History` under `declared(name, place, knob)`, with a threshold
whose source, or what it was measured on, stands beside it; and its made-up records in tests/verdict/test_findings.py.
Pages, commands, reports and recorded loops show it then.

What a run has not recorded is never guessed: a finding whose signs are missing is silent, so runs of earlier versions
and loops that tell only their loss have fewer of them.
"""

from __future__ import annotations

from typing import Any

from lab.verdict.findings import DECLARED, Finding, Place, findings, in_words
from lab.verdict.history import History

__all__ = ["DECLARED", "Finding", "Place", "History", "diagnose", "findings", "in_words"]


def diagnose(run: Any) -> list[Finding]:
    """What is wrong with a `lab.runs.Run`, the likeliest cause first.

    Example (`run` is that of `lab.runs`):
        >>> [finding.name for finding in lab.verdict.diagnose(run) if not finding.note]  # doctest: +SKIP
        []
    """
    return findings(History.of_run(run))
