"""Tripwires: what a process runs, opens or asks while something is tried."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

WORDS = {
    "a function of an installed module": "os:abort",
    "a function of the folder": "evil:go",
    "a function by the path of the folder": "gift.evil:go",
    "TorchScript": "x.ts",
    "TorchScript, by another suffix": "x.pt",
    "torch.export": "x.pt2",
    "ONNX": "x.onnx",
    "an address": "http://127.0.0.1:1/x",
    "an address of a store": "s3://b/x",
    "an address behind a cache": "filecache::http://127.0.0.1:1/x.tar",
    "a model of a hub": "hf-hub:somebody/net",
    "an absolute path": "{secret}",
    "a folder above": "../..",
    "a model in a folder": "local-dir:{secret}",
}
"""What a stranger may write: in words, and as it stands in the file; `{secret}` is a folder outside the run's."""

_watched: list[Path] = []
_seen: list[str] = []


def _hook(event: str, arguments: tuple) -> None:
    if not _watched:
        return
    if event in (
        "socket.connect",
        "socket.getaddrinfo",
        "subprocess.Popen",
        "os.system",
        "os.exec",
    ):
        _seen.append(f"{event} {arguments!r}"[:200])
    elif event == "import" and str(arguments[0]).rpartition(".")[2] == "evil":
        _seen.append(f"import {arguments[0]}")
    elif event in ("open", "os.listdir", "os.scandir") and isinstance(
        arguments[0], str | bytes | Path
    ):
        path = (
            str(arguments[0], "utf-8", "replace")
            if isinstance(arguments[0], bytes)
            else str(arguments[0])
        )
        if any(Path(path).is_relative_to(secret) for secret in _watched):
            _seen.append(f"{event} {path}")


sys.addaudithook(_hook)


@contextmanager
def watched(secret: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Yield the list of what was run, what was opened below `secret`, and what was asked over the network, so far."""
    import lab.encoders.foreign as foreign

    def trip(name: str):
        return lambda *given, **_: _seen.append(f"{name} {given!r}"[:200])

    _seen.clear()
    with monkeypatch.context() as patch:
        patch.setattr("os.abort", trip("os.abort"))
        patch.setattr("torch.jit.load", trip("torch.jit.load"))
        patch.setattr("torch.export.load", trip("torch.export.load"))
        readers = {
            suffix: (kind, trip(f"reader of {suffix}"))
            for suffix, (kind, _) in foreign.FILES.items()
        }
        patch.setattr(foreign, "FILES", readers)
        _watched.append(secret)
        try:
            yield _seen
        finally:
            _watched.clear()
