"""Do the papers' claims hold here? A study is a sentence of a paper, the trainings that try it, and a verdict.

`lab papers claims run` makes the trainings, each once, and can be stopped and resumed at any time; `lab papers claims
report` writes the page of verdicts, docs/claims.md, and `lab papers claims show` tells one study.
"""

from typing import TYPE_CHECKING

from lab.claims._study import Study, get, names
from lab.core.catalog import public

if TYPE_CHECKING:
    from lab.claims._report import effects, judgements, report, sections
    from lab.claims._sweep import BUNDLED, select, state, sweep

__all__ = [
    "BUNDLED", "Study", "effects", "get", "judgements", "names", "report", "sections", "select", "state", "sweep"
]  # fmt: skip

__getattr__ = public(__name__)
