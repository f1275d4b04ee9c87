"""Base class of all findings of the inspector: each has a sentence, a table and a picture."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from lab.core.explain import need

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


class Insight(ABC):
    """Base class of the inspector's frozen findings."""

    @property
    @abstractmethod
    def summary(self) -> str:
        """The finding in one or two sentences; also the text alternative of its picture."""

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """The finding as a table, one row an element."""

    @abstractmethod
    def figure(self) -> go.Figure:
        """The finding as a picture."""

    def __str__(self) -> str:
        return self.summary


def frame(**columns: Any) -> pd.DataFrame:
    """Return a table of these columns. Pandas is imported only here, when a table is needed."""
    need("A table", "train", "pandas")
    import pandas as pd

    return pd.DataFrame(columns)
