"""A stranger's run on every page, opened by its owner and by a guest who uploads a picture."""

from __future__ import annotations

import io
import os
import pkgutil
import sys

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
def test_every_page_shows_a_gift_and_runs_nothing_of_it(section, values, guest, gift, open_page, tmp_path, monkeypatch):
    secret = tmp_path / "secret"
    gift(section, {name: value.format(secret=secret) for name, value in values.items()})
    monkeypatch.setattr("lab.core.files.guest", lambda: guest)
    picture = io.BytesIO()
    Image.new("RGB", (32, 32), "teal").save(picture, "png")
    with watched(secret, monkeypatch) as seen:
        page = open_page("browse", run="recall", queries="upload")
        if page.test.get("file_uploader"):
            page.test.file_uploader(key="upload").set_value(("mine.png", picture.getvalue(), "image/png")).run()
        assert not page.test.exception
        said = page.words()
    assert not [one for one in seen if "secret" in one or "import" in one or "127.0.0.1" in one], seen
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
def test_a_form_refuses_programs_and_addresses_in_every_text(said, no_runs, no_worker, tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "data"))
    word = WORDS[said]
    for section in lab.runs.SECTIONS.values():
        for entry in section.names() if section.package else (None,):
            knobs = describe(section.knobs_of(entry))
            for knob in knobs:
                if knob.kind is not str or knob.options or not (knob.path or knob.network or ":" in word):
                    continue
                needed = {one.name: "data" for one in knobs if one.required and one.kind is str}
                values = {**needed, knob.name: word, **({"name": entry} if entry else {})}
                try:
                    config = lab.runs.RunConfig.of({section.name: [values] if section.many else values})
                except ValueError:
                    continue  # a device, or a name of a catalogue
                if not (knob.path or knob.network) and said.startswith("a") and "function" not in said:
                    continue  # a column may be called so
                with pytest.raises(ValueError, match="this dashboard"):
                    settings.confine(config)
                with pytest.raises(ValueError, match="this dashboard"):
                    queueing.enqueue({"": config}, "sly")
    assert not os.path.exists(no_runs / "sly")
