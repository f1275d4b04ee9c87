"""What people read: no class of the package in a message, and no noun that was given up for the field's own."""

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
TREES = {
    path: ast.parse(path.read_text(encoding="utf-8")) for top in ("lab", "app") for path in (ROOT / top).rglob("*.py")
}

GIVEN_UP = {
    "sealed": "write_json", "clash": "packages_distributions", "without_compiler": "nothing", "bell": "notifications",
    "ListedIndex": "inverted lists", "filed": "inverted lists", "whereabouts": "location", "shelf": "management",
    "rehearse": "warm_up", "wishes": "stop_request", "Examiner": "Evaluator", "LentGradient": "gradient_buffer",
    "examiner": "evaluator", "honesty": "map quality", "came_of": "baseline_of",
}  # fmt: skip
"""Words that must not come back, in names or in prose, and the word of the field in their place."""


def texts(tree: ast.Module) -> Iterator[ast.Constant]:
    """Every string of several words that is no docstring."""
    bodies = [node.body for node in ast.walk(tree) if isinstance(getattr(node, "body", None), list)]
    documents = {id(one.value) for body in bodies for one in body if isinstance(one, ast.Expr)}
    for node in ast.walk(tree):
        text = isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
        if text and id(node) not in documents:
            yield node


def classes() -> set[str]:
    """Names of several words of classes that are no entries of a catalogue: those, people know by name."""
    everywhere, entries = set(), set()
    for path, tree in TREES.items():
        found = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        everywhere |= {one.name for one in found if re.fullmatch("[A-Z][a-z]+([A-Z][a-z]*)+", one.name)}
        if not path.name.startswith("_") and (path.parent / "__init__.py").read_text().count("Catalog("):
            entries |= {one.name for one in found}
    return everywhere - entries


def test_no_message_names_a_class_of_the_package():
    named, ours = [], classes()
    for path, tree in TREES.items():
        for text in texts(tree):  # a sentence may begin with what it is about, as in "SoftBins: low must be ..."
            for word in re.findall(r"(?<![\w.`'\"])([A-Z]\w+)(?![\w.`(:\]])", text.value):
                if word in ours:
                    named.append(f"{path.relative_to(ROOT)}:{text.lineno} {word}: {text.value[:60]!r}")
    assert not named, "\n".join(named)


def test_what_was_given_up_does_not_come_back():
    back = []
    for path in TREES:
        with open(path, "rb") as file:
            tokens = [
                token for token in tokenize.tokenize(file.readline) if token.type in (tokenize.NAME, tokenize.STRING)
            ]
        words = {word for token in tokens for word in re.findall(r"\w+", token.string)}
        back += [f"{path.relative_to(ROOT)}: {word}" for word in ({*words, path.stem} & set(GIVEN_UP))]
    assert not back, "\n".join(back)
