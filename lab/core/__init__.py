"""What everything stands on, and what imports nothing else of lab."""

import lab

if not hasattr(lab, "_parts"):
    raise ImportError(
        f"{lab.__file__} is of another package that is called lab, too, and was installed over Rankscope: "
        "pip uninstall lab, then install Rankscope again with pip's --force-reinstall."
    )
