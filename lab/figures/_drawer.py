"""The process behind `lab.figures.background`: reads a name and knobs, answers with progress, then with the figure."""

import itertools
import json
import os
import sys
from typing import Any, TextIO

from lab.figures._base import keeping


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

    try:
        figure = lab.figures.create(request["name"], **request["knobs"])
        steps, taken = figure.training_steps(), itertools.count(1)

        def count() -> None:
            now = next(taken)
            if now % max(1, steps // 100) == 0:  # every hundredth of them
                _tell(answers, progress=min(1.0, now / steps))

        _toy.on_step.set(count)
        return {"figure": figure.figure().to_json()}
    except ValueError as error:
        return {"refused": str(error)}


if __name__ == "__main__":
    main()
