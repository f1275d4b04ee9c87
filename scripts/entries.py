"""Write what type checkers and editors read of the catalogues: `_entries.pyi`, beside each, names every entry's class.

python -m scripts.entries: after an entry was added, renamed or taken out; tests/test_types.py compares. At run time
these names come from the files themselves.
"""

import importlib
from pathlib import Path

from lab.core.catalog import Catalog, class_in

ROOT = Path(__file__).parent.parent


def stubs() -> dict[Path, str]:
    """File to its text, for each catalogue."""
    written = {}
    for init in sorted((ROOT / "lab").rglob("__init__.py")):
        if "_catalog: " not in init.read_text(encoding="utf-8"):
            continue
        package = importlib.import_module(".".join(init.parent.relative_to(ROOT).parts))
        catalog: Catalog = package._catalog
        lines = [
            f"from {module} import {class_in(module)} as {class_in(module)}" for module in catalog.files().values()
        ]
        written[init.with_name("_entries.pyi")] = "\n".join(sorted(lines)) + "\n"
    return written


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text, encoding="utf-8")
