"""Choose which similarity means the same, and keep it with the run.

The threshold is chosen by its rate of false accepts: `lab threshold RUN --far 0.01` takes the lowest similarity that at
most one of a hundred pairs of two classes reaches, says what it lets through and keeps out, and which classes it serves
worst. `--at` sets a similarity by hand. `lab query --unknown` then answers "unknown" below it. The intervals of
the rates are over classes: they hold what other classes would give, also at a threshold that was chosen on these.
"""

from __future__ import annotations

import argparse

from lab.cli._output import add_flags, print_json, say, show

HEADING = "Search and exchange"
PLACE = 21


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    add_flags(parser, "run", "runs", "json", "allow")
    far = "most of the pairs of two classes that may be let through, as a share (default 0.01)"
    flag("--far", type=float, metavar="SHARE", help=far)
    flag("--at", type=float, metavar="SIMILARITY", help="use this similarity instead")
    flag("--split", default="test", help="embedded split to choose it on (default test)")
    flag(
        "--classes",
        type=int,
        default=5,
        metavar="N",
        help="classes to list, the worst served first (default 5)",
    )


def run(arguments: argparse.Namespace) -> None:
    import lab.runs

    # before what takes seconds to load
    run = lab.runs.open(arguments.run, arguments.runs, arguments.allow)
    if arguments.far is not None and arguments.at is not None:
        raise ValueError("Give --far or --at, not both: each of them sets the threshold.")
    if arguments.classes < 1:
        raise ValueError(f"--classes must be at least 1, got {arguments.classes}.")
    from lab import threshold
    from lab.inference.rates import TOO_FEW

    # Choose and store the threshold.
    pairs = threshold.measure(run, arguments.split)
    if arguments.at is None:
        chosen = pairs.let_through(0.01 if arguments.far is None else arguments.far)
    else:
        chosen = pairs.at(arguments.at)
    kept = threshold.save(run, pairs, chosen)
    # Classes that it serves worst.
    images = run.dataset()
    classes = pairs.classes(chosen)
    worst = []
    for index in range(min(arguments.classes, len(classes.labels))):
        worst.append(
            {
                "class": images.class_name(int(classes.labels[index])),
                "false accepts": float(classes.false_accepts[index]),
                "false rejects": float(classes.false_rejects[index]),
                "utility": float(classes.utility[index]),
            }
        )
    if arguments.json:
        facts = {
            name: getattr(kept, name)
            for name in ("value", "similarity", "split", "checkpoint", "step")
        }
        facts |= {
            "pairs of one class": kept.same,
            "pairs of two classes": kept.other,
            "queries": kept.queries,
        }
        print_json(
            {
                "run": run.name,
                **facts,
                "rates": kept.rates,
                "opis": pairs.opis,
                "worst classes": worst,
            }
        )
        return
    rates = []
    for name, (value, low, high) in kept.rates.items():
        rates.append(
            {"rate": name, "value": value, "low": low, "high": high, "of": threshold.RATES[name]}
        )
    show(rates, as_json=False)
    show(worst, as_json=False, empty="No class has pairs of both kinds.")
    drawn = f" (drawn of {pairs.of:,})" if pairs.of > kept.queries else ""
    say(f"Threshold of {run.name}: {kept.words}{drawn}, {run.origin(kept.split).words}.")
    say(f"low and high: {threshold.INTERVALS}.")
    if any(low is None for _, low, _ in kept.rates.values()):
        say(TOO_FEW)
    say(f"OPIS {pairs.opis:.4f} (0: one threshold serves all classes alike).")
