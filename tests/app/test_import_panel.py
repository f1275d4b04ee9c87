"""Import vectors and folders of pictures: on the Runs page, with runs or without."""

import shutil

import numpy as np
import pytest

import lab.runs
from app.views.runs import import_panel
from lab.core.words import PROGRAMS
from lab.encoders.foreign import FILES


@pytest.fixture
def home(tmp_path, pictures, monkeypatch):
    """A folder that may be read, with pictures, vectors, a table and vectors that cannot be used."""
    home = tmp_path / "home"
    shutil.copytree(pictures, home / "pictures")
    vectors = np.random.default_rng(0).normal(size=(12, 4))
    np.save(home / "long.npy", vectors)
    np.save(home / "unit.npy", vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    (home / "classes.csv").write_text("class\n" + "a\nb\n" * 6)
    monkeypatch.setenv("LAB_DATA", str(home))
    return home


def press(page):
    next(b for b in page.test.button if b.label == "Import as a run").click().run()
    return page


def asked(page, **values):
    for key, value in values.items():
        found = [
            one
            for kind in ("selectbox", "text_input", "button_group")
            for one in getattr(page.test, kind)
        ]
        next(one for one in found if one.key == f"{key} brought").set_value(value).run()
    return page


def test_a_file_of_vectors_becomes_a_run(no_runs, home, open_page):
    page = open_page("runs", bring="yes")
    asked(page, kind="A file of vectors", file="unit.npy", table="classes.csv", name="mine")
    assert press(page).calm, page.words()
    assert "The run mine is ready" in page.words() and "2 classes from column" in page.words()
    run = lab.runs.open("mine", no_runs)
    assert run.state == "finished" and sorted(set(run.dataset().class_names)) == ["a", "b"]
    assert open_page("browse", run="mine").calm


def test_what_cannot_be_imported_is_a_sentence_and_no_run(no_runs, home, open_page):
    page = asked(open_page("runs", bring="yes"), kind="A file of vectors", file="long.npy")
    press(page)
    assert not page.test.exception and "instead of 1" in page.test.error[0].value
    assert not lab.runs.list(no_runs)
    press(asked(page, lengths="Scale them to unit length"))
    assert page.calm and "The run long is ready" in page.words(), page.words()


def test_a_folder_is_embedded_by_a_trained_run(runs, home, open_page):
    page = open_page("runs", bring="yes")
    asked(page, folder=str(home / "pictures"), encoder="recall", name="seen")
    assert press(page).calm, page.words()
    run = lab.runs.open("seen", runs)
    assert len(run.embeddings()) == 64 and len(run.dataset().class_names) == 16


@pytest.mark.parametrize(
    "word", ["module:function", "net.pt", "net.ONNX", "../net", "hf-hub:someone/net", ""]
)
def test_a_program_is_never_run_from_a_page(word):
    assert not import_panel.is_model(word)


def test_names_of_models_are_taken():
    assert import_panel.is_model("resnet50") and import_panel.is_model(
        "vit_small_patch14_dinov2.lvd142m"
    )
    assert set(PROGRAMS) == set(FILES), "every file that is a program is known here"
