"""Search a run's gallery with an image of your own; prints the nearest images."""

from __future__ import annotations


def add_arguments(parser):
    from lab.cli._output import add_json

    parser.add_argument("run", help="name or folder of the run")
    parser.add_argument("image", help="image file")
    parser.add_argument("--runs", metavar="FOLDER", help="folder of runs (default $LAB_RUNS, else runs)")
    parser.add_argument("--split", default="test", help="split to search (default test)")
    parser.add_argument("--k", type=int, default=10, help="neighbours to show (default 10)")
    add_json(parser)


def run(arguments):
    import numpy as np

    import lab.runs
    import lab.search
    from lab.cli._output import say, show
    from lab.cli._progress import result_of
    from lab.runs.evaluate import embedder
    from lab.runs.images import Files

    run = lab.runs.open(arguments.run, arguments.runs)
    if arguments.k < 1:
        raise ValueError(f"--k must be at least 1, got {arguments.k}.")
    gallery = run.embeddings(arguments.split, "gallery") or run.embeddings(arguments.split)
    image = Files([arguments.image])
    image.load(0)  # says by name what is wrong with the file, before the model is read
    vector = result_of(embedder(run, arguments.split)(image, np.zeros(1, np.int64), "the image"), quiet=True).vectors
    config = run.config_of(arguments.split)
    index = lab.search.create("exact", device=config.training.knobs.device, similarity=config.similarity).build(gallery)
    scores, positions = index.neighbours(vector, k=min(arguments.k, len(gallery)))
    dataset = run.dataset()
    outside = (gallery.items < 0) | (gallery.items >= len(dataset)) | (gallery.labels >= len(dataset.class_names))
    if outside.any():
        raise ValueError(
            f"The embeddings of {run.name} name {outside.sum()} images that its data does not have; run: "
            f"lab evaluate {run.path}."
        )
    rows = [
        {
            "rank": rank,
            "score": round(float(score), 4),
            "class": dataset.class_names[gallery.labels[position]],
            "image": dataset.keys[gallery.items[position]],
        }
        for rank, (score, position) in enumerate(zip(scores[0], positions[0], strict=True), start=1)
    ]
    show(rows, as_json=arguments.json)
    say(f"Searched in the {arguments.split} images of {run.name}, {run.origin(arguments.split).words}.")
    return 0
