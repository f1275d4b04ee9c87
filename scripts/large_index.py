"""What starting on many images in shards costs: opening an index, binding the sampler, drawing batches.

    python scripts/large_index.py FOLDER [--images 100000000] [--classes 1000000]

Writes a synthetic index (44 bytes an image, 4.4 GB as it stands, by memory map) unless it is there, and then, in
a process of its own, opens it and draws ten batches of 4 images a class. No image is read.
"""

import argparse
import json
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

BLOCK = 5_000_000


def write(path: Path, images: int, classes: int) -> None:
    """An index as `lab.data.streams.index` has it, in pieces; names are of eight letters, and checksums left out."""
    bounds = np.linspace(0, images, classes + 1).astype(np.int64)
    widths = {"place": 8, "size": 8, "labels": 8, "name_ends": 8, "bounds": 8, "file": 4, "names": 1}
    counts = {"bounds": classes + 1, "names": 8 * images}
    head, start = {}, 0
    for name, width in widths.items():
        count = counts.get(name, images)
        word = {8: "I64", 4: "I32", 1: "U8"}[width]
        head[name] = {"dtype": word, "shape": [count], "data_offsets": [start, start + width * count]}
        start += width * count
    about = {"files": ["0.tar"], "class_names": [str(c) for c in range(classes)], "problems": []}
    head["__metadata__"] = {"header": json.dumps(about)}
    text = json.dumps(head).encode()
    text = text.ljust(-(-len(text) // 8) * 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + start)

    def column(name: str) -> np.ndarray:
        told = head[name]
        kind = {"I64": np.int64, "I32": np.int32, "U8": np.uint8}[told["dtype"]]
        return np.memmap(path, kind, "r+", 8 + len(text) + told["data_offsets"][0], tuple(told["shape"]))

    column("bounds")[:] = bounds
    for low in range(0, images, BLOCK):
        rows = np.arange(low, min(images, low + BLOCK))
        part = slice(low, low + len(rows))
        column("place")[part], column("size")[part] = rows * 10_000, 9_000
        column("labels")[part] = np.searchsorted(bounds, rows, side="right") - 1
        column("name_ends")[part] = 8 * (rows + 1)
        column("names")[8 * low : 8 * (low + len(rows))] = ord("a")


def memory(name: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1e6


def start(path: Path) -> None:
    """The measured part, in a fresh process."""
    import lab
    from lab.data.streams.index import Index
    from lab.data.streams.streamed_set import ClassSplit

    sampler = lab.samplers.create("m_per_class", batch_size=256, per_class=4)
    before, began, own = memory("RssAnon"), time.perf_counter(), time.process_time()
    index = Index(path)
    split = ClassSplit(np.asarray(index.bounds[:-1]), np.diff(index.bounds))
    sampler.bind_classes(split.starts, split.sizes, seed=0)
    opened, processor = time.perf_counter() - began, time.process_time() - own
    own = time.process_time()
    for step in range(10):
        rows = sampler.batch(step)
        _ = index.place[rows], index.labels[rows]
    told = {"images": len(index), "classes": len(index.class_names), "start_s": round(opened, 2)}
    told |= {"start_processor_s": round(processor, 2), "own_GB": round(memory("RssAnon") - before, 3)}
    print(json.dumps(told | {"processor_ms_a_batch": round(100 * (time.process_time() - own), 1)}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--images", type=int, default=100_000_000)
    parser.add_argument("--classes", type=int, default=1_000_000)
    parser.add_argument("--start", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    path = given.folder / f"{given.images}-{given.classes}.safetensors"
    if given.start:
        start(path)
        return
    given.folder.mkdir(parents=True, exist_ok=True)
    if not path.is_file():
        write(path, given.images, given.classes)
    subprocess.run([sys.executable, __file__, *sys.argv[1:], "--start"], check=True)


if __name__ == "__main__":
    main()
