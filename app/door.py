"""The door: open on this machine's own address, asking for a token on any other."""

from __future__ import annotations

import hmac
import os

import streamlit as st

TOKEN = "RANKLAB_TOKEN"
"""Environment variable that `python -m app` sets when it listens on more than this machine."""


def opened() -> bool:
    """Whether this session may see the pages; draws the question for the token when it may not yet."""
    token = os.environ.get(TOKEN, "")
    if not token or st.session_state.get("admitted"):
        return True
    st.header("Ranklab", anchor=False)
    with st.form("door", width=420):
        given = st.text_input("Token", type="password", help="It was printed where the dashboard was started.")
        asked = st.form_submit_button("Open", type="primary")
    if asked and hmac.compare_digest(given.encode(), token.encode()):
        st.session_state["admitted"] = True
        st.rerun()
    if asked:
        st.error("That is not the token; it was printed where the dashboard was started.")
    return False
