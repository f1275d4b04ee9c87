"""List every string that a person reads on the dashboard and the command line, by place, as one Markdown page.

    python scripts/strings.py > strings.md
    python scripts/strings.py --short > short.md    # the dashboard alone, a paragraph for each page and kind

It is for a reader: is each label, help text, empty state, button and error plain English, in sentence case, and in the
field's words? Strings are found in the syntax trees of app and lab/cli, the help of knobs in all of lab;
those of the components' JavaScript by their quotes. `{name}` stands for what is put in. The short page leaves out what
stands twice, errors, keys that nobody sees, and of helps and messages all but the first sentence.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1] / "lab"
LABELS = {
    "button", "download_button", "link_button", "page_link", "selectbox", "multiselect", "radio", "slider", "toggle",
    "checkbox", "select_slider", "segmented_control", "text_input", "text_area", "number_input", "file_uploader",
    "popover", "expander", "metric", "pills", "choice", "few", "select", "fold", "pick", "pagination",
}  # fmt: skip
MESSAGES = {
    "info", "warning", "error", "success", "caption", "markdown", "toast", "header", "subheader", "text", "say_error",
    "write", "title", "page", "spinner", "print", "job",
}  # fmt: skip
HELP = {"help", "placeholder", "alt", "description", "epilog", "tooltip", "empty", "note"}
WORDLESS = re.compile(r"[\w.\-/:#%*=<>$\[\]{}()+,;|@&?!'\"\\^~` ]{0,2}$")
SETTINGS = {
    "key", "link", "icon", "type", "width", "id", "query_params", "format", "metavar", "action", "persist_state",
    "size", "on_click", "on_change", "label_visibility", "vertical_alignment", "selection_mode", "border", "gap",
    "mime",
}  # fmt: skip
SILENT = {"component", "keep", "compile", "get", "pop", "setdefault", "session_state", "add_mutually_exclusive_group"}
SENTENCE = re.compile(r"[A-Za-z]{2,}[,:]? [A-Za-z({]{2,}|^[A-Z][a-z]{3,}$")
"""What is taken for words where the place does not say: two words, or one with a capital letter."""
SCRIPT = re.compile(r"""(?P<quote>["'`])(?P<words>(?:\\.|(?!(?P=quote)).)*?)(?P=quote)""")
"""A string of JavaScript within a line."""


KINDS = {
    "label": "Labels", "words": "Words", "script": "Words", "help": "Help", "message": "Messages",
}  # fmt: skip
"""What the short page calls the kinds of `Words`."""
UNSEEN = ("__main__.py", "speed.py", "served.py", "plot_theme.py")
"""Files of the dashboard whose strings stand on no page."""
CODE = re.compile(r"^(:material|views/|lab |_\w|[,;·])|[<>]|/\w+$|\.js\b|color-mix|export default|sans-serif|%\{")
"""Strings that are no words: icons, pages, commands, keys, styles, and the ends of other strings."""
INSERTED = re.compile(r"\$?\{(?:[^{}]|\{[^{}]*\})*\}")
"""What stands for a value in a string."""


@dataclass(frozen=True)
class Words:
    """A string and where it stands. kind: what it is for; `words` where only the reader can tell."""

    file: str
    line: int
    kind: str
    text: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="the dashboard alone, a paragraph for each page and kind")
    found = [*in_python(), *in_scripts()]
    if parser.parse_args().short:
        print("\n".join(short(found)))
        return
    counts = Counter(one.kind for one in found)
    print("# Every string that a person reads\n")
    print(", ".join(f"{count:,} {kind}" for kind, count in counts.most_common()), end=".\n")
    file = ""
    for one in found:
        if one.file != file:
            file = one.file
            print(f"\n## {file}\n")
        print(f"- {one.line} *{one.kind}* {one.text}")
    print(f"{len(found):,} strings", file=sys.stderr)


def short(found: list[Words]) -> Iterator[str]:
    """Lines of the short page: for each page of the dashboard its labels, its other words, and its sentences."""
    places: dict[str, dict[str, list[str]]] = {}
    known: set[str] = set()
    for one in found:
        text = _shortened(one)
        if text not in known and _seen(one, text):
            known.add(text)
            places.setdefault(_place(one.file), {}).setdefault(KINDS.get(one.kind, "Words"), []).append(text)
    for place in sorted(places, key=lambda name: (not name.startswith("Page"), name)):
        yield f"\n## {place}\n"
        for kind in dict.fromkeys(KINDS.values()):
            if texts := places[place].get(kind):
                yield f"{kind}: " + " · ".join(texts) + "\n"


def _seen(one: Words, text: str) -> bool:
    """Whether a string is words that a visitor of the dashboard sees, and no key, style or file."""
    if not one.file.startswith("app/") or Path(one.file).name in UNSEEN:
        return False
    words = re.findall("[A-Za-z]{3,}", text)
    if one.kind == "error" or CODE.search(text) or len(words) < text.count("…") or not words:
        return False
    return one.kind not in ("words", "label") or text[:1].isupper() or len(words) > 3


