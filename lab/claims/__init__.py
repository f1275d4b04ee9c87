"""Do the papers' claims hold here? A study is a claim, the trainings that try it, the numbers that decide.

`lab papers claims run` makes the trainings, each once, and can be stopped and resumed at any time; `lab papers claims
report` writes the page of verdicts, docs/claims.md, and `lab papers claims show` tells one study.
"""

from typing import TYPE_CHECKING

from lab.claims._study import Study, get, names
from lab.core.catalog import public

if TYPE_CHECKING:
    from lab.claims._report import judgements, report, section
    from lab.claims._sweep import Ran, select, state, sweep

__all__ = ["Ran", "Study", "get", "judgements", "names", "report", "section", "select", "state", "sweep"]

__getattr__ = public(__name__)
