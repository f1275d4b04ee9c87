"""What a run was made with: versions, host, source revision, the compute paths in use."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

PACKAGES = (
    "rankscope",
    "torch",
    "torchvision",
    "timm",
    "numpy",
    "faiss-gpu",
    "faiss-cpu",
    "pytorch-metric-learning",
)


def version_of(package: str) -> str:
    """The installed version of a package; empty where it is missing."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def versions() -> dict[str, str]:
    """Installed version of each package that matters; those that are missing are left out. Imports none of them."""
    found = {package: version_of(package) for package in PACKAGES}
    return {
        "python": platform.python_version(),
        **{name: version for name, version in found.items() if version},
    }


def git_revision() -> str | None:
    """Revision of the source this runs from, with `+` when files were changed.

    None outside a repository, and where the repository does not hold this source: an installation inside the folder of
    somebody's own project, whose revision says nothing of ours.
    """
    if _git("ls-files", "--error-unmatch", Path(__file__).name) is None:
        return None
    return _git("describe", "--always", "--dirty=+", "--abbrev=12", "--exclude=*") or None


def _git(*words: str) -> str | None:
    """What git says in this file's folder; None when it fails, is slow or is not there."""
    elsewhere = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        answer = subprocess.run(
            ["git", *words],
            cwd=Path(__file__).parent,
            env=elsewhere,
            capture_output=True,
            text=True,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None


def device_name(device: str) -> str:
    """The name of a GPU, or of the processor where the system tells it; else the processor's kind, such as x86_64."""
    if device.startswith("cuda"):
        import torch

        return torch.cuda.get_device_name(device)
    try:
        with open("/proc/cpuinfo") as lines:
            return next(
                line.split(":")[1].strip() for line in lines if line.startswith("model name")
            )
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def meta(device: str) -> dict[str, Any]:
    """What meta.json says about the machine and the software."""
    import torch

    return {
        "host": platform.node(),
        "platform": platform.platform(),
        "device": device,
        "device_name": device_name(device),
        "threads": torch.get_num_threads(),
        "versions": versions(),
        "git": git_revision(),
        "command": sys.argv,
    }
