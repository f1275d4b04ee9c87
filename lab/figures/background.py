"""A figure that trains, drawn in a process of its own: whoever waits sees how far it is, and can stop it.

The process is kept for the next figure: only the first waits for torch to be loaded.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Callable
from typing import Any

from lab.core.catalog import name_of
from lab.core.installed import children
from lab.figures._base import Figure, PlotlyFigure

_idle: list[subprocess.Popen] = []
"""Processes that have drawn and wait for the next figure; at most one, which ends with this process."""
_places = threading.BoundedSemaphore(max(1, (os.cpu_count() or 1) // 2))
"""Trainings at a time: a notebook that is run from top to bottom begins seven of them at once."""


def can_train(figure: Figure) -> bool:
    """Whether a figure trains with these knobs, and another process would find it.

    Example:
        >>> import lab
        >>> from lab.figures import background
        >>> background.can_train(lab.figures.create("tau1_sweep"))
        True
        >>> background.can_train(lab.figures.create("tau1_sweep", data="Emoji-7"))
        False
    """
    import lab.figures

    name = name_of(type(figure))
    inside = type(figure).__module__.startswith("lab.figures.")
    return figure.training_steps() > 0 and inside and name in lab.figures.names()


class FigureTraining:
    """A figure under way or done.

    progress: share of its steps taken, 0 to 1. over: whether nothing more will come. refused: why there is no picture,
        "" if there is one or it is still to come. stopped: whether `stop` ended it.
    """

    def __init__(self, figure: Figure, moved: Callable[[FigureTraining], None] = lambda _: None):
        """Begin, or wait for those before it; `moved` is called with this, from a thread, after each piece of news."""
        self.progress, self.refused, self.stopped = 0.0, "", False
        self._moved, self._over, self._drawn = moved, threading.Event(), ""
        self._process: subprocess.Popen | None = None
        self._lock = threading.Lock()
        request = {"name": name_of(type(figure)), "knobs": figure.knobs.model_dump(mode="json")}
        threading.Thread(target=self._run, args=(json.dumps(request),), daemon=True).start()

    @property
    def over(self) -> bool:
        return self._over.is_set()

    @property
    def waiting(self) -> bool:
        """Whether others train before it."""
        return self._process is None and not self.over

    def figure(self) -> PlotlyFigure:
        """Wait for the picture.

        Raises:
            ValueError: there will be none: it was stopped, or the knobs contradict each other.
        """
        import plotly.graph_objects as go

        self._over.wait()
        if self.refused:
            raise ValueError(self.refused)
        return go.Figure(json.loads(self._drawn), skip_invalid=True)

    def stop(self) -> None:
        """End it now, if it is not over."""
        with self._lock:
            if self.over:
                return
            self.stopped = True
            process = self._process
        if process is None:
            self._end("Stopped.")
        else:
            process.kill()
            self._over.wait(5)

    def _run(self, request: str) -> None:
        """Wait for a place, then train."""
        with _places:
            with self._lock:
                if self.stopped:
                    return
                self._process = process = _process()
            assert process.stdin is not None
            try:
                process.stdin.write(request + "\n")
                process.stdin.flush()
                self._follow(process)
            except (OSError, ValueError) as error:  # it died, or said what is no JSON
                self._end(f"The training could not be followed: {error}.")

    def _follow(self, process: subprocess.Popen) -> None:
        """Read what the process says until it has drawn or is gone."""
        assert process.stdout is not None
        for line in process.stdout:
            news: dict[str, Any] = json.loads(line)
            if "progress" in news:
                self.progress = news["progress"]
                self._moved(self)
                continue
            self._drawn = news.get("figure", "")
            if self._drawn:
                self.progress = 1.0  # what another picture was trained for is not trained and counted again
            if _idle:
                process.kill()
            else:
                _idle.append(process)
            return self._end(news.get("refused", ""))
        process.wait()
        self._end("Stopped." if self.stopped else "The training ended without a picture; see the messages of Python.")

    def _end(self, refused: str) -> None:
        self.refused = refused
        self._over.set()
        self._moved(self)


def _process() -> subprocess.Popen:
    """A process that draws: the one that waits, or a new one."""
    while _idle:
        if (process := _idle.pop()).poll() is None:
            return process
    words = children.python("-m", "lab.figures._drawer")
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "encoding": "utf-8"}
    return subprocess.Popen(words, env=children.environment(), **pipes)
