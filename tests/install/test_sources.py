"""What a module is made of is read off its text: what changes it, and what does not."""

import pytest

from lab.install import sources


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A small package `lab`, and a function that changes one file and says which digests changed with it."""
    files = {
        "losses/__init__.py": 'public({"Loss": "lab.losses._base"})',
        "losses/_base.py": "from lab.core import (\n    knobs,  # a word\n    files as f,\n)",
        "losses/one.py": '"""Like lab.losses.two."""\nfrom lab.losses import Loss',
        "losses/two.py": "import lab.kernels.ranks",
        "core/__init__.py": "",
        "core/knobs.py": "",
        "core/files.py": "",
        "kernels/ranks.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(sources, "PACKAGE", tmp_path)

    def digests():
        sources._file.cache_clear()
        sources._read.cache_clear()
        return {name: sources.digest(f"lab.losses.{name}") for name in ("one", "two")}

    def change(name, text):
        before = digests()
        (tmp_path / name).write_text(text)
        after = digests()
        return {name for name in before if before[name] != after[name]}

    yield change
    sources._file.cache_clear()
    sources._read.cache_clear()


def test_a_module_changes_with_what_it_names_and_with_nothing_else(tree):
    assert tree("losses/one.py", "from lab.losses import Loss\n1") == {"one"}
    assert tree("losses/two.py", "import lab.kernels.ranks\n1") == {"two"}, "a docstring names nothing"
    assert tree("kernels/ranks.py", "1") == {"two"}
    assert tree("losses/_base.py", "from lab.core import (\n    knobs,\n    files as f,\n)") == {"one"}
    assert tree("core/files.py", "1") == {"one"} and tree("core/knobs.py", "1") == {"one"}
    assert tree("losses/three.py", "") == {"one"}, "the names in a package may be a choice"
    assert tree("losses/three.py", "1") == set()
