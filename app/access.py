"""Access control. It stands before Streamlit, so what it refuses (pages, uploads, the websocket) never reaches a page.

It asks three things. Is the machine called by a name of its own (else a foreign web page may have pointed its name
here)? Does a websocket, or what changes something, come from a page of this dashboard? Does the visitor have the
token? A right token in the address becomes a cookie and leaves the address.
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

TOKEN, GUESTS = "LAB_TOKEN", "LAB_GUEST_TOKEN"
"""Environment variables that may hold the tokens of the owner and of guests; without them they are made up."""
SHORTEST = 16
"""Characters of a chosen token: the dashboard does not slow guesses down, so there must be too many of them."""

LOCAL = ("127.0.0.1", "localhost", "::1")

_HEALTH = "/_stcore/health"
"""Says that the server is up and nothing else, so it is open to scripts that wait for it."""
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
"""In a session's state: what `is_guest` found."""
_WHERE = "It was printed when the dashboard was started."

_stands = False
"""Whether this process serves the dashboard and asks for a token."""
_owner = ""
"""The cookie of those who may change things, where there are guests."""


def token(address: str, needed: bool = True) -> str:
    """What lets a visitor into a dashboard that listens on `address`; "" where none is needed.

    It is taken out of the environment, which the runs that are started inherit.

    Raises:
        ValueError: there is to be none on an address that other machines reach, or the chosen one is too short.
    """
    chosen = os.environ.pop(TOKEN, "")
    if needed:
        return _long_enough(TOKEN, chosen)
    if address not in LOCAL:
        raise ValueError(f"{address} is open to other machines, so pages must ask for a token: drop --no-token.")
    return ""


def guest_token(allowed: bool, token: str) -> str:
    """What lets in who may look and change nothing; "" where no guests are allowed. token: the owner's.

    Raises:
        ValueError: the owner has none, or the chosen one is too short or the owner's.
    """
    chosen = os.environ.pop(GUESTS, "")
    if not allowed:
        return ""
    if not token or chosen == token:
        raise ValueError("Guests need a token that differs from the owner's: drop --no-token, or choose another.")
    return _long_enough(GUESTS, chosen)


def _long_enough(variable: str, chosen: str) -> str:
    if chosen and len(chosen) < SHORTEST:
        raise ValueError(f"{variable} must have at least {SHORTEST} characters; leave it out, and one is made up.")
    return chosen or secrets.token_urlsafe(24)


def link(address: str, port: int, token: str) -> str:
    """The address to open, with the token in it."""
    host = f"[{address}]" if ":" in address else address
    return f"http://{host}:{port}/" + (f"?token={quote(token, safe='')}" if token else "")


def stands() -> bool:
    """Whether visitors are asked for a token; in a headless test no server listens, so nobody can come in."""
    served = runtime.exists() and type(runtime.get_instance()) is runtime.Runtime
    return _stands or not served


def is_guest() -> bool:
    """Whether this thread draws a page, or works, for a visitor who may only look: one who does not have the owner's
    cookie. It is looked up once a session, since the cookies are gone as soon as the browser is."""
    if hasattr(files.thread, "guest"):
        return files.thread.guest
    if not _owner or get_script_run_ctx(suppress_warning=True) is None:
        return False
    if _GUEST not in st.session_state:
        st.session_state[_GUEST] = not any(_equal(one, _owner) for one in st.context.cookies.values())
    return st.session_state[_GUEST]


def is_owner(request: HTTPConnection) -> bool:
    """Whether a request that was let in comes from the owner, not from a guest."""
    return not _owner or any(_equal(one, _owner) for one in request.cookies.values())


class AccessControl:
    """ASGI middleware. token: what it asks for; "" for nothing. guests: another token, of those who may only look."""

    def __init__(self, app: ASGIApp, token: str, guests: str = ""):
        global _stands, _owner
        self._app = app
        self._cookies = {
            one: hmac.digest(one.encode(), b"rankscope cookie", hashlib.sha256).hex() for one in (token, guests) if one
        }
        _stands, _owner = True, self._cookies[token] if guests else ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self._app(scope, receive, send)
        answer = _stranger(HTTPConnection(scope)) or await self._question(scope, receive)
        if answer is None:
            await self._app(scope, receive, _adding_headers(send))
        elif scope["type"] == "websocket":
            await WebSocketClose(1008)(scope, receive, send)
        else:
            await answer(scope, receive, _adding_headers(send))

    async def _question(self, scope: Scope, receive: Receive) -> Response | None:
        """What is answered instead of the page; None for a visitor with the token."""
        request = HTTPConnection(scope)
        if not self._cookies or scope["path"] == _HEALTH:
            return None
        brought = request.cookies.get(_cookie_name(request), "")
        known = next((cookie for cookie in self._cookies.values() if _equal(cookie, brought)), "")
        method = scope.get("method", "")
        token = request.query_params.get("token") if method == "GET" else None
        if method == "POST" and not known:
            token = await _form(Request(scope, receive))
        if known and token is None:
            return None
        right = next((cookie for one, cookie in self._cookies.items() if _equal(one, token or "")), known)
        if right:
            return self._let_in(request, right)
        if "text/html" not in request.headers.get("accept", ""):
            return PlainTextResponse(f"The dashboard needs its token first. {_WHERE}", 401)
        words = _WHERE if token is None else f"That is not the token. {_WHERE}"
        return HTMLResponse(_QUESTION.format(words=html.escape(words)), 401)

    @staticmethod
    def _let_in(http: HTTPConnection, cookie: str) -> Response:
        """The same address without the token, and the cookie that is good for it."""
        path = quote(http.scope["path"].lstrip("/\\"))  # or `//elsewhere` would lead there
        words = http.scope["query_string"].decode("latin-1").split("&")
        query = "&".join(word for word in words if word and not word.startswith("token="))
        answer = RedirectResponse(f"/{path}" + (f"?{query}" if query else ""), 303)
        answer.set_cookie(
            _cookie_name(http), cookie, httponly=True, samesite="lax", secure=http.scope["scheme"] == "https"
        )
        return answer


def _equal(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())


def _stranger(request: HTTPConnection) -> Response | None:
    """A refusal of a name that is not this machine's, or of what another site's page sends."""
    host, origin = request.headers.get("host", ""), request.headers.get("origin")
    if not _named(host, st.get_option("server.allowedHosts")):
        return PlainTextResponse("This dashboard does not answer to that name; open the address that it printed.", 403)
    reads = request.scope["type"] == "http" and request.scope["method"] in ("GET", "HEAD")
    if origin is not None and not reads and urlsplit(origin).netloc.lower() != host.lower():
        return PlainTextResponse("This came from a page that is not the dashboard's.", 403)
    return None


def _named(host: str, allowed: list[str]) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return False
    return name is not None and name != "" and ("*" in allowed or name.rstrip(".") in allowed)


def _cookie_name(request: HTTPConnection) -> str:
    """With the port, since browsers send the cookies of one port of a machine to all of them."""
    port = re.search(r":(\d+)$", request.headers.get("host", ""))
    return f"rankscope-{port[1] if port else request.scope['scheme'].replace('ws', 'http')}"


async def _form(request: Request) -> str:
    """The token that a form brings; "" when it brings none, or far too much, or takes too long."""
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
