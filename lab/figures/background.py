"""Draw a figure that trains in a separate process, so that its progress can be shown and it can be stopped.

The process is reused for the next figure, so that only the first figure waits for the import of torch.
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
"""Processes that wait for the next figure: at most one, which ends with this process."""
_places = threading.BoundedSemaphore(max(1, (os.cpu_count() or 1) // 2))
"""Limits the trainings that run at a time, since a notebook that is run from top to bottom starts seven at once."""


def can_train(figure: Figure) -> bool:
    """Whether a figure trains with these knobs, and another process can create it by name.

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
    """The drawing of a figure that trains, in the background.

    progress: share of the steps that are done, 0 to 1.
    over: whether it has ended.
    refused: why there is no picture; "" if there is a picture or it is not over.
    stopped: whether `stop` ended it.
    """

    def __init__(self, figure: Figure, moved: Callable[[FigureTraining], None] = lambda _: None):
        """Start, or wait for earlier trainings. A thread calls `moved` with this object whenever its state changes."""
        self.progress = 0.0
        self.refused = ""
        self.stopped = False
        self._moved = moved
        self._over = threading.Event()
        self._drawn = ""
        self._process: subprocess.Popen | None = None
        self._lock = threading.Lock()
        request = {"name": name_of(type(figure)), "knobs": figure.knobs.model_dump(mode="json")}
        threading.Thread(target=self._run, args=(json.dumps(request),), daemon=True).start()

    @property
    def over(self) -> bool:
        return self._over.is_set()

    @property
    def waiting(self) -> bool:
        """Whether it waits for earlier trainings."""
        return self._process is None and not self.over

    def figure(self) -> PlotlyFigure:
        """Wait for the picture.

        Raises:
            ValueError: there is none, because it was stopped or the knobs contradict each other.
        """
        import plotly.graph_objects as go

        self._over.wait()
        if self.refused:
            raise ValueError(self.refused)
        return go.Figure(json.loads(self._drawn), skip_invalid=True)

    def stop(self) -> None:
        """Stop the training, unless it is over."""
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
        """Wait until fewer trainings run, then train."""
        with _places:
            with self._lock:
                if self.stopped:
                    return
                process = _process()
                self._process = process
            assert process.stdin is not None
            try:
                process.stdin.write(request + "\n")
                process.stdin.flush()
                self._follow(process)
            except (
                OSError,
                ValueError,
            ) as error:  # the process died, or sent something that is not JSON
                self._end(f"The training could not be followed: {error}.")

    def _follow(self, process: subprocess.Popen) -> None:
        """Read messages until the process has drawn the figure or has ended."""
        assert process.stdout is not None
        for line in process.stdout:
            message: dict[str, Any] = json.loads(line)
            if "progress" in message:
                self.progress = message["progress"]
                self._moved(self)
                continue
            self._drawn = message.get("figure", "")
            if self._drawn:
                self.progress = (
                    1.0  # trainings of an earlier picture were reused, and their steps not counted
                )
            if _idle:
                process.kill()
            else:
                _idle.append(process)
            return self._end(message.get("refused", ""))
        process.wait()
        self._end(
            "Stopped."
            if self.stopped
            else "The training ended without a picture; see the messages of Python."
        )

    def _end(self, refused: str) -> None:
        self.refused = refused
        self._over.set()
        self._moved(self)


def _process() -> subprocess.Popen:
    """Return a process that draws: the waiting one if it is alive, otherwise a new one."""
    while _idle:
        process = _idle.pop()
        if process.poll() is None:
            return process
    return subprocess.Popen(
        children.python("-m", "lab.figures._drawer"),
        env=children.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
