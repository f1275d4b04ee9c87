"""What searching a gallery costs that does not fit into memory: build, bytes a vector, ms a query, recall@10.

    python scripts/large_gallery.py FOLDER [--engine faiss_ivf_pq] [--rows 10000000] [--lists 4096] [--bytes 16]

Writes rows x width x 4 bytes of clustered unit vectors below FOLDER in shards (5 GB as it stands) and an index beside
them (250 MB), and goes on where it was broken off. Prints one line a stage; times are wall clock and processor.
"""

import argparse
import json
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import lab
from lab.core.results import EmbeddingSet
from lab.galleries import shards

SHARD = 500_000
CLASSES = 100_000
"""Each is a centre with rows about it, a hundred at ten million."""


def rows_of(number: int, rows: int, width: int, centres: np.ndarray) -> EmbeddingSet:
    """Rows of one shard: noise about the centre of their class, of unit length."""
    random = np.random.default_rng([1, number])
    labels = random.integers(0, len(centres), rows)
    vectors = random.standard_normal((rows, width), dtype=np.float32)
    vectors *= np.float32(0.8) * spread(width)
    vectors += centres[labels]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return EmbeddingSet(vectors, labels, number * SHARD + np.arange(rows))


def spread(width: int) -> np.ndarray:
    """Deviation of each number of a vector: a falling spectrum, as embeddings have."""
    return (1 / np.sqrt(1 + np.arange(width))).astype(np.float32)


def centres_of(width: int) -> np.ndarray:
    """Centres that overlap.

    Not in groups: with about as many groups as lists each list is a group, the first one holds every answer, and recall
    is near 1 whatever `probes` is.
    """
    random = np.random.default_rng(0)
    return random.standard_normal((CLASSES, width), dtype=np.float32) * spread(width)


def written(folder: Path, rows: int, width: int) -> shards.Gallery:
    writer = shards.Writer(folder, {"rows": rows, "width": width, "shard": SHARD})
    centres = centres_of(width)
    while not writer.complete and writer.shards * SHARD < rows:
        number = writer.shards
        part = rows_of(number, min(SHARD, rows - number * SHARD), width, centres)
        writer.add(part, [""] * len(part))
    return shards.open_gallery(folder) if writer.complete else writer.finish()


def memory(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


@contextmanager
def told(what: str):
    wall, own = time.perf_counter(), time.process_time()
    about: dict = {}
    yield about
    about |= {"seconds": round(time.perf_counter() - wall, 1), "processor": round(time.process_time() - own, 1)}
    about |= {"own_GB": round(memory("RssAnon") / 1e9, 2), "peak_resident_GB": round(memory("VmHWM") / 1e9, 2)}
    print(json.dumps({"stage": what, **about}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--engine", default="faiss_ivf_pq", choices=("faiss_ivf_pq", "lancedb"))
    for name, default in {"rows": 10_000_000, "width": 128, "lists": 4096, "bytes": 16, "queries": 200}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--sample", type=int, default=131_072)
    given = parser.parse_args()
    with told("vectors"):
        gallery = written(given.folder / "gallery", given.rows, given.width)
    with told("index") as about:
        knobs = {"k": 10, "lists": given.lists, "bytes": given.bytes}
        knobs |= {"sample": given.sample} if given.engine == "faiss_ivf_pq" else {}
        folder = given.folder / given.engine
        index = lab.search.create(given.engine, folder=str(folder), **knobs).build(gallery)
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        about |= {"bytes_a_vector": round(size / given.rows, 2)}
    query = rows_of(10**6, given.queries, given.width, centres_of(given.width)).vectors
    with told("exact") as about:
        exact = lab.search.create("streamed", k=10).build(gallery).neighbours(query)[1]
    for probes in (1, 4, 16, 64, 256):
        for rerank in (1, 10, 50):
            index.knobs = index.Knobs(**{**dict(index.knobs), "probes": probes, "rerank": rerank})
            if given.engine == "faiss_ivf_pq":
                index.index.nprobe = probes
            index.neighbours(query[:5])
            with told("search") as about:
                own = time.process_time()
                found = np.concatenate([index.neighbours(one)[1] for one in query])
                about |= {"probes": probes, "rerank": rerank}
                about |= {"processor_ms_a_query": round(1000 * (time.process_time() - own) / len(query), 2)}
                about |= {"recall@10": np.mean([np.isin(a, b).mean() for a, b in zip(exact, found, strict=True)])}


if __name__ == "__main__":
    main()
