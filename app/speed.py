"""`python -m app.speed IMAGES [--cpu-time]`: what views and clicks cost the server, a JSON object a line.

`lab bench pages` asks. The pages run headless, so that it is the server's time alone.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from PIL import Image
from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

import lab.runs
from app import served
from app.shared import background

MAIN = Path(__file__).with_name("main.py")
FIRST = "browse"
CLICKS = 5
CROWD = 500
"""Runs in the folder that Runs and Watch are measured on."""


def session(name: str, seconds: int, /, **address: str) -> AppTest:
    """A headless session that has not drawn anything yet and begins with one page, as a deep link does."""
    page = AppTest.from_file(str(MAIN), default_timeout=seconds)
    page._bidi_component_manager = _components()
    page.query_params.update(address)
    if name != FIRST:  # where every address without a name leads
        page._page_hash = calc_hash(name)  # `switch_page` goes by the file's name, and every page's is page.py
    return page


@cache
def _components() -> BidiComponentManager:
    """The register of components: a server looks through all installed packages for them once, when it starts, and not
    for each session, as headless ones would."""
    register = BidiComponentManager()
    register.discover_and_register_components(start_file_watching=False)
    return register


def tell(page: AppTest, key: str, event: str, value: dict) -> None:
    """Let one of our components on a headless page report an event, as the browser does."""
    element = next(e for e in page.get("bidi_component") if e.key == key)
    states = page._tree.get_widget_states()
    trigger = f"$$STREAMLIT_INTERNAL_KEY_{element.proto.id}__events"
    states.widgets.append(WidgetState(id=trigger, json_trigger_value=json.dumps([{"event": event, "value": value}])))
    page._run(states)


def measure(images: int, clock: Callable[[], float]) -> Iterator[dict]:
    """Objects with `name` and `seconds`; the first view of each page is the first of this process, loading included.

    The last two look at a folder of `CROWD` runs, fewer where `images` are few.
    """
    crowd = min(CROWD, images // 100)
    for name, address, click in (
        ("browse", {"run": "short"}, CLICK["picture"]),
        ("inspect", {"run": "short"}, _pick("inspected batch", "batch")),
        ("map", {"run": "short"}, CLICK["point"]),
        ("figures", {"figure": "recall_strip"}, _slide),
        ("browse", {"run": "many"}, CLICK["picture"]),
        ("runs", {}, _filter),
        ("watch", {"watched": "run-003"}, _smoothe),
    ):
        about = f"{name}, {images:,} images" if address.get("run") == "many" else name
        if name in ("runs", "watch"):
            os.environ["LAB_RUNS"], about = _crowd(Path(os.environ["LAB_RUNS"]), crowd), f"{name}, {crowd} runs"
        page = session(name, 600, **address)
        began = clock()
        page.run()
        yield {"name": f"{about}, first view", "seconds": clock() - began}
        taken = []
        for at in range(CLICKS):
            began = clock()
            click(page, at)
            taken.append(clock() - began)
        if page.exception or page.error:
            raise RuntimeError(f"The page {name} failed: {[*page.exception, *page.error][0]}")
        yield {"name": f"{about}, a click", "seconds": statistics.median(taken)}


def _pick(gallery: str, section: str) -> Callable[[AppTest, int], None]:
    """Click one card after the other."""

    def click(page: AppTest, at: int) -> None:
        drawn = next(e for e in page.get("bidi_component") if e.key == gallery)
        cards = next(s for s in json.loads(drawn.proto.json)["sections"] if s["id"] == section)["cards"]
        tell(page, gallery, "picked", {"section": section, "id": cards[at]["id"]})

    return click


def _point(page: AppTest, at: int) -> None:
    drawn = next(e for e in page.get("bidi_component") if e.key == "map drawn")
    ids = served.read(json.loads(drawn.proto.json)["files"]["ids"])
    tell(page, "map drawn", "picked", {"id": int(ids[at])})


def _slide(page: AppTest, at: int) -> None:
    slider = page.select_slider(key="figure.recall_strip.tau2")
    slider.set_value(float(slider.options[-2 - at])).run()


CLICK = {"picture": _pick("results", "neighbours"), "point": _point}
"""By what is clicked: a click on the n-th of them."""


def _filter(page: AppTest, at: int) -> None:
    page.text_input(key="filter").set_value(f"run-0{at}").run()


def _smoothe(page: AppTest, at: int) -> None:
    page.slider(key="smoothing").set_value(0.1 * at).run()


def _crowd(root: Path, count: int) -> str:
    """A folder of finished runs with different learning rates, made of `short`; once made it stays."""
    crowd = root / "crowd"
    if root.name == "crowd":
        return str(root)
    heavy = shutil.ignore_patterns("checkpoints", "embeddings", "batches", "frames", "*.safetensors", ".lock")
    whole = (root / "short" / "config.yaml").read_text("utf-8")
    for at in range(count):
        folder = shutil.copytree(root / "short", crowd / f"run-{at:03d}", ignore=heavy)
        (folder / "config.yaml").write_text(whole.replace("lr: 0.001", f"lr: {0.001 + at / 1e5:.5f}"))
    return str(crowd)


class _Many:
    """A data set of as many grey pictures as asked, eight of a class."""

    root = pixels = super_labels = None
    super_names = ()
    name = "many"

    def __init__(self, images: int):
        self.labels = np.arange(images) % max(2, images // 8)
        self.class_names = [f"class {at}" for at in range(self.labels.max() + 1)]
        self.attributes = {"vendor": np.array(["acme", "zeta", "moon"])[np.arange(images) % 3]}
        self.keys = [f"{at}.png" for at in range(images)]

    def load(self, item: int) -> Image.Image:
        return Image.new("RGB", (32, 32), 3 * (item % 256,))


def _make_runs(root: Path, images: int) -> None:
    """A run of ten steps, `short`, and a copy of it whose test split is of `images`, around class centres."""
    config = {
        "data": {"name": "emoji7", "test": 0.04, "validation": 0.04},
        "augmentation": {"size": 32},
        "sampler": {"name": "m_per_class", "batch_size": 32},
        "training": {"steps": 10, "validate_every": 5, "checkpoint_every": 5, "device": "cpu"},
    }
    run = lab.runs.create(lab.runs.RunConfig.of(config), root, "short")
    for _ in lab.runs.execute(run):
        pass
    many, pictures, known = shutil.copytree(run.path, root / "many"), _Many(images), lab.runs.Run.dataset
    stood_in: Any = lambda one: pictures if one.name == "many" else known(one)  # noqa: E731
    lab.runs.Run.dataset = stood_in  # type: ignore[method-assign]
    random = np.random.default_rng(0)
    vectors = random.normal(size=(pictures.labels.max() + 1, 128)).astype(np.float32)[pictures.labels]
    vectors += 1.2 * random.normal(size=vectors.shape).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    arrays: dict[str, np.ndarray] = {"query.vectors": vectors, "query.labels": pictures.labels}
    arrays["query.items"] = np.arange(images)
    safetensors.numpy.save_file(arrays, many / "embeddings" / "test.safetensors")


def main() -> None:
    words = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="rankscope-speed-") as folder:
        os.environ["LAB_RUNS"] = folder
        background.SOON = 600.0  # pages wait for what they have begun, so that the whole answer is counted
        _make_runs(Path(folder), int(words[0]))
        for timing in measure(int(words[0]), time.process_time if "--cpu-time" in words else time.perf_counter):
            print(json.dumps(timing), flush=True)


if __name__ == "__main__":
    main()
