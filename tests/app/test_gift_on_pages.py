"""A stranger's run on every page, opened by its owner and by a guest who uploads a picture."""

from __future__ import annotations

import io
import json
import os
import pkgutil
import re
import sys
from collections.abc import Iterator

import pytest
import streamlit as st
import yaml
from PIL import Image

import app.views
import lab.runs
from app.shared import background, queueing, settings
from lab.core import ownership
from lab.core.knobs import describe
from tests.boundary.watching import WORDS, watched

PAGES = [module.name for module in pkgutil.iter_modules(app.views.__path__)]


@pytest.fixture
def gift(runs, tmp_path, monkeypatch):
    """A function that makes `recall` a run of another account whose configuration says this of a section."""
    st.cache_resource.clear()  # other tests have opened runs of this name, as old as these
    st.cache_data.clear()
    for job in background.JOBS:
        job.clear()
    for module in [one for name, one in sys.modules.items() if name.startswith("app.")]:
        for one in vars(module).values():
            if hasattr(one, "cache_clear"):
                one.cache_clear()
    (runs / "recall" / "evil.py").write_text("raise SystemExit('evil ran')")
    (tmp_path / "secret").mkdir()
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "nothing"))
    monkeypatch.chdir(runs / "recall")

    def make(section: str, values: dict) -> lab.runs.Run:
        file = runs / "recall" / "config.yaml"
        config = yaml.safe_load(file.read_text()) | {section: values}
        file.write_text(yaml.safe_dump(config))
        (runs / "recall" / ownership.FILE).unlink(missing_ok=True)
        (runs / "recall" / "images.json").unlink(missing_ok=True)
        return lab.runs.Run(runs / "recall")

    return make


@pytest.mark.parametrize("guest", [False, True])
@pytest.mark.parametrize(
    ("section", "values"),
    [
        ("encoder", {"name": "adapted", "base": "evil:go"}),
        ("encoder", {"name": "adapted", "base": "os:abort"}),
        ("data", {"name": "tar_shards", "root": "http://127.0.0.1:1/x.tar"}),
        ("data", {"name": "class_folders", "root": "{secret}"}),
    ],
)
def test_every_page_shows_a_gift_and_runs_nothing_of_it(
    section, values, guest, gift, open_page, tmp_path, monkeypatch
):
    secret = tmp_path / "secret"
    gift(section, {name: value.format(secret=secret) for name, value in values.items()})
    monkeypatch.setattr("lab.core.files.guest", lambda: guest)
    picture = io.BytesIO()
    Image.new("RGB", (32, 32), "teal").save(picture, "png")
    with watched(secret, monkeypatch) as seen:
        page = open_page("browse", run="recall", queries="upload")
        if page.test.get("file_uploader"):
            page.test.file_uploader(key="upload").set_value(
                ("mine.png", picture.getvalue(), "image/png")
            ).run()
        assert not page.test.exception
        said = page.words()
    assert not [one for one in seen if "secret" in one or "import" in one or "127.0.0.1" in one], (
        seen
    )
    assert not any(one.startswith(("os.abort", "torch.", "reader")) for one in seen)
    assert "is a program, and this dashboard runs none" in said or "this dashboard" in said, said


@pytest.mark.parametrize("name", [name for name in PAGES if name not in ("figures", "home")])
def test_a_page_is_drawn_for_a_gift(name, gift, open_page, tmp_path, monkeypatch):
    gift("encoder", {"name": "adapted", "base": "os:abort"})
    with watched(tmp_path / "secret", monkeypatch) as seen:
        page = open_page(name, run="recall")
        assert not page.test.exception
    assert not any(one.startswith(("os.abort", "import", "torch.", "reader")) for one in seen), seen


@pytest.mark.parametrize("said", [said for said, word in WORDS.items() if "secret" not in word])
def test_a_form_refuses_programs_and_addresses_in_every_text(
    said, no_runs, no_worker, tmp_path, monkeypatch
):
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "data"))
    word = WORDS[said]
    for section in lab.runs.SECTIONS.values():
        for entry in section.names() if section.package else (None,):
            knobs = describe(section.knobs_of(entry))
            for knob in knobs:
                if (
                    knob.kind is not str
                    or knob.options
                    or not (knob.path or knob.network or ":" in word)
                ):
                    continue
                needed = {one.name: "data" for one in knobs if one.required and one.kind is str}
                values = {**needed, knob.name: word, **({"name": entry} if entry else {})}
                try:
                    config = lab.runs.RunConfig.of(
                        {section.name: [values] if section.many else values}
                    )
                except ValueError:
                    continue  # a device, or a name of a catalogue
                if (
                    not (knob.path or knob.network)
                    and said.startswith("a")
                    and "function" not in said
                ):
                    continue  # a column may be called so
                with pytest.raises(ValueError, match="this dashboard"):
                    settings.confine(config)
                with pytest.raises(ValueError, match="this dashboard"):
                    queueing.enqueue({"": config}, "sly")
    assert not os.path.exists(no_runs / "sly")


BEACON = "![b](http://127.0.0.1:1/b.png) <img src=http://127.0.0.1:1/i.png> :red[r] $x$"
ACTIVE = re.compile(r"(?<!\\)\[b\]\(http")
SHOWN = ("body", "label", "help", "text")
"""Fields of Streamlit's messages that a browser shows as Markdown."""


def texts(message) -> Iterator[tuple[str, str, bool]]:
    """Name and text of every field of a message that is shown as Markdown, and whether HTML in it is HTML."""
    with_html = bool(getattr(message, "allow_html", False))
    for field, value in message.ListFields():
        if field.message_type is not None:
            inner = [value] if hasattr(value, "ListFields") else value
            for one in inner if not hasattr(inner, "values") else inner.values():
                if hasattr(one, "ListFields"):
                    yield from texts(one)
        elif field.name in SHOWN and isinstance(value, str):
            yield f"{message.DESCRIPTOR.name}.{field.name}", value, with_html


def drawn(block) -> Iterator:
    """Every message of a page, that of its blocks among them."""
    if (proto := getattr(block, "proto", None)) is not None:
        yield proto
    for child in getattr(block, "children", {}).values():
        yield from drawn(child)


@pytest.mark.parametrize("name", PAGES)
def test_no_word_of_a_run_makes_a_page_ask_an_address(name, gift, open_page, runs):
    run = gift("data", {"name": "digits"})

    def change(file, **values):
        path = run.path / file
        path.write_text(
            json.dumps({**(json.loads(path.read_text()) if path.exists() else {}), **values})
        )

    for split in run.splits:
        kept = json.loads((run.path / "scores" / f"{split}.json").read_text())
        change(f"scores/{split}.json", values={**kept["values"], BEACON: 0.5})
    change("status.json", sentence=BEACON, phase=BEACON, state="failed")
    change("remarks.json", note=BEACON, tags=[BEACON], group=BEACON)
    change("meta.json", device_name=BEACON, command=[BEACON], versions={BEACON: BEACON})
    with open(run.path / "metrics.jsonl", "a") as file:
        file.write(json.dumps({"kind": "note", "sentence": BEACON}) + "\n")
    page = open_page(name, run="recall", runs="recall", watched="recall")
    assert not page.test.exception
    found = [one for message in drawn(page.test._tree) for one in texts(message)]
    assert found
    for place, text, with_html in found:
        assert not ACTIVE.search(text), (place, text[:300])
        assert not (with_html and re.search(r"(?<!\\)<img", text)), (place, text[:300])
