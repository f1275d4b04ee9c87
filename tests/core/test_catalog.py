"""A line of `__init__.pyi` registers an entry, and a malformed file fails loudly, by path."""

import importlib
import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

from lab.core import catalog
from lab.core.catalog import Catalog
from lab.core.knobs import describe
from lab.runs.config import SECTIONS

PACKAGES = (
    "data", "encoders", "exporters", "figures", "launchers", "losses", "metrics", "protocols", "reranking", "samplers",
    "search", "training.optimisers", "training.schedules", "wrappers",
)  # fmt: skip


@pytest.fixture
def toys(tmp_path, monkeypatch):
    package = tmp_path / "toy_catalog"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__init__.pyi").write_text(
        "from ._private import Hidden as Hidden\n"
        "from .empty import Empty as Empty\n"
        "from .functions import function as function\n"
        "from .good import Good as Good\n"
    )
    (package / "good.py").write_text(
        "from lab.core.knobs import HasKnobs\nclass Other(HasKnobs): pass\nclass Good(HasKnobs): pass\n"
    )
    (package / "empty.py").write_text("x = 1\n")
    (package / "_private.py").write_text("raise RuntimeError\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("toy_catalog")
    yield Catalog("toy_catalog", "toy")
    catalog._listed.cache_clear()
    for name in [m for m in sys.modules if m.startswith("toy_catalog")]:
        del sys.modules[name]


def test_names_come_from_the_list(toys):
    assert toys.names() == ("empty", "good")
    assert type(toys.create("good")).__name__ == "Good"


def test_unknown_name_lists_the_legal_ones(toys):
    with pytest.raises(ValueError, match=r"no toy 'god'.*mean 'good'.*empty, good"):
        toys.get("god")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_whole_number_but_a_seed_has_an_upper_bound(package):
    """A number in somebody's file must not ask for terabytes; see `WIDEST` and its neighbours in lab.core.knobs."""
    module = importlib.import_module(f"lab.{package}")
    for name in module.names():
        assert unbounded(module.get(name).Knobs) == [], f"{package}: {name}"


@pytest.mark.parametrize(
    "section", [one for one in SECTIONS.values() if one.knobs], ids=lambda one: one.name
)
def test_every_whole_number_of_a_section_has_an_upper_bound(section):
    assert unbounded(section.knobs_of()) == []


def unbounded(knobs):
    whole = [one for one in describe(knobs) if one.kind is int and not one.name.endswith("seed")]
    return [one.name for one in whole if one.le is None and one.lt is None]


@pytest.mark.parametrize("package", PACKAGES)
def test_classes_are_names_of_their_package(package):
    module = importlib.import_module(f"lab.{package}")
    for name in module.names():
        called = module.get(name).__name__
        assert called in dir(module) and getattr(module, called) is module.get(name)
        with pytest.raises(ValueError, match=rf"Did you mean '{name}'"):
            module.get(called)
    with pytest.raises(AttributeError, match="NoSuchThing"):
        module.NoSuchThing  # noqa: B018


def test_malformed_file_fails_by_path(toys):
    with pytest.raises(ImportError, match=r"empty\.py must define a class Empty"):
        toys.get("empty")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_file_is_listed(package):
    """A file that nobody lists is an entry that nobody finds."""
    module = importlib.import_module(f"lab.{package}")
    folder = Path(module.__file__).parent
    files = folder.glob("*/*.py") if package == "figures" else folder.glob("*.py")
    defined = {file.stem for file in files if not file.stem.startswith("_")}
    assert defined <= set(module.names()), (
        f"add a line for each to lab/{package.replace('.', '/')}/__init__.pyi"
    )


@pytest.mark.parametrize("package", PACKAGES)
def test_every_entry_is_well_formed_and_documented(package):
    module = importlib.import_module(f"lab.{package}")
    assert module.names()
    for name in module.names():
        entry = module.get(name)
        assert (entry.__doc__ or "").strip(), f"{package}/{name} has no docstring"
        for declared in describe(entry.Knobs):
            assert declared.help, f"{package}/{name}: knob {declared.name} has no help"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_knob_refuses_what_it_declares_illegal(package):
    module = importlib.import_module(f"lab.{package}")
    for name in module.names():
        declared = describe(module.get(name).Knobs)
        given = {knob.name: {int: 5, str: "x"}[knob.kind] for knob in declared if knob.required}
        for knob in declared:
            ends = (knob.ge, -1), (knob.gt, 0), (knob.le, 1), (knob.lt, 0)
            bad = [knob.kind(end + past) for end, past in ends if end is not None]
            for value in [
                *bad,
                *([f"no {knob.name}"] if knob.choices or knob.kind is not str else []),
            ]:
                with pytest.raises(ValueError, match=f": {knob.name} must"):
                    module.get(name).Knobs(**given | {knob.name: (value,) if knob.many else value})
        with pytest.raises(ValueError, match="has no knob 'no_such_knob'"):
            module.get(name).Knobs(**given, no_such_knob=1)


def test_listing_and_importing_lab_loads_no_heavy_library():
    code = (
        "import sys, lab, lab.losses, lab.metrics, lab.core.results; lab.losses.names();"
        "assert 'SmoothAP' in dir(lab.losses) and 'MapAtR' in dir(lab.metrics);"
        "heavy = {'torch', 'faiss', 'umap', 'plotly', 'streamlit', 'sklearn', 'numba'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture
def losses():
    """The catalogue of losses, left as it was found."""
    listed = importlib.import_module("lab.losses._catalog").catalog
    before = dict(listed._added)
    yield listed
    listed._added = before


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        (3, "3 is no class, so it cannot be a loss."),
        (type("Odd", (), {}), "Odd must derive from lab.losses.Loss to be a loss."),
    ],
)
def test_a_class_that_does_not_fit_is_refused_in_one_sentence(losses, entry, sentence):
    with pytest.raises(ValueError) as refused:
        losses.add(entry)
    assert str(refused.value) == sentence


