"""Every example in a docstring runs, and everything that a person builds with has one.

An example may use names that it does not make where its heading says whose they are: those that the example at the top
of its package leaves behind (`evidence` in `lab.metrics`, `run` in `lab.runs`). `root`, the folder of your runs, is the
only name that comes from here.
"""

import doctest
import functools
import importlib
import inspect
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

CATALOGUES = ("exporters", "losses", "metrics", "reranking", "samplers", "search", "wrappers")
"""Parts of `lab` in which every entry shows an example."""

INTERFACES = ("inspect", "maps", "runs")
"""Parts of `lab` in which every public class and function does: those of `__all__`, or those that the file defines."""


def modules_with_examples() -> list[str]:
    files = (
        path for path in (ROOT / "lab").rglob("*.py") if ">>> " in path.read_text(encoding="utf-8")
    )
    parts = (path.relative_to(ROOT).with_suffix("").parts for path in files)
    return sorted(".".join(name for name in part if name != "__init__") for part in parts)


def package_of(module: str) -> str:
    """The package whose example a module goes on from; what becomes a run goes on from that of `lab.runs`."""
    package = ".".join(module.split(".")[:2])
    return "lab.runs" if package == "lab.integrations" else package


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """A function from a package's name to the names that the example at its top makes."""
    root = tmp_path_factory.mktemp("runs")

    @functools.cache
    def made_by(package: str) -> dict:
        doc = importlib.import_module(package).__doc__ or ""
        test = doctest.DocTestParser().get_doctest(doc, {"root": root}, package, None, 0)
        run([test], clear=False)
        return test.globs

    return made_by


def run(tests: list[doctest.DocTest], clear: bool = True) -> None:
    told: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    for test in tests:
        runner.run(test, out=told.append, clear_globs=clear)
    assert not told, "".join(told)


@pytest.mark.parametrize("module", modules_with_examples())
def test_the_examples_of_a_module_say_what_happens(module, names):
    tests = doctest.DocTestFinder().find(
        importlib.import_module(module), extraglobs=names(package_of(module))
    )
    tests = [test for test in tests if test.examples and test.name != package_of(module)]
    run(tests)


def test_a_wrong_example_is_found():
    wrong = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    with pytest.raises(AssertionError, match=r"Expected:\s+3\s+Got:\s+2"):
        run([wrong])


def missing(thing: object, name: str) -> str | None:
    """What to do about a class or function without an example; None for one that has it or is not of this package."""
    if not thing.__module__.startswith("lab.") or doctest.DocTestParser().get_examples(
        thing.__doc__ or ""
    ):
        return None
    return (
        f"{name} has no example: end the docstring of {thing.__module__}.{thing.__qualname__} with `Example:` and two "
        "to five lines that begin with >>>, the last with its result below it (see lab/losses/smooth_ap.py)."
    )


@pytest.mark.parametrize("part", CATALOGUES)
def test_every_entry_of_a_catalogue_has_an_example(part):
    package = importlib.import_module(f"lab.{part}")
    told = [missing(package.get(name), f"lab.{part}.create({name!r})") for name in package.names()]
    assert not any(told), "\n".join(filter(None, told))


@pytest.mark.parametrize("part", INTERFACES)
def test_every_public_name_has_an_example(part):
    package = importlib.import_module(f"lab.{part}")
    own = [
        name
        for name, value in vars(package).items()
        if getattr(value, "__module__", None) == package.__name__
    ]
    public = getattr(package, "__all__", [name for name in own if not name.startswith("_")])
    things = {name: getattr(package, name) for name in public}
    told = [
        missing(thing, f"lab.{part}.{name}")
        for name, thing in things.items()
        if inspect.isclass(thing) or inspect.isfunction(thing)
    ]
    assert things and not any(told), "\n".join(filter(None, told))


def test_a_missing_example_is_named_and_a_stranger_is_let_be():
    class Bare:
        """A loss."""

    Bare.__module__ = "lab.losses.bare"
    assert "lab.losses.bare" in missing(Bare, "lab.losses.create('bare')")
    Bare.__module__ = "somebody.losses"
    assert missing(Bare, "lab.losses.create('bare')") is None
