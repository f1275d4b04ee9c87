"""What importing a large file of vectors costs: seconds, and the memory that is this process's own.

    python scripts/import_million.py FOLDER [--rows 1000000] [--width 512] [--labelled]

Writes rows x width x 4 bytes twice below FOLDER (4 GB as it stands) and removes both. Pages of a memory map are the
system's to drop, so `own` counts anonymous memory alone; `resident` counts those pages, too.
"""

import argparse
import shutil
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import lab


def make(path: Path, rows: int, width: int) -> None:
    """Random unit rows, written in pieces."""
    random = np.random.default_rng(0)
    file = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(rows, width))
    for start in range(0, rows, 50_000):
        part = random.standard_normal((min(50_000, rows - start), width), dtype=np.float32)
        file[start : start + len(part)] = part / np.linalg.norm(part, axis=1, keepdims=True)
    file.flush()


class Peak(threading.Thread):
    """Largest anonymous and resident memory in bytes, looked at every 20 ms."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.own = self.resident = 0
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.02):
            self.own, self.resident = max(self.own, look("RssAnon")), max(self.resident, look("VmRSS"))


def look(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--labelled", action="store_true", help="give each row one of 10,000 classes and a key")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(dir=given.folder))
    try:
        make(folder / "vectors.npy", given.rows, given.width)
        about = {}
        if given.labelled:
            about = {"labels": np.arange(given.rows) % 10_000, "keys": [f"image {i:07}" for i in range(given.rows)]}
        _ = lab.runs.from_embeddings  # what is imported for it is no part of it
        before, peak = look("RssAnon"), Peak()
        peak.start()
        started = time.perf_counter()
        run = lab.runs.from_embeddings(folder / "vectors.npy", **about, runs=folder)
        seconds = time.perf_counter() - started
        peak.over.set()
        size = given.rows * given.width * 4
        print(f"{given.rows:,} x {given.width} float32, {size / 1e9:.2f} GB: {seconds:.1f} s")
        print(f"own memory: {(peak.own - before) / 1e9:.2f} GB more than before, {peak.own / 1e9:.2f} GB in all")
        print(f"resident, pages of the map included: {peak.resident / 1e9:.2f} GB; run {run.state}")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
