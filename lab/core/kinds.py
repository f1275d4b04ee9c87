"""Say what a file is, by how it begins: for a refusal that names what was given instead of what was expected."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path

BEGINNINGS = {
    b"\x89PNG\r\n": "an image", b"\xff\xd8\xff": "an image", b"GIF8": "an image",
    b"II*\x00": "an image", b"MM\x00*": "an image",
    b"PAR1": "a Parquet table", b"ARROW1": "an Arrow table", b"\x93NUMPY": "a NumPy array",
    b"\x89HDF": "an HDF5 file", b"SQLite format 3": "an SQLite database", b"%PDF": "a PDF",
    b"\x1f\x8b": "a gzip archive", b"PK\x03\x04": "a ZIP archive", b"\x80\x02": "a pickle", b"\x80\x04": "a pickle",
}  # fmt: skip
ENDINGS = {
    ".onnx": "an ONNX model", ".npz": "a NumPy archive", ".pt": "a PyTorch file", ".pth": "a PyTorch file",
    ".pt2": "a PyTorch program", ".ts": "a PyTorch program", ".csv": "a CSV", ".tsv": "a table of tabs",
    ".json": "a JSON file", ".jsonl": "JSON lines", ".yaml": "a YAML file", ".yml": "a YAML file",
    ".txt": "a text file", ".md": "a text file", ".py": "a Python program",
}  # fmt: skip
"""Of what many formats begin like: ZIP archives, text."""
FOLDERS = {
    "config.yaml": "the folder of a run",
    "gallery.json": "a gallery in shards",
    "index.faiss": "a faiss index",
}
"""By a file that lies in it."""


def what_is(path: Path) -> str:
    """Return what a file or folder is, with its article: `a CSV`, `the folder of a run`.

    Raises:
        OSError: it cannot be read.
    """
    path = Path(path)
    if path.is_dir():
        return next((kind for name, kind in FOLDERS.items() if (path / name).is_file()), "a folder")
    with open(path, "rb") as file:
        begin = file.read(4096)
    if not begin:
        return "an empty file"
    ending = ENDINGS.get(path.suffix.lower())
    webp, bitmap = (
        begin[:4] == b"RIFF" and begin[8:12] == b"WEBP",
        begin[:2] == b"BM" and begin[6:10] == bytes(4),
    )
    if webp or bitmap:
        return "an image"
    if re.match(rb"I[xHwvVB][A-Za-z0-9]{2}\W", begin):
        return "a faiss index"
    if _is_safetensors(begin, path.stat().st_size):
        return "a safetensors file"
    kind = next((kind for start, kind in BEGINNINGS.items() if begin.startswith(start)), None)
    if kind == "a ZIP archive":
        return ending or kind  # PyTorch and NumPy write such archives
    return kind or ending or _text(begin)


def _is_safetensors(begin: bytes, size: int) -> bool:
    if len(begin) < 9 or begin[8:9] != b"{":
        return False
    (head,) = struct.unpack("<Q", begin[:8])
    return head <= size


def _text(begin: bytes) -> str:
    if b"\x00" in begin:
        return "a file of a format that is not known here"
    words = begin.decode("utf-8", errors="replace").lstrip("\ufeff")
    if "\ufffd" in words[:-3]:
        return "a file of a format that is not known here"
    if words.lstrip().startswith(("{", "[")):
        try:
            json.loads(words)
            return "a JSON file"
        except ValueError:
            return "a text file" if len(begin) < 4096 else "a JSON file"
    first, *rest = words.splitlines() or [""]
    for mark in (",", ";", "\t"):
        if mark in first and rest and rest[0].count(mark) == first.count(mark):
            return "a CSV"
    return "a text file"
