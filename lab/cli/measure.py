"""Measure queries against a gallery in shards: exact, the gallery read once and never loaded.

    lab measure queries --gallery gallery --metrics hit_rate_at_k map_at_r --on ray --parts 8
QUERIES and gallery are folders that `lab embed --shards` wrote with the same encoder; classes are matched by name.
With `--on ray` each worker of a cluster reads a part of the gallery, with the same result; every worker must
be able to read the folder.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from lab.cli._output import add_flags, say, show


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    from lab.cli import _launching

    flag = parser.add_argument
    flag("queries", metavar="QUERIES", help="folder of shards with the queries")
    flag("--gallery", metavar="FOLDER", help="folder of shards to search (default QUERIES)")
    flag(
        "--metrics",
        nargs="+",
        default=["hit_rate_at_k", "map_at_r"],
        help="metrics to compute; `lab metrics` lists them",
    )
    flag("--k", type=int, default=100, help="neighbours that are kept for each query (default 100)")
    flag(
        "--similarity",
        default="cosine",
        choices=("cosine", "euclidean"),
        help="how vectors are compared (default cosine)",
    )
    _launching.add_on(
        parser, words, help="ray, or ray://HOST:PORT: read the gallery by workers of that cluster (default here)"
    )
    flag("--parts", type=int, default=1, help="parts of the gallery that can be read at the same time (default 1)")
    add_flags(parser, "json")


def run(arguments: argparse.Namespace) -> int:
    import lab.metrics
    from lab.cli._launching import launcher_of
    from lab.cli._progress import result_of
    from lab.evaluation.scores import evaluate_streamed
    from lab.galleries.maker import Maker
    from lab.galleries.shards import in_memory, open_gallery

    if arguments.parts < 1:
        raise ValueError(f"--parts must be at least 1, got {arguments.parts}.")
    launcher = launcher_of(arguments)
    queries = open_gallery(arguments.queries)
    gallery = queries if arguments.gallery is None else open_gallery(arguments.gallery)
    maker = Maker.planned(queries.about["plan"])
    note = "" if maker is None else maker.note_on(Maker.planned(gallery.about["plan"]), str(gallery.folder))
    same = gallery.folder.resolve() == queries.folder.resolve()
    measured = result_of(
        evaluate_streamed(
            in_memory(queries, gallery),
            gallery,
            {name: lab.metrics.create(name) for name in arguments.metrics},
            k=arguments.k,
            similarity=arguments.similarity,
            same_source=same,
            mapped=map if launcher is None else launcher.map,
            parts=arguments.parts,
        ),
        arguments.quiet,
    )
    show([{"metric": name, "value": value} for name, value in measured.values.items()], as_json=arguments.json)
    say(
        f"{len(queries):,} queries against {len(gallery):,} items in {measured.seconds:.1f} s{note}; "
        f"{measured.excluded:,} have no positive and are not counted."
    )
    return 0
