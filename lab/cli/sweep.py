"""Train many runs that differ in some knobs, here or on a cluster.

FILE is YAML, for instance
    name: taus
    config: {loss: {name: recall_at_k}, training: {steps: 400}}    # sections, or the name of a recipe or a file
    vary: {loss.tau2: [0.005, 0.01, 0.02], training.seed: [0, 1, 2]}
With `search: random` or `search: tpe` and `trials: 40`, a knob may be a span: {low: 0.001, high: 0.1, log: true}.
Started again, a sweep trains only what is missing. `--on ray --on.retries 5` sets a knob of the launcher.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from lab.cli._output import add_flags, say, show

HEADING = "Train and measure"
PLACE = 12


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    from lab.cli import _launching

    flag = parser.add_argument
    flag("file", metavar="FILE", help="YAML file that says what to vary, as above")
    _launching.add_on(parser, words, default="local")
    flag(
        "--at-once", type=int, default=8, help="with search: tpe, runs at the same time (default 8)"
    )
    flag(
        "--no-wait",
        action="store_true",
        help="submit the runs and return at once; they continue without this command",
    )
    flag("--dry-run", action="store_true", help="show the runs and train none")
    add_flags(parser, "runs", "json")


def run(arguments: argparse.Namespace) -> int:
    import lab.runs
    from lab import sweeps
    from lab.cli._launching import launcher_of

    if arguments.at_once < 1:
        raise ValueError(f"--at-once must be at least 1, got {arguments.at_once}.")
    plan = sweeps.read_plan(arguments.file)
    if arguments.dry_run:
        rows = [{"run": number, **values} for number, values in enumerate(plan.settings(), 1)]
        show(rows, as_json=arguments.json)
        return 0
    launcher = launcher_of(arguments)
    if launcher is None:
        raise ValueError(
            "The runs of a sweep go through a launcher; take --on local for the queue of this machine."
        )
    root = arguments.runs or lab.runs.default_root()
    if arguments.no_wait and not launcher.outlives:
        raise ValueError(
            "This launcher's runs end with the command that started them; leave --no-wait out."
        )
    if arguments.no_wait:
        say(
            f"{len(sweeps.hand_over(plan, root, launcher))} runs handed over; `lab runs` shows them."
        )
        return 0
    # Report each trial as it ends, then all of them, best first.
    trials = []
    say(
        f"{plan.size} runs on {arguments.on}; Ctrl-C leaves the sweep, and the same command goes on with it."
    )
    for trial in sweeps.carry_out(plan, root, launcher, arguments.at_once):
        if trial is not None:
            trials.append(trial)
            line = f"{len(trials)}/{plan.size}  {trial.run.name}: {trial.run.state}"
            if trial.score is not None:
                line += f", {plan.score} {trial.score:.4f}"
            say(line)
    rows = []
    for trial in sorted(trials, key=lambda trial: (trial.score is None, -(trial.score or 0))):
        score = {f"best validation {plan.score}": trial.score}
        rows.append({"run": trial.run.name, **trial.values, **score, "state": trial.run.state})
    show(rows, as_json=arguments.json, empty="The sweep has no runs.")
    return 0 if all(trial.run.state == "finished" for trial in trials) else 1
