"""Run the notebooks and keep what a page needs to read well where it is not run.

    python scripts/render_notebooks.py            # all of them
    python scripts/render_notebooks.py 3 appendix_a   # some

Widget views and widget state are dropped (megabytes that no page can show), PNG and text stay. Nothing else of the run
is kept: no counts, no times, no paths.
"""

from __future__ import annotations

import base64
import io
import os
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from PIL import Image

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
DROPPED = (
    "application/vnd.jupyter.widget-view+json",
    "application/vnd.plotly.v1+json",
    "application/javascript",
    "image/jpeg",  # Pillow gives every picture twice
)

KEPT = ("tags", "jupyter", "slide", "answer")
"""Metadata of a cell: which exercise it is, that its source is folded, its lines on a slide, a prediction's answer."""


def clean(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Leave only what reads well without a kernel, in place."""
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    notebook.metadata = nbformat.from_dict(
        {"kernelspec": kernel, "language_info": {"name": "python"}}
    )
    for cell in notebook.cells:
        cell.metadata = {key: value for key, value in cell.metadata.items() if key in KEPT}
        if cell.cell_type != "code":
            continue
        cell.execution_count = None
        kept = []
        for output in cell.outputs:
            if output.output_type == "stream" and output.name == "stderr":
                continue
            if "data" in output:
                output.data = {
                    kind: value for kind, value in output.data.items() if kind not in DROPPED
                }
                output.metadata = {}
                if "image/png" in output.data:
                    output.data["image/png"] = lighter(output.data["image/png"])
            if output.get("execution_count"):
                output.execution_count = None
            if output.get("data", True):
                kept.append(output)
        cell.outputs = kept
    return notebook


def lighter(png: str) -> str:
    """The same picture in 128 colours, base64: a fifth of the bytes, no visible loss in charts."""
    picture = (
        Image.open(io.BytesIO(base64.b64decode(png)))
        .convert("RGB")
        .quantize(128, dither=Image.Dither.NONE)
    )
    out = io.BytesIO()
    picture.save(out, "PNG", optimize=True)
    return base64.b64encode(out.getvalue()).decode()


def render(path: Path) -> float:
    """Run one notebook and write it back clean; returns the seconds it took."""
    notebook = nbformat.read(path, as_version=4)
    os.environ["PLOTLY_RENDERER"] = "plotly_mimetype+png"  # figures leave a picture behind, too
    os.environ["LAB_STILLS"] = "1"  # and so do those with sliders
    started = time.perf_counter()
    NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": path.parent}}
    ).execute()
    seconds = time.perf_counter() - started
    nbformat.write(clean(notebook), path)
    return seconds


if __name__ == "__main__":
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        if not sys.argv[1:] or path.name.startswith(tuple(sys.argv[1:])):
            print(f"{path.name}: {render(path):.0f} s", flush=True)
