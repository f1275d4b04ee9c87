"""Do the papers' claims hold here? One file a study: a claim, the trainings that try it, the numbers that decide.

`lab claims run` makes the trainings, each once, and can be stopped and resumed at any time; `lab claims report` tells
in docs/claims.md what came of them. A study is added by adding a file that defines `STUDY`.
"""

from typing import TYPE_CHECKING

from lab.claims._studies import get, names
from lab.claims._study import Study
from lab.core.catalog import public

if TYPE_CHECKING:
    from lab.claims._report import report
    from lab.claims._sweep import Ran, state, sweep, wanted

__all__ = ["Ran", "Study", "get", "names", "report", "state", "sweep", "wanted"]

__getattr__ = public(__name__)
