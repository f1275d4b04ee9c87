"""The queue of runs: list it, add to it, reorder it, work on it.

`lab runs queue` lists waiting and running runs; `lab runs queue add RUN`, `lab runs queue move RUN 0`, `lab runs queue
remove RUN`, `lab runs queue pause`, `lab runs queue go`. Adding starts a process of its own that works through the
queue, one run at a time on each device.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from lab.cli._output import add_flags, print_json, say, show

if TYPE_CHECKING:
    from lab.launchers.background.queue import Queue


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    actions = ("list", "add", "move", "remove", "pause", "go", "work")
    flag("action", nargs="?", choices=actions, default="list", help="what to do (default list)")
    flag("run", nargs="?", help="name of the run")
    flag("position", nargs="?", type=int, help="for move: its place in the queue, 0 being the next")
    flag("--device", help="for add: device to run on (default the run's own)")
    add_flags(parser, "runs", "json")


def run(arguments: argparse.Namespace) -> None:
    import lab.runs
    from lab.launchers.background.queue import Queue

    queue = Queue(arguments.runs or lab.runs.default_root())
    action = arguments.action
    name = arguments.run
    if action in ("add", "move", "remove") and name is None:
        raise ValueError(f"Name a run: `lab runs queue {action} RUN`.")
    if action == "add":
        queue.add(lab.runs.open(name, queue.root), arguments.device, arguments.position)
        queue.ensure_worker()
    elif action == "move":
        if arguments.position is None:
            raise ValueError(
                "Give a position: `lab runs queue move RUN POSITION`, 0 being the next to start."
            )
        queue.move(name, arguments.position)
    elif action == "remove":
        queue.remove(name)
    elif action == "pause":
        queue.pause()
    elif action == "go":
        queue.pause(False)
        queue.ensure_worker()
    elif action == "work":
        for started in queue.work():
            say(f"started {started.name}")
        return
    _show(queue, arguments.json)


def _show(queue: Queue, as_json: bool) -> None:
    active = queue.active()
    sentence = queue.sentence
    if as_json:
        names = [run.name for run in active]
        print_json(
            {"paused": queue.paused, "active": names, "waiting": queue.names, "sentence": sentence}
        )
        return
    rows = []
    for run in active:
        status = run.status
        state = "starting" if status.get("phase") == "starting" else "running"
        rows.append(
            {
                "": state,
                "run": run.name,
                "step": f"{status.get('step', 0)}/{status.get('steps', '?')}",
            }
        )
    rows += [
        {"": f"waiting {place}", "run": name, "step": ""} for place, name in enumerate(queue.names)
    ]
    show(rows, as_json=False, empty="The queue is empty.")
    if sentence:
        say(sentence)
