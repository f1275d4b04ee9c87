"""A file's name is its registration, and a malformed file fails loudly, by path."""

import importlib
import subprocess
import sys

import pytest

from lab.core.catalog import Catalog
from lab.core.knobs import describe

PACKAGES = (
    "data",
    "encoders",
    "exporters",
    "figures",
    "losses",
    "metrics",
    "protocols",
    "reranking",
    "samplers",
    "search",
    "wrappers",
)


@pytest.fixture
def toys(tmp_path, monkeypatch):
    package = tmp_path / "toy_catalog"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "good.py").write_text(
        "from lab.core.knobs import Knobs as _K\nclass Good:\n    class Knobs(_K): pass\n"
        "    def __init__(self, **v): self.knobs = self.Knobs(**v)\n"
    )
    (package / "empty.py").write_text("x = 1\n")
    (package / "_private.py").write_text("raise RuntimeError\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield Catalog("toy_catalog", [str(package)], "toy")
    for name in [m for m in sys.modules if m.startswith("toy_catalog")]:
        del sys.modules[name]


def test_names_come_from_files(toys):
    assert toys.names() == ("empty", "good")
    assert type(toys.create("good")).__name__ == "Good"


def test_unknown_name_lists_the_legal_ones(toys):
    with pytest.raises(ValueError, match=r"no toy 'god'.*mean 'good'.*empty, good"):
        toys.get("god")


def test_malformed_file_fails_by_path(toys):
    with pytest.raises(ImportError, match=r"empty\.py must define exactly one"):
        toys.get("empty")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_entry_is_well_formed_and_documented(package):
    module = importlib.import_module(f"lab.{package}")
    assert module.names()
    for name in module.names():
        entry = module.get(name)
        assert (entry.__doc__ or "").strip(), f"{package}/{name} has no docstring"
        for declared in describe(entry.Knobs):
            assert declared.help, f"{package}/{name}: knob {declared.name} has no help"


def test_listing_and_importing_lab_loads_no_heavy_library():
    code = (
        "import sys, lab, lab.losses, lab.metrics, lab.core.results; lab.losses.names();"
        "heavy = {'torch', 'faiss', 'umap', 'plotly', 'streamlit', 'sklearn', 'numba'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
