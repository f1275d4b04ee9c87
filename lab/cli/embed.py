"""Make a run of a folder of pictures, by any encoder.

No labels are needed; pictures in a folder below FOLDER have its name as their class. The run is browsed, mapped and
compared like any other; `lab export` writes its vectors for other tools. With `--shards FOLDER` there is no run but a
gallery in shards, for more pictures than fit into memory: `lab query RUN picture.png --gallery FOLDER` searches it.
Given again, an interrupted `lab embed --shards` continues where it stopped.
"""

from __future__ import annotations

import argparse
from typing import Any

from lab.cli._output import add_flags, show
from lab.cli._scores import show_import

HEADING = "Search and exchange"
PLACE = 23


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    flag("folder", metavar="FOLDER", help="folder of pictures")
    encoder = (
        "a trained run; a model of timm (resnet50, vit_small_patch14_dinov2.lvd142m, ...) or one of ours; "
        "module:function, which returns a model; or a file: TorchScript (.pt), torch.export (.pt2), ONNX (.onnx); "
        "functions and the first two kinds of files can run any program, so name only those that you trust"
    )
    flag("--encoder", required=True, metavar="WHAT", help=encoder)
    flag("--weights", metavar="FILE", help="saved state_dict of the model of timm")
    flag("--size", type=int, help="side of the images in pixels (default: what the encoder says)")
    flag(
        "--mean",
        type=float,
        nargs=3,
        help="mean of red, green and blue that the encoder expects (default: its own)",
    )
    std = "standard deviation of red, green and blue that the encoder expects (default: its own)"
    flag("--std", type=float, nargs=3, help=std)
    flag(
        "--batch-size", type=int, help="pictures that are embedded at once (default 8, on a GPU 64)"
    )
    flag(
        "--workers",
        type=int,
        help="processes that read pictures ahead (default 0: each thread reads its own; "
        "beside a GPU or a single thread 1 for many pictures)",
    )
    flag("--device", default="auto", help="auto, cpu or cuda (default auto)")
    flag("--name", help="name of the run (default: that of the folder)")
    flag("--shards", metavar="FOLDER", help="write shards into this folder instead of making a run")
    flag("--shard-rows", type=int, help="pictures in a shard (default 100,000)")
    add_flags(parser, "runs", "json", "allow")


def run(arguments: argparse.Namespace) -> None:
    from lab.cli._progress import result_of
    from lab.encoders.foreign import Seen

    options: dict[str, Any] = {
        "weights": arguments.weights,
        "seen": Seen(arguments.size, arguments.mean, arguments.std),
        "device": arguments.device,
        "batch_size": arguments.batch_size,
        "workers": arguments.workers,
        "runs": arguments.runs,
        "allow": arguments.allow,
    }
    if arguments.shards is not None:
        _shards(arguments, options)
        return
    if arguments.shard_rows is not None:
        raise ValueError("--shard-rows belongs to --shards FOLDER; name the folder, too.")
    from lab.integrations.importing.folder import embed_folder

    records = embed_folder(arguments.folder, arguments.encoder, name=arguments.name, **options)
    show_import(result_of(records, arguments.quiet), arguments.json)


def _shards(arguments: argparse.Namespace, options: dict[str, Any]) -> None:
    from lab.cli._progress import result_of
    from lab.integrations.importing.shards import embed_shards
    from lab.search.galleries.shards import SHARD

    if arguments.name is not None:
        raise ValueError("--name is a run's; --shards makes no run, so leave one of them out.")
    rows = SHARD if arguments.shard_rows is None else arguments.shard_rows
    records = embed_shards(
        arguments.folder, arguments.encoder, arguments.shards, rows=rows, **options
    )
    gallery = result_of(records, arguments.quiet)
    row = {
        "gallery": str(gallery.folder),
        "pictures": len(gallery),
        "numbers a vector": gallery.vectors.shape[1],
        "shards": len(gallery.about["shards"]),
    }
    show([row], as_json=arguments.json)
