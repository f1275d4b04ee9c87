"""Files that a coverage-guided fuzzer has written: each is read, or refused in one sentence, and nothing else happens.

    pip install atheris
    python scripts/soak/fuzz_guided.py --minutes 60

atheris (libFuzzer) changes the bytes of good files, keeps what reaches new branches of the readers, and goes on from
there: manifests, lists of images (images.json), YAML configurations and checkpoints, whose checksums are not looked at
meanwhile: nobody would guess one. What fails is told once for each line of code, and the search goes on.
fuzz_files.py makes such files with hypothesis, without guidance.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

READERS = ("manifest", "images", "yaml", "checkpoint", "json")
INSTRUMENTED = ["lab.data", "lab.core", "lab.runs.config", "lab.runs.folder", "lab.training.checkpoint", "yaml"]
"""Whose branches are seen; compiled loops cannot be."""


def corpus(folder: Path) -> None:
    """Good files, each behind the byte that says which reader it is for."""
    import torch
    import yaml

    from lab.runs.config import RunConfig
    from lab.training import checkpoint

    rows = ["path,label,split,query_gallery,super_class", "a.png,cat,train,,animal", "b.png,dog,test,,animal"]
    listed = {
        "class_disjoint": True, "keys": ["a.png", "b.png"], "labels": [0, 1], "class_names": ["a", "b"],
        "super_labels": [0, 0], "super_names": ["x"], "attributes": {"k": ["1", "2"]},
        "splits": {"train": [[0], None], "test": [[0], [1]]}, "problems": [], "root": ".",
    }  # fmt: skip
    saved = {
        "encoder": {"w": torch.ones(2, 3), "deep": [1, {"n": torch.zeros(1)}]},
        "progress": {"step": 3},
        "at": {1: 2},
    }
    checkpoint.save(folder / "c.safetensors", saved)
    good = [
        "\n".join(rows).encode(), json.dumps(listed).encode(), RunConfig.of().as_yaml().encode(),
        (folder / "c.safetensors").read_bytes(), b'{"kind": "stepped", "step": 3}',
    ]  # fmt: skip
    (folder / "c.safetensors").unlink()
    sections = {"loss": "roadmap", "optimiser": {"name": "sgd", "lr": 1e-3}, "wrappers": ["similarity_regulariser"]}
    small = yaml.safe_dump({**sections, "training": {"steps": 3}}).encode()
    for number, content in enumerate([*good, small]):
        which = READERS.index("yaml") if content is small else number
        (folder / f"good-{number}").write_bytes(bytes([which]) + content)


def readers(folder: Path) -> dict:
    """What reads each kind, given the bytes of a file."""
    import fuzz_files

    from lab.core.files import parse_json
    from lab.data.images import listing
    from lab.data.manifest import Manifest
    from lab.runs.config import RunConfig, parse_yaml
    from lab.training import checkpoint

    fuzz_files.pictures(folder)
    checkpoint.arrays.verify = lambda *_: None

    def put(name: str, content: bytes) -> str:
        return fuzz_files.put(folder, name, content)

    def yaml(content: bytes) -> object:
        return RunConfig.of(parse_yaml(content.decode("utf-8", "replace"), "config.yaml"))

    def lines(content: bytes) -> dict | None:
        try:
            return parse_json(content)
        except ValueError:
            return None  # whoever asks has the words for it

    def images(content: bytes) -> object:
        stored = lines(content)
        return stored and listing.from_list("class_folders", {"root": str(folder)}, {"root": str(folder), **stored})

    return {
        "manifest": lambda content: Manifest(path=put("list.csv", content)),
        "images": images,
        "yaml": yaml,
        "checkpoint": lambda content: checkpoint.load(Path(put("last.safetensors", content))),
        "json": lines,
    }


def search(asked: argparse.Namespace) -> None:
    """The process that libFuzzer lives in; it never returns."""
    import atheris

    with atheris.instrument_imports(include=INSTRUMENTED, enable_loader_override=False):
        import fuzz_files

        read = readers(Path(asked.folder))
    findings = Path(asked.findings)

    def one(data: bytes) -> None:
        if not data:
            return
        kind = READERS[data[0] % len(READERS)]
        try:
            fuzz_files.check(kind, lambda: read[kind](data[1:]))
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            name = re.sub(r"\W+", "-", f"{kind}-{type(error).__name__}-{Path(where.filename).name}-{where.lineno}")
            if not (findings / name).exists():
                (findings / name).write_bytes(data[1:])
                (findings / f"{name}.txt").write_text(traceback.format_exc())

    limits = [
        f"-max_total_time={int(asked.minutes * 60)}",
        f"-seed={asked.seed + 1}",
        "-max_len=4096",
        "-rss_limit_mb=4096",
    ]
    atheris.Setup([sys.argv[0], *limits, "-timeout=60", "-print_final_stats=1", asked.corpus], one)
    atheris.Fuzz()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    for inner in ("--folder", "--corpus", "--findings"):
        parser.add_argument(inner, help=argparse.SUPPRESS)
    asked, began = parser.parse_args(), time.monotonic()
    if asked.folder:
        search(asked)
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        places = {name: Path(folder) / name for name in ("folder", "corpus", "findings")}
        for place in places.values():
            place.mkdir()
        corpus(places["corpus"])
        words = [word for name, place in places.items() for word in (f"--{name}", str(place))]
        done = subprocess.run(
            [sys.executable, __file__, f"--minutes={asked.minutes}", f"--seed={asked.seed}", *words],
            stderr=subprocess.PIPE, text=True, errors="replace", env={**os.environ, "OMP_NUM_THREADS": "1"}, cwd=folder,
        )  # fmt: skip
        runs = re.search(r"stat::number_of_executed_units:\s*(\d+)", done.stderr)
        reached = re.findall(r"cov: (\d+)", done.stderr)
        found = sorted(places["findings"].glob("*.txt"))
        failures = [f"{one.stem}: {one.read_text().strip().splitlines()[-1][:300]}" for one in found]
        for one in found:
            print(one.read_text(), one.with_suffix("").read_bytes()[:400], file=sys.stderr)
        if done.returncode:
            failures.append(f"The fuzzer ended with {done.returncode}: {done.stderr[-1500:]}")
    from common import conclude

    reached = reached or ["?"]
    told = f"{len(READERS)} readers; {reached[0]} branches reached by good files, {reached[-1]} in the end"
    conclude("coverage-guided files", int(runs[1]) if runs else 0, failures, asked.seed, began, told)


if __name__ == "__main__":
    main()
