"""What everything stands on, and what imports nothing else of lab."""

import sys

_package = sys.modules["lab"]  # asked by name: importing it here would close a circle

if "EmbeddingSet" not in dir(_package):
    raise ImportError(
        f"{_package.__file__} is of another package that is called lab, too, and was installed over Rankscope: "
        "pip uninstall lab, then install Rankscope again with pip's --force-reinstall."
    )
