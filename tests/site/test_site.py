"""The site: every link of its assembled pages leads somewhere. The generator itself is no part of the tests."""

import base64
import importlib
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import lab
import lab.figures
from scripts.studies.catalogue import studies
from scripts.website import config, lessons, links, places, reference
from scripts.website.__main__ import assemble
from scripts.website.figures import Figures


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """All pages as Markdown, with no figure computed."""
    folder = tmp_path_factory.mktemp("site")
    assemble(folder, Figures(folder / "no cache", compute=False))
    return folder


def test_every_link_leads_somewhere(site):
    assert links.in_markdown(site) == []


def test_every_page_is_in_the_menu_and_every_document_is_a_page(site):
    import yaml

    menu = re.findall(r"[\w/.-]+\.md", json.dumps(yaml.safe_load(config.text(site, site))["nav"]))
    pages = {str(page.relative_to(site)) for page in site.rglob("*.md")}
    assert set(menu) == {page for page in pages if not page.startswith("gallery/")} | {
        "gallery/index.md"
    }
    for document in (places.ROOT / "docs").glob("*.md"):
        assert f"docs/{document.name}" in places.WHOLE, (
            f"scripts/website/places.py has no page for {document.name}"
        )


def test_the_gallery_has_every_figure_with_its_source(site):
    index = (site / "gallery" / "index.md").read_text()
    for name in lab.figures.names():
        page = (site / "gallery" / f"{name}.md").read_text()
        assert f'href="{name}.html"' in index and f'data-figure="{name}-' in page
        assert lab.figures.get(name).origin() in page


def test_lessons_show_live_figures_and_typeset_formulas(site):
    page = next((site / "lessons").glob("3_*.md")).read_text()
    assert 'data-figure="two_sigmoids-' in page and "<math" in page and "$$" not in page
    assert '<details markdown="1">' in page, "solutions stay folded"
    assert "<b>Predict:</b>" in page and "predict(" not in page, (
        "a prediction's source holds its answer"
    )
    assert not re.search(r"(?m)^<math", page), "Markdown would take it for a block of its own"
    assert lessons.shown('show("h_minus", offset="released")') == (
        "h_minus",
        {"offset": "released"},
    )
    assert lessons.shown("x = 1") is None and lessons.shown("show(") is None


def test_a_lesson_answers_and_leads_on_without_python(site):
    notebook = lessons.NOTEBOOKS / "1_find_the_other_tiger.ipynb"
    page = (site / "lessons" / f"{notebook.stem}.md").read_text()
    told = [
        json.loads(base64.b64decode(coded)) for coded in re.findall(r'data-told="([^"]+)"', page)
    ]
    assert [one["right"] for one in told] == [[0.7], [1.0, 0.5], [53.1]]
    assert "127.0.0.1" not in page and "colab" not in page, "nobody else's address is made up"
    for key, knobs in re.findall(r"<a href='#(\w+)-\w+' data-set='([^']+)'", page):
        lab.figures.create(key, **json.loads(knobs))
    assert f"github/me/mine/blob/main/notebooks/{notebook.name}" in lessons.with_doors(
        page, notebook, "me/mine"
    )


def test_dead_links_and_other_hosts_are_found(tmp_path):
    (tmp_path / "a.md").write_text("# A b\n[there](#a-b), [gone](b.md), [nowhere](#c)")
    assert links.in_markdown(tmp_path) == ["a.md: b.md leads nowhere", "a.md: #c leads nowhere"]
    (tmp_path / "a.html").write_text(
        '<h1 id="x"></h1><a href="#y">y</a><a href="https://a.b">b</a><script src="//c.d/e.js">'
    )
    assert links.in_html(tmp_path) == ["a.html: #y leads nowhere", "a.html: fetches //c.d/e.js"]


def test_the_reference_names_what_is_public():
    page = reference.pages()["reference/losses.md"]
    assert "::: lab.losses.recall_at_k.RecallAtK" in page and "::: lab.losses._base.Loss" in page
    index = reference.pages()["reference/index.md"]
    assert all(f".{name}\n" in index for name in reference.CALLS)


def test_every_part_has_its_page_in_the_reference():
    documented = {part.split(".")[0] for part in reference.PARTS}
    here = Path(lab.__file__).parent
    packages = {file.parent.name for file in here.glob("*/__init__.py")}
    modules = {file.stem for file in here.glob("[!_]*.py")}
    assert documented == (packages | modules) - reference.INTERNAL


def test_a_docstring_stands_behind_every_name_of_the_reference():
    bare = []
    for page in reference.pages().values():
        for path in re.findall(r"^::: (\S+)$", page, re.MULTILINE):
            module, _, name = path.rpartition(".")
            if not (getattr(importlib.import_module(module), name).__doc__ or "").strip():
                bare.append(path)
    assert not bare


def test_parameters_told_together_are_told_apart(monkeypatch):
    # not among the tests
    monkeypatch.setitem(sys.modules, "griffe", SimpleNamespace(Extension=object, Object=object))
    change = importlib.import_module("scripts.website.examples").changed
    sys.modules.pop("scripts.website.examples")
    before = "Sum of a, b: it.\n\nArgs:\n    a, b: numbers,\n        both.\n    c: more.\n\nReturns:\n    x, y: two."
    twice = "    a: numbers,\n        both.\n    b: numbers,\n        both."
    assert change(before) == before.replace("    a, b: numbers,\n        both.", twice)
    assert change("Do.\n\nExample:\n    >>> 1\n    1") == "Do.\n\nExamples:\n    >>> 1\n    1"


def test_the_page_of_claims_tells_every_study(site):
    page = (site / "results" / "claims.md").read_text()
    assert (
        all(f"\n## {name}\n" in page for name in studies()) and page.count("images/claims_00") == 4
    )
