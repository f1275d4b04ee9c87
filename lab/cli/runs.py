"""List the runs; show one; or show in which knobs two differ."""

from __future__ import annotations


def add_arguments(parser):
    from lab.cli._output import add_json

    parser.add_argument("run", nargs="*", help="one run to show, or two to compare; without a name all are listed")
    parser.add_argument("--runs", metavar="FOLDER", help="folder of runs (default $LAB_RUNS, else runs)")
    add_json(parser)


def run(arguments):
    import lab.runs

    if len(arguments.run) > 2:
        raise ValueError(f"Give at most two runs, got {len(arguments.run)}.")
    found = [lab.runs.open(name, arguments.runs) for name in arguments.run]
    if len(found) == 2:
        _difference(*found, arguments.json)
    elif found:
        _one(found[0], arguments.json)
    else:
        _all(lab.runs.list(arguments.runs), arguments)
    return 0


def _all(runs, arguments) -> None:
    from lab.cli._output import show

    rows = []
    for run in runs:
        status, config = run.status, _readable(run)
        scores = (run.scores("test") or {}).get("values", {})
        rows.append(
            {
                "run": run.name,
                "state": status["state"],
                "step": f"{status.get('step', 0)}/{status.get('steps', '?')}",
                "data": _name(config, "data"),
                "loss": _name(config, "loss"),
                "r@1": scores.get("r@1"),
                "MAP@R": scores.get("MAP@R"),
                "scores of": run.origin("test", "scores").words if scores else None,
            }
        )
    show(rows, as_json=arguments.json, empty="No runs yet: `lab demo` or `lab train` makes one.")


def _readable(run) -> dict:
    """The run's configuration; empty where its file is damaged, so that one bad folder hides no other run."""
    try:
        return run.config_dict
    except (ValueError, OSError):
        return {}


def _one(run, as_json: bool) -> None:
    from lab.cli._output import print_json, show
    from lab.cli._scores import rows_of

    status = run.status
    if as_json:
        scores = {split: run.scores(split) for split in run.splits}
        told = {"run": str(run.path), "status": status, "config": run.config_dict, "meta": run.meta, "scores": scores}
        print_json(told)
        return
    print((run.path / "config.yaml").read_text(encoding="utf-8"))
    show([{"": k, "value": str(v)} for k, v in status.items() if k != "scores"], as_json=False)
    if rows := rows_of(run):
        show(rows, as_json=False)


def _difference(one, other, as_json: bool) -> None:
    import lab.runs
    from lab.cli._output import show

    different = lab.runs.difference(one.config, other.config)
    rows = [{"knob": path, one.name: _shown(a), other.name: _shown(b)} for path, (a, b) in different.items()]
    show(rows, as_json=as_json, empty=f"{one.name} and {other.name} have the same configuration.")


def _name(config: dict, section: str) -> str:
    chosen = config.get(section)
    return str(chosen.get("name", "-") if isinstance(chosen, dict) else chosen or "-")


def _shown(value) -> str:
    return "-" if value is None else str(value)
