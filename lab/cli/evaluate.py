"""Measure a run again, by other metrics for instance; or shards.

The scores and embeddings that the run holds of this split are replaced. `lab evaluate RUN --evaluation.flip --metrics
nmi` measures with the run's own settings, changed by the flags.

`lab evaluate QUERIES --gallery GALLERY` measures folders of shards that `lab embed --shards` wrote with the same
encoder: exact, the gallery read once and never loaded; classes are matched by name.
"""

from __future__ import annotations

import argparse

from lab.cli._output import add_flags, say, show

HEADING = "Train and measure"
PLACE = 13

USUAL = ("--metrics", "--split", "--evaluation.flip", "--gallery", "--device", "--runs", "--json")

SECTIONS = ("testing", "metrics", "evaluation")

SHARDED = ["hit_rate_at_k", "map_at_r"]
"""Metrics of shards unless others are named."""


def add_arguments(parser: argparse.ArgumentParser, words: list[str]) -> None:
    from lab.cli import _config

    flag = parser.add_argument
    add_flags(parser, "run", "runs", "json", "allow")
    splits = "train, validation or test, one or several (default as configured)"
    flag("--split", nargs="+", action="extend", metavar="NAME", help=splits)
    flag("--device", help="device to embed on (default that of the run)")
    encoder = "a function that makes the encoder, for a run of your own encoder; without it what is stored is measured"
    flag("--encoder", metavar="MODULE:FUNCTION", help=encoder)
    flag(
        "--gallery",
        metavar="FOLDER",
        help="folder of shards to search; the run is then a folder of shards, too",
    )
    flag(
        "--k",
        type=int,
        default=100,
        help="of shards: neighbours that are kept for each query (default 100)",
    )
    how = "of shards: how vectors are compared (default cosine)"
    flag("--similarity", default="cosine", choices=("cosine", "euclidean"), help=how)
    _config.add_sections(parser, words, SECTIONS)


def run(arguments: argparse.Namespace) -> None:
    if arguments.gallery:
        _shards(arguments)
        return
    # These flags are for shards alone.
    given = []
    if arguments.k != 100:
        given.append("--k")
    if arguments.similarity != "cosine":
        given.append("--similarity")
    if given:
        raise ValueError(
            f"{', '.join(given)} is for folders of shards; name the other one with --gallery FOLDER."
        )
    import lab.runs

    # before what takes seconds to load
    run = lab.runs.open(arguments.run, arguments.runs, arguments.allow)
    from lab.cli import _config
    from lab.cli._progress import drain
    from lab.cli._scores import show_scores
    from lab.runs.custom.modules import again
    from lab.runs.evaluate import evaluate_run

    config = _config.config_of(arguments, run)
    if arguments.device:
        config = config.changed("training.device", arguments.device)
    splits = tuple(arguments.split) if arguments.split else None
    encoder = None if arguments.encoder is None else again(arguments.encoder, run)
    with lab.runs.Writer(run) as writer:
        writer.sign()
        drain(evaluate_run(run, writer, config, splits, encoder=encoder), quiet=arguments.quiet)
    show_scores(run, as_json=arguments.json)


def _shards(arguments: argparse.Namespace) -> None:
    import lab.metrics
    from lab.cli import _config
    from lab.cli._progress import result_of
    from lab.evaluation.scores import evaluate_streamed, left_out_sentence
    from lab.search.galleries.maker import Maker
    from lab.search.galleries.shards import in_memory, open_gallery

    # Refuse flags that shards cannot follow.
    flags = [
        flag
        for flag in _config.given_flags(arguments)
        if flag.startswith(("--evaluation", "--testing"))
    ]
    if flags:
        raise ValueError(
            f"{', '.join(flags)} cannot be had of shards, which are measured as they are; leave it out."
        )
    of_runs = ("split", "device", "encoder", "runs", "allow")
    given = [f"--{name}" for name in of_runs if getattr(arguments, name)]
    if given:
        raise ValueError(
            f"{', '.join(given)} cannot be had of folders of shards, which --gallery names; leave it out."
        )
    queries = open_gallery(arguments.run)
    gallery = open_gallery(arguments.gallery)
    maker = Maker.planned(queries.about["plan"])
    note = (
        ""
        if maker is None
        else maker.note_on(Maker.planned(gallery.about["plan"]), str(gallery.folder))
    )
    chosen = _config.merged(arguments, {"metrics": SHARDED})["metrics"]
    metrics = {metric["name"]: lab.metrics.create(**metric) for metric in chosen}
    # Measure one shard after the other, and tell what was found.
    measured = result_of(
        evaluate_streamed(
            in_memory(queries, gallery),
            gallery,
            metrics,
            similarity=arguments.similarity,
            same_source=gallery.folder.resolve() == queries.folder.resolve(),
        ),
        arguments.quiet,
    )
    show(
        [{"metric": name, "value": value} for name, value in measured.values.items()],
        as_json=arguments.json,
    )
    say(
        f"{len(queries):,} queries against {len(gallery):,} items in {measured.seconds:.1f} s{note}; "
        f"{measured.excluded:,} have no positive and are not counted."
    )
    left_out = left_out_sentence(measured.left_out, len(gallery))
    if left_out:
        say(left_out)
    for words in measured.warnings:
        say(f"Note: {words}")
