"""The dashboard draws its first page once before it serves; one that takes too long keeps no server from starting."""

from __future__ import annotations

import gc

from streamlit.runtime import Runtime

from app import __main__ as app
from app.shared import settings


def test_a_first_page_that_takes_too_long_leaves_no_server_behind(monkeypatch, tmp_path):
    monkeypatch.setenv(settings.RUNS, str(tmp_path))
    monkeypatch.setattr(gc, "freeze", lambda: None)
    monkeypatch.setattr(app, "REHEARSAL", 0.001)
    app._load()
    assert not Runtime.exists(), "Streamlit would say that a server is already running"
