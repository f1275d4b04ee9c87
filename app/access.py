"""The door: open on this machine's own address, asking for a token on any other."""

from __future__ import annotations

import hmac
import os
import secrets
import sys

import streamlit as st
from streamlit import runtime

TOKEN = "LAB_TOKEN"
"""Environment variable that holds the token; one is made up where it is empty and one is needed."""

LOCAL = ("127.0.0.1", "localhost", "::1")


def token(address: str | None) -> str:
    """What opens the door of a dashboard that listens on `address` (None: on all); "" where none is needed.

    A token that nobody chose is made up, and printed where the dashboard was started.
    """
    if not os.environ.get(TOKEN):
        if address in LOCAL:
            return ""
        os.environ[TOKEN] = secrets.token_urlsafe(16)
        print(
            f"This address is open to other machines, so pages ask for a token: {os.environ[TOKEN]}",
            file=sys.stderr,
            flush=True,
        )
    return os.environ[TOKEN]


def _served() -> bool:
    """Whether a server listens; in a headless test there is none, nor an address."""
    return runtime.exists() and type(runtime.get_instance()) is runtime.Runtime


def opened() -> bool:
    """Whether this session may see the pages; draws the question for the token when it may not yet.

    Asks what the server really listens on, so that no way of starting it leaves the door open.
    """
    wanted = token(st.get_option("server.address") if _served() else LOCAL[0])
    if not wanted or st.session_state.get("admitted"):
        return True
    st.header("Rankscope", anchor=False)
    with st.form("door", width=420):
        given = st.text_input("Token", type="password", help="It was printed where the dashboard was started.")
        asked = st.form_submit_button("Open", type="primary")
    if asked and hmac.compare_digest(given.encode(), wanted.encode()):
        st.session_state["admitted"] = True
        st.rerun()
    if asked:
        st.error("That is not the token; it was printed where the dashboard was started.")
    return False