def test_a_broken_plug_in_is_a_sentence_and_hides_nothing(losses, monkeypatch, capsys, tmp_path):
    from lab import doctor
    from lab.__main__ import main
    from lab.cli import _kept

    points = [
        importlib.metadata.EntryPoint("gone", "no_such_module:Loss", "rankscope.losses"),
        importlib.metadata.EntryPoint("odd", "json:dumps", "rankscope.losses"),
    ]
    found = importlib.metadata.EntryPoints(points)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **by: found.select(**by))
    catalog._entry_points.cache_clear()
    _kept.installed.cache_clear()
    try:
        assert {"gone", "odd", "roadmap"} <= set(losses.names())
        assert set(losses.broken()) == {"gone", "odd"} and "roadmap" in losses.entries()
        assert "cannot be loaded (ModuleNotFoundError" in losses.broken()["gone"]
        assert losses.broken()["odd"].endswith("is no class, so it cannot be a loss.")
        monkeypatch.setenv("LAB_CACHE", str(tmp_path))  # a listing is kept by what is installed
        assert main(["list", "losses", "--json"]) == 0
        said = capsys.readouterr().out
        assert "roadmap" in said and "cannot be loaded" in said
        assert main(["list", "losses", "gone"]) == 1 and capsys.readouterr().err.count("\n") == 1
        gone = next(one for one in doctor._plugins() if one.what == "plug-in losses: gone")
        assert gone.state == "warning" and "cannot be used" in gone.advice
    finally:
        catalog._entry_points.cache_clear()
        _kept.installed.cache_clear()


def test_a_run_opens_without_its_plug_in_and_says_what_is_missing():
    from lab.runs import RunConfig

    stored = {**RunConfig.of().as_dict(), "loss": {"name": "far_away", "power": 2.0}}
    with pytest.raises(ValueError, match="There is no loss 'far_away'"):
        RunConfig.of(stored)
    config = RunConfig.of(stored, stored=True)
    assert config.as_dict() == stored and config.loss.values == {"power": 2.0}
    (sentence,) = config.missing
    assert "'far_away'" in sentence and "as soon as that package is installed" in sentence
    assert (
        config.changed("evaluation.k", 7).missing == config.missing
        and "--loss.power" in config.flags()
    )
    with pytest.raises(ValueError, match="There is no loss 'far_away'"):
        config.loss.create()
