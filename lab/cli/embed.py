"""Embed a folder of images, or a split of a run's data, with a trained run; writes one safetensors file.

The file holds `vectors` [n d] float32, `labels` and `items` int64 [n]; its header names the images. Of a folder all
images below it are taken, and labels are -1.
"""

from __future__ import annotations

from pathlib import Path


def add_arguments(parser):
    from lab.cli._output import add_json

    parser.add_argument("run", help="name or folder of the run")
    parser.add_argument("what", metavar="FOLDER_OR_SPLIT", help="folder of images, or train, validation or test")
    parser.add_argument("--runs", metavar="FOLDER", help="folder of runs (default $LAB_RUNS, else runs)")
    parser.add_argument("--output", metavar="FILE", help="where to write (default RUN-WHAT.safetensors here)")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    add_json(parser)


def run(arguments):
    import json

    import numpy as np
    from safetensors.numpy import save

    import lab.runs
    from lab.cli._output import print_json, say
    from lab.cli._progress import result_of
    from lab.core.files import write_bytes
    from lab.runs.evaluate import Examiner, open_trained

    run = lab.runs.open(arguments.run, arguments.runs)
    images, items = _images(run, arguments.what)
    output = Path(arguments.output or f"{run.name}-{Path(arguments.what).name}.safetensors")
    trained = open_trained(run, config=run.config_of())
    records = Examiner(trained).embed(trained.loader_of(images), items, f"images of {arguments.what}")
    embeddings = result_of(records, arguments.quiet)
    write_bytes(output, save(dict(vars(embeddings)), {"keys": json.dumps([images.keys[i] for i in embeddings.items])}))
    if len(embeddings) < len(items):
        lost = [images.keys[i] for i in np.setdiff1d(items, embeddings.items)]
        named = ", ".join(lost[:5]) + (", ..." if len(lost) > 5 else "")
        say(f"{len(lost)} files could not be read as images and were left out: {named}")
    if arguments.json:
        print_json({"file": str(output), "images": len(embeddings), "dim": embeddings.vectors.shape[1]})
    else:
        print(f"{len(embeddings)} embeddings of width {embeddings.vectors.shape[1]} in {output}")
    return 0


def _images(run, what: str):
    import numpy as np

    from lab.runs.images import below

    if Path(what).is_dir():
        images = below(what)
        return images, np.arange(len(images))
    dataset = run.dataset()
    if what not in dataset.splits:
        raise ValueError(f"{what!r} is neither a folder nor a split; the splits are {', '.join(dataset.splits)}.")
    return dataset, dataset.splits[what].items
