"""The process of `lab.figures.background`: it reads a name and knobs, and answers with progress and the figure."""

import itertools
import json
import os
import sys
from typing import Any, TextIO

from lab.figures._base import keeping


def main() -> None:
    """Answer requests, one per line, until the input ends. All other output is redirected to the error stream."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with keeping():
        for line in sys.stdin:
            _send(answers, **_answer(json.loads(line), answers))


def _send(answers: TextIO, **message: Any) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


def _answer(request: dict[str, Any], answers: TextIO) -> dict[str, str]:
    """Draw the requested figure, and send its progress meanwhile; return the figure, or why it was refused."""
    import lab.figures
    from lab.figures import _toy

    try:
        figure = lab.figures.create(request["name"], **request["knobs"])
        steps = figure.training_steps()
        steps_taken = itertools.count(1)

        def count() -> None:
            step = next(steps_taken)
            if step % max(1, steps // 100) == 0:  # a hundred messages in all
                _send(answers, progress=min(1.0, step / steps))

        _toy.on_step.set(count)
        return {"figure": figure.figure().to_json()}
    except ValueError as error:
        return {"refused": str(error)}


if __name__ == "__main__":
    main()
