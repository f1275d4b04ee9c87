"""The process behind `lab.figures.background`: reads a name and knobs, answers with progress, then with the figure."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any, TextIO

from lab.figures._kept import keeping


def main() -> None:
    """One request a line until the other side is gone. Whatever else is printed goes where errors go."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with keeping():
        for line in sys.stdin:
            _tell(answers, **_answer(json.loads(line), answers))


def _tell(answers: TextIO, **news: Any) -> None:
    answers.write(json.dumps(news) + "\n")
    answers.flush()


def _answer(request: dict[str, Any], answers: TextIO) -> dict[str, str]:
    import lab.figures
    from lab.figures import _toy

    knobs = {name: tuple(value) if isinstance(value, list) else value for name, value in request["knobs"].items()}
    try:
        figure = lab.figures.create(request["name"], **knobs)
        _toy.on_step.set(_counter(figure.training_steps(), answers))
        return {"figure": figure.figure().to_json()}
    except ValueError as error:
        return {"refused": str(error)}


def _counter(steps: int, answers: TextIO) -> Callable[[], None]:
    """Counts steps and tells every hundredth of them."""
    taken = [0]

    def count() -> None:
        taken[0] += 1
        if taken[0] % max(1, steps // 100) == 0:
            _tell(answers, progress=min(1.0, taken[0] / steps))

    return count


if __name__ == "__main__":
    main()
