"""Files that chance has written: each is read, or refused in one sentence, and nothing else happens.

    python scripts/soak/fuzz_files.py 60     # minutes

Manifests, lists of images, YAML configurations, checkpoint headers and names of class folders, made and shrunk
by hypothesis. The tests run a few examples of each; this goes on, with a new seed every round, until the time is up.
"""

from __future__ import annotations

import json
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from PIL import Image

import lab.data
from lab.data.images import listing
from lab.data.manifest import Manifest
from lab.runs.config import SECTIONS, RunConfig, parse_yaml
from lab.training import checkpoint

TEXT = st.text(max_size=30) | st.sampled_from(["a.png", "b.png", "../a.png", "train", "query", "1e999", "'", '"', ","])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)
PROPERTIES: list[tuple[Callable, tuple[st.SearchStrategy, ...]]] = []
"""What reads one kind of file in a folder, and how its content is made."""
outcomes: Counter[str] = Counter()
"""How often each kind of file was read and refused."""


def kind_of_file(*content: st.SearchStrategy) -> Callable[[Callable], Callable]:
    """Make a function one of the properties."""

    def enlist(read: Callable) -> Callable:
        PROPERTIES.append((read, content))
        return read

    return enlist


def check(kind: str, read: Callable[[], Any]) -> None:
    """Read one file.

    Raises:
        AssertionError: it is refused otherwise than in one sentence.
    """
    try:
        read()
    except ValueError as error:
        sentence = str(error)
        assert type(error) is not UnicodeDecodeError and "\n" not in sentence, f"{kind}: {sentence!r}"
        assert sentence.endswith((".", "?", "!", ")")), f"{kind}: {sentence!r}"
        outcomes[f"{kind}, refused"] += 1
    else:
        outcomes[f"{kind}, read"] += 1


def put(folder: Path, name: str, content: bytes) -> str:
    (folder / name).write_bytes(content)
    return str(folder / name)


def pictures(folder: Path) -> None:
    """Two real images, so that some manifests are good."""
    for name in ("a.png", "b.png"):
        if not (folder / name).exists():
            Image.new("RGB", (4, 4)).save(folder / name)


COLUMNS = st.sampled_from(["path", "label", "split", "query_gallery", "super_class", "colour", ""])
ROWS = st.lists(st.lists(TEXT, min_size=1, max_size=5), max_size=6)
CELL = {
    "path": st.sampled_from(["a.png", "b.png", "./a.png", "absent.png"]) | TEXT,
    "label": st.sampled_from(["cat", "dog"]) | TEXT,
    "split": st.sampled_from(["train", "test", "val", "query", "gallery", ""]),
    "super_class": st.sampled_from(["animal", "thing"]),
}


@kind_of_file(st.binary(max_size=400))
def manifest_of_bytes(folder, content):
    pictures(folder)
    file = put(folder, "list.csv", b"path,label\n" + content)
    check("manifest", lambda: Manifest(path=file))


@kind_of_file(st.lists(COLUMNS, max_size=5), ROWS)
def manifest_of_rows(folder, header, rows):
    pictures(folder)
    lines = [",".join(line) for line in [header, *rows]]
    file = put(folder, "list.csv", "\n".join(lines).encode("utf-8", "surrogatepass"))
    check("manifest", lambda: Manifest(path=file))


@kind_of_file(st.lists(st.fixed_dictionaries(CELL), min_size=1, max_size=6), st.sets(st.sampled_from([*CELL])))
def manifest_nearly_right(folder, rows, left_out):
    pictures(folder)
    columns = [name for name in CELL if name not in left_out - {"path", "label"}]
    lines = [",".join(columns), *(",".join(row[name] for name in columns) for row in rows)]
    file = put(folder, "list.csv", "\n".join(lines).encode())
    check("manifest", lambda: Manifest(path=file))


@kind_of_file(st.binary(max_size=400))
def manifest_of_parquet(folder, content):
    file = put(folder, "list.parquet", b"PAR1" + content + b"PAR1")
    check("parquet", lambda: Manifest(path=file))


