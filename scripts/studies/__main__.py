"""Try the papers' claims on emoji. The trainings are short; all of them take some hours.

python -m scripts.studies                 # the studies and what the papers say
python -m scripts.studies run             # the trainings that are missing; stop it at any time and start it again
python -m scripts.studies status          # how many are made, and the verdicts
python -m scripts.studies show sup_ap     # scores, learning rates and power of one study
python -m scripts.studies report          # docs/claims.md and the numbers of its figure
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from lab.cli._output import show
from lab.cli._progress import drain
from lab.core.files import write_text
from lab.figures import measured
from scripts.studies.catalogue import select
from scripts.studies.report import effects, judgements, report, sections
from scripts.studies.study import SEEDS
from scripts.studies.sweep import RESULTS, state, sweep

PAGE = Path(__file__).parents[2] / "docs" / "claims.md"


def arguments_of(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    actions = ("list", "run", "status", "show", "report")
    parser.add_argument(
        "action", nargs="?", choices=actions, default="list", help="what to do (default list)"
    )
    parser.add_argument("studies", nargs="*", metavar="STUDY", help="studies (default all)")
    parser.add_argument(
        "--seeds", type=int, default=SEEDS, help=f"judged trainings of each arm (default {SEEDS})"
    )
    parser.add_argument(
        "--folder", type=Path, default=RESULTS, help="results (default: those of this folder)"
    )
    parser.add_argument(
        "--device",
        default="cpu",
        help="device to train on (default cpu, as for the results here); a GPU rounds otherwise, so give it a --folder",
    )
    given = parser.parse_args(words)
    if not 2 <= given.seeds <= 1_000:  # the seeds of the pilots come after
        parser.error(f"--seeds must be from 2 to 1,000, got {str(given.seeds)[:20]}.")
    return given


def main(words: Sequence[str] | None = None) -> None:
    given = arguments_of(words)
    if given.action == "list":
        show(described(given.studies), as_json=False)
    elif given.action == "run":
        drain(sweep(given.studies, given.folder, given.seeds, given.device))
    elif given.action == "status":
        show(state(given.studies, given.folder, given.seeds), as_json=False)
    elif given.action == "show":
        print("\n\n".join(sections(given.folder, given.seeds, given.studies)))
    else:
        write_text(PAGE, report(given.folder, given.seeds))
        found = effects(judgements(given.folder, given.seeds))
        write_text(measured.EFFECTS, json.dumps(found, indent=1) + "\n")
        print(PAGE)


def described(studies: Sequence[str]) -> list[dict[str, str]]:
    rows = []
    for name, one in select(studies).items():
        published = f"{one.expected:+.2f} points of {one.columns[0]}"
        rows.append({"study": name, "source": one.source, "published": published, "says": one.says})
    return rows


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(str(error))
