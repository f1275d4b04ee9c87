"""Run a module of the dashboard's folder `app`: `python -P application.py MODULE ARGUMENTS`, as `children.application`.

The package claims one name, `lab`. `app` lies beside it in a checkout and inside it once installed, so its home is put
first on the path of this process alone, and what PYTHONPATH names last: somebody else's app.py or streamlit.py stays
where it is. Started by its file, since `-m lab...` would already ask the path which `lab` is meant.
"""

import importlib.util
import os
import runpy
import sys
from pathlib import Path


def main() -> None:
    """Run the module that the first argument names, with the others."""
    inside = Path(__file__).resolve().parents[2] / "_shipped"
    home = str(inside if inside.is_dir() else inside.parents[1])
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [home, *(path for path in sys.path if path not in named), *filter(None, named)]
    found = importlib.util.find_spec("app")
    if found is None or not Path(str(found.origin)).is_relative_to(home):
        sys.exit(f"The dashboard's folder app is not in {home}; install Rankscope again.")
    module, *sys.argv[1:] = sys.argv[1:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