LISTED = {
    "class_disjoint": True,
    "keys": ["a.png", "b.png"],
    "labels": [0, 1],
    "class_names": ["a", "b"],
    "super_labels": None,
    "super_names": [],
    "attributes": {},
    "splits": {"train": [[0, 1], None]},
    "problems": [],
}


@kind_of_file(st.dictionaries(st.sampled_from([*LISTED, "root"]), JSON, max_size=3))
def list_of_images(folder, changes):
    stored = LISTED | {"root": str(folder)} | changes
    check("images.json", lambda: listing.from_list("class_folders", {"root": str(folder)}, stored))


@kind_of_file(st.sampled_from([*SECTIONS, "nosuch"]), JSON | st.dictionaries(st.just("name") | TEXT, JSON, max_size=4))
def configuration(folder, section, content):
    text = yaml.safe_dump({section: content}, allow_unicode=True)
    check("configuration", lambda: RunConfig.of(parse_yaml(text, "config.yaml")))


@kind_of_file(st.text(alphabet="abc:-[]{}&*!|>'\"#%@`?,\n\t 01.~<\x00é", max_size=120))
def configuration_of_text(folder, text):
    check("YAML", lambda: RunConfig.of(parse_yaml(text, "config.yaml")))


@kind_of_file(JSON, JSON, st.binary(max_size=64))
def checkpoint_of_header(folder, tensors, structure, payload):
    header = {"__metadata__": {"format": str(checkpoint.FORMAT), "structure": json.dumps(structure)}}
    header |= tensors if isinstance(tensors, dict) else {"a": tensors}
    head = json.dumps(header).encode()
    file = put(folder, "last.safetensors", struct.pack("<Q", len(head)) + head + payload)
    check("checkpoint", lambda: checkpoint.load(Path(file)))


MARKED = st.dictionaries(st.sampled_from(["$tensor", "$int_keys", "a"]), JSON | st.just("a"), max_size=3)


@kind_of_file(st.dictionaries(TEXT, TEXT, max_size=4), JSON | MARKED)
def checkpoint_of_structure(folder, metadata, structure):
    stored = {"format": str(checkpoint.FORMAT), "structure": json.dumps(structure)} | metadata
    head = json.dumps({"__metadata__": stored, "a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    file = put(folder, "last.safetensors", struct.pack("<Q", len(head)) + head + bytes(4))
    check("checkpoint", lambda: checkpoint.load(Path(file)))


@kind_of_file(st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=3), st.binary(min_size=1, max_size=20))
def class_folders(folder, names, image):
    names = [name.replace(b"/", b"").replace(b"\0", b"") for name in (*names, image)]
    assume(all(name not in (b"", b".", b"..") for name in names))
    with tempfile.TemporaryDirectory(dir=folder) as root:
        for name in names[:-1]:
            place = bytes(Path(root)) + b"/" + name
            Path(place.decode("utf-8", "surrogateescape")).mkdir(exist_ok=True)
            Image.new("RGB", (4, 4)).save(Path((place + b"/" + names[-1]).decode("utf-8", "surrogateescape") + ".png"))
        check("class folders", lambda: lab.data.create("class_folders", root=root).keys)


def run(read: Callable, content: tuple[st.SearchStrategy, ...], folder: Path, examples: int, seed: int) -> None:
    """Try one kind of file.

    Raises:
        AssertionError, or whatever a reader raised: with the smallest file that does it in its notes.
    """
    quiet = [HealthCheck.too_slow, HealthCheck.filter_too_much]

    @seeded(seed)
    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=quiet)
    @given(st.tuples(*content))
    def one(made):
        read(folder, *made)

    one()


def main() -> None:
    """Until the minutes are up, with another seed each round; the first file that fails ends it."""
    minutes, began, seed = float(sys.argv[1]), time.monotonic(), 0
    while time.monotonic() < began + 60 * minutes:
        for read, content in PROPERTIES:
            with tempfile.TemporaryDirectory() as folder:
                run(read, content, Path(folder), 300, seed)
        seed += 1
    print(*(f"{count:>9,} {kind}" for kind, count in sorted(outcomes.items())), sep="\n")


if __name__ == "__main__":
    main()
