"""Access control. Requests pass it before they reach Streamlit, also uploads and the WebSocket.

It checks three things. Is the host name of the request a name of this machine (otherwise another web site may have
directed its name here)? Does a WebSocket or a changing request come from a page of this dashboard? Does the visitor
have the token? A correct token in the URL becomes a cookie and is removed from the URL.
"""

import asyncio
import contextlib
import hashlib
import hmac
import html
import os
import re
import secrets
from urllib.parse import parse_qs, quote, urlsplit

import streamlit as st
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from lab.core import files

TOKEN = "LAB_TOKEN"
"""Environment variable with the owner's token. By default the token is random."""

GUESTS = "LAB_GUEST_TOKEN"
"""Environment variable with the token of guests."""

SHORTEST = 16
"""Fewest characters of a chosen token. The dashboard does not limit guesses, so there must be too many to try."""

LOCAL = ("127.0.0.1", "localhost", "::1")

_HEALTH = "/_stcore/health"
"""Says only that the server is running, so scripts may read it without a token."""

_LONGEST_FORM = 4096
_FORM_SECONDS = 10
_HEADERS = {
    "X-Frame-Options": "SAMEORIGIN",
    "Content-Security-Policy": "frame-ancestors 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}
_QUESTION = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Rankscope</title>
<style>body {{ font: 16px sans-serif; max-width: 26em; margin: 20vh auto; padding: 0 1em; color-scheme: light dark }}
input, button {{ font: inherit; padding: .3em .6em }}</style>
<h1>Rankscope</h1><form method="post"><label>Token <input type="password" name="token" autofocus></label>
<button>Open</button></form><p>{words}</p></html>"""
_GUEST = "_guest"
"""Session key of the result of `is_guest`."""
_WHERE = "It was printed when the dashboard was started."

_is_active = False
"""Whether this process serves the dashboard with access control."""

_owner = ""
"""The owner's cookie, if there are guests."""


def token(address: str, needed: bool = True) -> str:
    """Return the token for a dashboard that listens on `address`, or "" if none is needed.

    The token is removed from the environment, because runs inherit the environment.

    Raises:
        ValueError: other machines can reach the address and no token is needed, or the chosen token is too short.
    """
    chosen = os.environ.pop(TOKEN, "")
    if needed:
        return _long_enough(TOKEN, chosen)
    if address not in LOCAL:
        raise ValueError(
            f"{address} is open to other machines, so pages must ask for a token: drop --no-token."
        )
    return ""


def guest_token(allowed: bool, token: str) -> str:
    """Return the token of guests, who may view but not change anything, or "" if guests are not allowed.

    token: the owner's.

    Raises:
        ValueError: the owner has no token, or the chosen token is too short or the owner's.
    """
    chosen = os.environ.pop(GUESTS, "")
    if not allowed:
        return ""
    if not token or chosen == token:
        raise ValueError(
            "Guests need a token that differs from the owner's: drop --no-token, or choose another."
        )
    return _long_enough(GUESTS, chosen)


def _long_enough(variable: str, chosen: str) -> str:
    if chosen and len(chosen) < SHORTEST:
        raise ValueError(
            f"{variable} must have at least {SHORTEST} characters; without it, a random token is used."
        )
    return chosen or secrets.token_urlsafe(24)


def link(address: str, port: int, token: str) -> str:
    """Return the URL to open, with the token."""
    host = f"[{address}]" if ":" in address else address
    url = f"http://{host}:{port}/"
    if token:
        url += f"?token={quote(token, safe='')}"
    return url


def is_active() -> bool:
    """Return whether access control is active, or not needed because no server is running, as in a test."""
    is_served = runtime.exists() and type(runtime.get_instance()) is runtime.Runtime
    return _is_active or not is_served


def is_guest() -> bool:
    """Return whether this thread works for a guest: a visitor without the owner's cookie.

    The answer is stored in the session, because the cookies are lost when the browser disconnects.
    """
    if hasattr(files.thread, "guest"):
        return files.thread.guest
    if not _owner or get_script_run_ctx(suppress_warning=True) is None:
        return False
    if _GUEST not in st.session_state:
        st.session_state[_GUEST] = not any(
            _equal(cookie, _owner) for cookie in st.context.cookies.values()
        )
    return st.session_state[_GUEST]


def is_owner(request: HTTPConnection) -> bool:
    """Return whether an admitted request comes from the owner rather than a guest."""
    return not _owner or any(_equal(cookie, _owner) for cookie in request.cookies.values())


class AccessControl:
    """ASGI middleware. token: the owner's token, or "" to admit everybody. guests: the token of guests, or ""."""

    def __init__(self, app: ASGIApp, token: str, guests: str = ""):
        global _is_active, _owner
        self._app = app
        self._cookies: dict[str, str] = {}  # by token
        for secret in (token, guests):
            if secret:
                self._cookies[secret] = hmac.digest(
                    secret.encode(), b"rankscope cookie", hashlib.sha256
                ).hex()
        _is_active = True
        _owner = self._cookies[token] if guests else ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self._app(scope, receive, send)
        answer = _refuse_foreign(HTTPConnection(scope)) or await self._check_token(scope, receive)
        if answer is None:
            await self._app(scope, receive, _adding_headers(send))
        elif scope["type"] == "websocket":
            await WebSocketClose(1008)(scope, receive, send)
        else:
            await answer(scope, receive, _adding_headers(send))

    async def _check_token(self, scope: Scope, receive: Receive) -> Response | None:
        """Return the answer to a visitor without a token, or None to admit the visitor."""
        request = HTTPConnection(scope)
        if not self._cookies or scope["path"] == _HEALTH:
            return None
        sent_cookie = request.cookies.get(_cookie_name(request), "")

        # A visitor with a cookie is admitted.
        valid_cookie = ""
        for cookie in self._cookies.values():
            if _equal(cookie, sent_cookie):
                valid_cookie = cookie
        method = scope.get("method", "")

        # The token may be in the URL or in the form.
        token = None
        if method == "GET":
            token = request.query_params.get("token")
        elif method == "POST" and not valid_cookie:
            token = await _form(Request(scope, receive))
        if valid_cookie and token is None:
            return None
        for secret, cookie in self._cookies.items():
            if _equal(secret, token or ""):
                valid_cookie = cookie

        # A correct token becomes a cookie; otherwise ask for the token.
        if valid_cookie:
            return self._admit(request, valid_cookie)
        if "text/html" not in request.headers.get("accept", ""):
            return PlainTextResponse(f"The dashboard needs its token first. {_WHERE}", 401)
        words = _WHERE if token is None else f"That is not the token. {_WHERE}"
        return HTMLResponse(_QUESTION.format(words=html.escape(words)), 401)

    @staticmethod
    def _admit(http: HTTPConnection, cookie: str) -> Response:
        """Redirect to the same URL without the token, and set the cookie."""
        # a path such as //example.org would lead to another site
        path = quote(http.scope["path"].lstrip("/\\"))
        words = http.scope["query_string"].decode("latin-1").split("&")
        query = "&".join(word for word in words if word and not word.startswith("token="))
        url = f"/{path}?{query}" if query else f"/{path}"
        answer = RedirectResponse(url, 303)
        answer.set_cookie(
            _cookie_name(http),
            cookie,
            httponly=True,
            samesite="lax",
            secure=http.scope["scheme"] == "https",
        )
        return answer


def _equal(first: str, second: str) -> bool:
    """Compare two secrets in constant time."""
    return hmac.compare_digest(first.encode(), second.encode())


def _refuse_foreign(request: HTTPConnection) -> Response | None:
    """Refuse a host name that does not belong to this machine, and requests from pages of other sites."""
    host = request.headers.get("host", "")
    origin = request.headers.get("origin")
    if not _is_allowed(host, st.get_option("server.allowedHosts")):
        return PlainTextResponse(
            "This dashboard does not answer to that name; open the address that it printed.", 403
        )
    reads = request.scope["type"] == "http" and request.scope["method"] in ("GET", "HEAD")
    if origin is not None and not reads and urlsplit(origin).netloc.lower() != host.lower():
        return PlainTextResponse("This came from a page that is not the dashboard's.", 403)
    return None


def _is_allowed(host: str, allowed: list[str]) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return False
    if not name:
        return False
    return "*" in allowed or name.rstrip(".") in allowed


def _cookie_name(request: HTTPConnection) -> str:
    """Return a name that contains the port, because browsers send a machine's cookies to all of its ports."""
    port = re.search(r":(\d+)$", request.headers.get("host", ""))
    if port:
        return f"rankscope-{port[1]}"
    return f"rankscope-{request.scope['scheme'].replace('ws', 'http')}"


async def _form(request: Request) -> str:
    """Return the token of a form, or "" if it has none, is too long or takes too long."""
    body = b""
    with contextlib.suppress(TimeoutError, ClientDisconnect):
        async with asyncio.timeout(_FORM_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > _LONGEST_FORM:
                    return ""
    return parse_qs(body.decode("utf-8", errors="replace")).get("token", [""])[-1]


def _adding_headers(send: Send) -> Send:
    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(_HEADERS)
        await send(message)

    return with_headers
