"""A page of the dashboard without a browser, whose contents tests look at."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

import app

MAIN = Path(app.__file__).with_name("main.py")
FIRST = "home"


def session(name: str, seconds: int, /, **address: str) -> AppTest:
    """A headless session that has not drawn anything yet and begins with one page, as a deep link does."""
    page = AppTest.from_file(str(MAIN), default_timeout=seconds)
    page._bidi_component_manager = _components()
    page.query_params.update(address)
    if name != FIRST:  # where every address without a name leads
        # `switch_page` goes by the file's name, and every page's is page.py
        page._page_hash = calc_hash(name)
    return page


@cache
def _components() -> BidiComponentManager:
    """The register of components: a server looks through all installed packages for them once, when it starts, and not
    for each session, as headless ones would."""
    register = BidiComponentManager()
    register.discover_and_register_components(start_file_watching=False)
    return register
