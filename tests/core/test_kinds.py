"""What a file is, in words; and that no message of the product tells anybody to delete one."""

import ast
import io
import json
import re
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from safetensors.numpy import save

import app
import lab
from lab import search
from lab.core import arrays
from lab.core.kinds import what_is

ADVICE = re.compile(
    r"\b(delete|remove|erase|unlink|trash|throw away|rm)\s+(it|this|that|the|them|these|those|your|all|both)\b",
    re.I,
)


def image(kind: str) -> bytes:
    written = io.BytesIO()
    Image.new("RGB", (4, 4)).save(written, kind)
    return written.getvalue()


def archive() -> bytes:
    written = io.BytesIO()
    np.savez(written, a=np.eye(2))
    return written.getvalue()


def array() -> bytes:
    written = io.BytesIO()
    np.save(written, np.eye(2))
    return written.getvalue()


FILES = {
    "products.csv": (b"sku,image\n01,a.jpg\n", "a CSV"),
    "IDs": (b"IDs;label\n01;a\n", "a CSV"),
    "empty": (b"", "an empty file"),
    "notes": ("Größe und so\n".encode(), "a text file"),
    "keys.json": (json.dumps({"a": 1}).encode(), "a JSON file"),
    "vectors.npy": (array(), "a NumPy array"),
    "vectors.npz": (archive(), "a NumPy archive"),
    "model.safetensors": (save({"w": np.eye(2)}, {"format": "pt"}), "a safetensors file"),
    "model.onnx": (b"\x08\x0a\x12\x07pytorch" + bytes(90), "an ONNX model"),
    "rows.parquet": (b"PAR1" + bytes(90), "a Parquet table"),
    "index.faiss": (b"IxZZ" + bytes(90), "a faiss index"),
    "strange": (bytes(range(256)), "a file of a format that is not known here"),
    **{
        f"it.{kind}": (image(kind), "an image")
        for kind in ("png", "jpeg", "webp", "bmp", "tiff", "gif")
    },
}


@pytest.mark.parametrize("name", FILES)
def test_what_is_no_index_is_said_by_what_it_is(tmp_path, name):
    content, kind = FILES[name]
    path = tmp_path / name
    path.write_bytes(content)
    assert what_is(path) == kind
    with pytest.raises(ValueError, match="index") as refused:
        search.open(path)
    assert "damaged" not in str(refused.value) and not ADVICE.search(str(refused.value))
    if kind != "a faiss index":
        assert str(refused.value) == f"{path} is no index of Rankscope: it is {kind}."
    if kind != "a safetensors file":  # which is read as it is
        with pytest.raises(arrays.Unreadable, match=f"is no file of Rankscope: it is {kind}"):
            arrays.read(path)


@settings(derandomize=True, max_examples=150, deadline=None)
@given(content=st.binary(max_size=200), cut=st.integers(0, 400), ours=st.booleans())
def test_damaged_is_said_of_what_bears_our_mark_alone(tmp_path_factory, content, cut, ours):
    """Random bytes, and a file of ours that is cut off anywhere: one sentence each, the right one of two."""
    path = tmp_path_factory.getbasetemp() / "it.bin"
    if ours:
        arrays.write(path, {"a": np.arange(64.0)}, {"what": "test"})
        content = path.read_bytes()[: max(cut, 1)]
    path.write_bytes(content)
    marked = b'"crc32":' in content or b'"header":' in content
    with pytest.raises(arrays.Unreadable) as refused:
        arrays.read(path)
    assert isinstance(refused.value, arrays.Damaged) == marked
    assert ("is damaged" in str(refused.value)) == marked and "\n" not in str(refused.value)
    assert ("is no file of Rankscope: it is " in str(refused.value)) != marked


def test_a_head_that_lies_about_its_length_is_one_sentence(tmp_path):
    (tmp_path / "it").write_bytes(struct.pack("<Q", 2**40) + b"{}")
    with pytest.raises(arrays.Unreadable, match="is no file of Rankscope"):
        arrays.read(tmp_path / "it")


def messages(path: Path) -> list[tuple[int, str]]:
    """Every string constant of a program but its docstrings, each with its line."""
    tree = ast.parse(path.read_text())
    documents = set()
    for node in ast.walk(tree):
        for one in getattr(node, "body", ()) if isinstance(getattr(node, "body", ()), list) else ():
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
                documents.add(one.value)
    strings = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    return [(one.lineno, one.value) for one in strings if one not in documents]


def test_no_message_tells_anybody_to_delete_a_file():
    assert ADVICE.search("It is damaged; delete it, nothing else needs it.")
    found = []
    for package in (lab, app):
        for path in Path(package.__file__).parent.rglob("*.py"):
            found += [
                f"{path}:{line}: {words[:100]}"
                for line, words in messages(path)
                if ADVICE.search(words)
            ]
    assert not found, "\n".join(found)
