"""What a word names: an entry or a model by its name, a program, an address, or a path."""

from __future__ import annotations

import os
from pathlib import Path

PROGRAMS = (".ts", ".pt", ".torchscript", ".pt2", ".onnx")
"""Suffixes of files that are programs: TorchScript, torch.export, ONNX."""

NAME, PROGRAM, ADDRESS, PATH = "name", "program", "address", "path"
"""What a word can name."""

HUBS = ("hf-hub:", "hf_hub:", "data:")
"""How addresses begin that have no `://`: those of timm for the Hugging Face Hub, and data in the address itself."""


def is_address(word: str) -> bool:
    """Whether a word names something that is not a file of this machine, or a reader of fsspec in front of a file.

    Example:
        >>> is_address("s3://bucket/photos"), is_address("filecache::photos.tar"), is_address("/home/me/photos")
        (True, True, False)
    """
    return "://" in word or "::" in word or word.lower().startswith(HUBS)


def kind_of(word: str) -> str:
    """Return what a word names where a network is expected: one of `NAME`, `PROGRAM`, `ADDRESS` and `PATH`.

    Example:
        >>> kind_of("resnet50.a1_in1k"), kind_of("os:abort"), kind_of("model.PT2"), kind_of("hf-hub:me/net")
        ('name', 'program', 'program', 'address')
        >>> kind_of("../weights"), kind_of("local-dir:/home/me/net")
        ('path', 'path')
    """
    if Path(word.strip()).suffix.lower() in PROGRAMS:
        return PROGRAM
    if is_address(word):
        return ADDRESS
    if word.lower().startswith("local-dir:"):  # as timm names a folder
        return PATH
    if ":" in word:
        return PROGRAM
    return PATH if "/" in word or os.sep in word or word.startswith(("~", ".")) else NAME


DOWNLOAD = "download"
"""The kind of a reference to pretrained weights that are not on this machine."""

PATHS, DOWNLOADS = "paths", "downloads"
ALLOW = {PATH: PATHS, DOWNLOAD: DOWNLOADS, ADDRESS: "addresses"}
"""Kind of a reference to the word that allows it, after `--allow`. No word allows a program."""

EVERYTHING = frozenset(ALLOW.values())
"""Every word that may follow `--allow`."""
