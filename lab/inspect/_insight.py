"""What every finding of the inspector can do: a sentence, a table, a picture."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from lab.core.explain import need

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


class Insight(ABC):
    """A frozen finding."""

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
    """A table of these columns; pandas is imported when the first is made."""
    need("A table", "train", "pandas")
    import pandas as pd

    return pd.DataFrame(columns)