def _place(file: str) -> str:
    parts = Path(file).parts
    if parts[2] == "views":
        return f"Page {parts[3].replace('_', '-').capitalize()}"
    return {"components": "Components", "forms": "Forms", "answers": "Answers of a search"}.get(parts[2], "Every page")


def _shortened(one: Words) -> str:
    """A string with three dots for what is put in; of a help or message the first sentence."""
    text = INSERTED.sub("…", one.text)
    return text if one.kind in ("label", "script") else re.split(r"(?<=[.?!]) (?=[A-Z“])", text, maxsplit=1)[0]


def in_python() -> Iterator[Words]:
    """Strings of the dashboard and of the commands, and the knobs of everything else."""
    for path in sorted(ROOT.rglob("*.py")):
        room = path.relative_to(ROOT).parts[0]
        tree = ast.parse(path.read_text("utf-8"))
        name = str(path.relative_to(ROOT.parent))
        if room in ("dashboard", "cli"):
            yield from _of_tree(name, tree)
        else:
            yield from _of_knobs(name, tree)


def in_scripts() -> Iterator[Words]:
    """Strings of the components' JavaScript that hold more than one word."""
    for path in sorted((ROOT / "dashboard").rglob("*.js")):
        if path.name.endswith(".min.js"):
            continue
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            for match in SCRIPT.finditer(line.split("  // ")[0]):
                words = match["words"]
                if re.search(r"[A-Za-z]{2,} [A-Za-z]{2,}", words) and not re.search(r"[;<>=]|var\(|px|\[data", words):
                    yield Words(str(path.relative_to(ROOT.parent)), number, "script", words)


def _of_tree(name: str, tree: ast.Module) -> Iterator[Words]:
    parents = {child: parent for parent in ast.walk(tree) for child in ast.iter_child_nodes(parent)}
    silent = _docstrings(tree) | _parts(tree)
    for node in sorted(ast.walk(tree), key=lambda one: getattr(one, "lineno", 0)):
        if node in silent or not isinstance(node, ast.Constant | ast.JoinedStr):
            continue
        if isinstance(node, ast.Constant) and not isinstance(node.value, str):
            continue
        text, kind = _text(node), _kind(node, parents)
        if kind and not WORDLESS.match(text) and (kind != "words" or SENTENCE.search(text)):
            yield Words(name, node.lineno, kind, " ".join(text.split()))
    if name.startswith("lab/cli") and ast.get_docstring(tree) and not Path(name).name.startswith("_"):
        yield Words(name, 1, "help", " ".join((ast.get_docstring(tree) or "").split()))


def _of_knobs(name: str, tree: ast.Module) -> Iterator[Words]:
    """The help, unit and source of every knob of a file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node) == "knob":
            for one in [*node.args[1:2], *(word.value for word in node.keywords if word.arg in ("help", "unit"))]:
                if isinstance(one, ast.Constant | ast.JoinedStr):
                    yield Words(name, one.lineno, "knob", " ".join(_text(one).split()))


def _docstrings(tree: ast.Module) -> set[ast.AST]:
    """Strings that stand alone as a statement."""
    return {one.value for one in ast.walk(tree) if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)}


def _parts(tree: ast.Module) -> set[ast.AST]:
    """What f-strings are made of, which is listed with them, and the formats of their numbers."""
    whole = [one for one in ast.walk(tree) if isinstance(one, ast.JoinedStr)]
    parts = {part for one in whole for part in one.values}
    formats = [one.format_spec for one in ast.walk(tree) if isinstance(one, ast.FormattedValue) and one.format_spec]
    return parts | {node for one in formats for node in ast.walk(one)}


def _kind(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> str:
    """What a string is for, by the call that it stands in; nothing where no person reads it."""
    keyword = ""
    while node in parents:
        parent = parents[node]
        if isinstance(parent, ast.keyword):
            keyword = keyword or str(parent.arg)
        if isinstance(parent, ast.Raise):
            return "error"
        if isinstance(parent, ast.Call) and node is not parent.func:
            name = _called(parent)
            if keyword in SETTINGS:
                return ""
            if keyword in HELP:
                return "help"
            if name in LABELS:
                return "label"
            if name in MESSAGES:
                return "message"
            if name in ("Section", "Start", "Candidates", "Matrix", "Meter", "Place", "Card", "Query"):
                return "label"
            if name == "knob":
                return "knob"
        if (
            isinstance(parent, ast.Call)
            and _called(parent) in SILENT
            or isinstance(parent, ast.Compare | ast.Subscript | ast.Import | ast.ImportFrom)
        ):
            return ""
        node = parent
    return "words"


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _text(node: ast.Constant | ast.JoinedStr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}"  # type: ignore[attr-defined]
        for part in node.values
    )


if __name__ == "__main__":
    main()
