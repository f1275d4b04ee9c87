"""What Browse and Map cost the server with many images: laying a map out, the first view of a page, and a click.

    python scripts/map_million.py FOLDER [--rows 1000000] [--width 128] [--umap]

Writes rows x width x 4 bytes below FOLDER (.5 GB as it stands) and removes them. The page runs headless, so that it is
the server's time alone; each first view is that of a fresh process.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


def make(folder: Path, rows: int, width: int) -> None:
    """A run `many` of vectors around 2,000 directions, in classes of 500."""
    import lab

    random = np.random.default_rng(0)
    labels = np.arange(rows) // 500
    centres = random.standard_normal((labels.max() + 1, width), dtype=np.float32)
    path = folder / "vectors.npy"
    file = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(rows, width))
    for start in range(0, rows, 50_000):
        part = slice(start, min(rows, start + 50_000))
        noise = random.standard_normal((part.stop - start, width), dtype=np.float32)
        near = centres[labels[part]] + noise
        file[part] = near / np.linalg.norm(near, axis=1, keepdims=True)
    file.flush()
    lab.runs.from_embeddings(path, labels, keys=[f"image {one:07}" for one in range(rows)], runs=folder, name="many")


def look() -> None:
    """Open the page, then click five points or pictures; an object a line."""
    from app import speed
    from app.__main__ import _load
    from app.shared import background

    _load()  # as the server does before it prints its address
    background.SOON = 600.0
    wanted = json.loads(os.environ["LOOK"])
    name, click = wanted.pop("page"), speed.CLICK[wanted.pop("click")]
    page = speed.session(name, 600, run="many", split="test", **wanted)
    taken = []
    for at in range(-1, 5):
        began = time.perf_counter()
        page.run() if at < 0 else click(page, at)
        taken.append(round(time.perf_counter() - began, 3))
    assert not page.exception and not page.error, [*page.exception, *page.error]
    print(json.dumps({"page": name, "first view": taken[0], "clicks": taken[1:]}), flush=True)


def show(folder: Path, **look: str) -> None:
    """Look twice, each time in a fresh process: the first PCA view lays the map out and keeps it."""
    environment = os.environ | {"LAB_RUNS": str(folder), "LOOK": json.dumps(look)}
    for _ in range(2):
        subprocess.run([sys.executable, __file__, "--look"], env=environment, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--umap", action="store_true", help="lay out with UMAP, too")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(dir=options.folder))
    try:
        make(folder, options.rows, options.width)
        for method in ("pca", *(("umap",) if options.umap else ())):
            if method == "umap":
                began = time.perf_counter()
                words = [
                    sys.executable,
                    "-m",
                    "app.results.projections",
                    str(folder / "many"),
                    "test",
                    method,
                ]
                subprocess.run(words, check=True)
                print(f"{method} laid out: {time.perf_counter() - began:.0f} s", flush=True)
            show(folder, page="map", click="point", map=method)
        show(folder, page="browse", click="picture")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    look() if sys.argv[1:] == ["--look"] else main()
