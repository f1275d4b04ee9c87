"""The table of SECURITY.md says what the words of `watching.WORDS` may do; it is made of what is tried here.

`python -m tests.boundary.test_security_table` prints it.
"""

from __future__ import annotations

from pathlib import Path

from lab.core.words import EVERYTHING, PROGRAM
from lab.runs import RunConfig
from lab.runs.boundary import Reference, Rights
from tests.boundary.watching import WORDS

ROOT = Path(__file__).parents[2]
SECRET = "/home/me/photos"
BEGIN, END = (
    "<!-- made by tests/boundary/test_security_table.py -->",
    "<!-- end of what it made -->",
)


def reference(word: str, rights: Rights) -> Reference:
    """Judge a word of a stored configuration, as the network of `adapted` or, where it names a file, as its data."""
    as_network = RunConfig.of(
        {"encoder": {"name": "adapted", "base": word}}, stored=True, rights=rights
    )
    as_folder = RunConfig.of(
        {"data": {"name": "class_folders", "root": word}}, stored=True, rights=rights
    )
    found = [*as_network.encoder.named(), *as_folder.data.named()]
    return rights.reference(*found[0])


def rows() -> list[str]:
    """The table in Markdown, a line each."""
    lines = [
        "| the file says | kind | a file of another account | a file of this account |",
        "|---|---|---|---|",
    ]
    stranger, own = (
        Rights("Run gift", Path("/runs/gift")),
        Rights("Run gift", Path("/runs/gift"), EVERYTHING),
    )
    for words, template in WORDS.items():
        word = template.format(secret=SECRET)
        sent, mine = reference(word, stranger), reference(word, own)
        assert not sent.allowed, f"{word} of a stranger is refused"
        right = f"only when typed: `{sent.right}`"
        lines.append(
            f"| {words}: `{word}` | {sent.kind} | {right} | {'read' if mine.allowed else right} |"
        )
    return lines


def test_security_shows_this_table():
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    shown = text.partition(BEGIN)[2].partition(END)[0].strip()
    assert shown == "\n".join(rows()), (
        "print the new table with `python -m tests.boundary.test_security_table`"
    )


def test_no_word_of_a_file_is_a_program_whoever_wrote_it():
    for template in WORDS.values():
        judged = reference(
            template.format(secret=SECRET), Rights("Run gift", Path("/runs/gift"), EVERYTHING)
        )
        assert judged.allowed == (judged.kind != PROGRAM)


if __name__ == "__main__":
    print("\n".join(rows()))
