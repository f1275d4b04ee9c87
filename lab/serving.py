"""A run's search as a web service: POST a picture, or vectors, to `/search` and get the nearest pictures.

    lab serve RUN --gallery photos
    curl --data-binary @photo.jpg -H "Authorization: Bearer TOKEN" "http://127.0.0.1:8600/search?k=5"

`application` is what `lab serve` runs, as an ASGI application for any server; docs/serving.md puts it behind one.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from dataclasses import dataclass
from typing import Any

import anyio.to_thread
import numpy as np
from PIL import Image
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lab.data.images.reading import open_rgb
from lab.model import Model

HOW = "POST a picture, or JSON with vectors, to /search; GET /health says that this server is up."


@dataclass(frozen=True)
class Limits:
    """What one request may ask for.

    megabytes: of its body. pixels: of its picture. vectors: in one request. k: neighbours of each.
    at_once: requests that are read or answered at a time; the next one is told to come again.
    seconds: until a body has to be here.
    """

    megabytes: float = 20
    pixels: int = 50_000_000
    vectors: int = 100
    k: int = 1000
    at_once: int = 16
    seconds: float = 30


class Service:
    """What answers: one search at a time, since each takes all processors; the others wait for their turn."""

    def __init__(self, model: Model, token: str, limits: Limits):
        self.model, self.token, self.limits = model, token, limits
        self.width = model.embed(Image.new("RGB", (64, 64))).shape[1]  # and all that the first search would wait for
        self.searched = model.searched
        self.under_way, self.turns = 0, anyio.CapacityLimiter(1)

    async def search(self, request: Request) -> Response:
        """`POST /search?k=10`: `results`, for each picture or vector its neighbours, the nearest first."""
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.token and not hmac.compare_digest(given.encode(), self.token.encode()):
            wanted = "This server asks for its token: send the header `Authorization: Bearer TOKEN`."
            raise HTTPException(401, wanted, {"WWW-Authenticate": "Bearer"})
        k = request.query_params.get("k", "10")
        if not k.isdecimal() or not 1 <= int(k) <= self.limits.k:
            raise HTTPException(400, f"k must be a whole number from 1 to {self.limits.k}, got {k[:20]!r}.")
        if self.under_way >= self.limits.at_once:
            busy = f"{self.limits.at_once} searches are under way, as many as this server takes; try again in a moment."
            raise HTTPException(503, busy, {"Retry-After": "1"})
        self.under_way += 1
        try:
            body = await self._body(request)
            as_json = request.headers.get("Content-Type", "").startswith("application/json")
            results = await anyio.to_thread.run_sync(self._results, body, as_json, int(k), limiter=self.turns)
        finally:
            self.under_way -= 1
        return JSONResponse({"results": results})

    async def _body(self, request: Request) -> bytes:
        most, body = round(self.limits.megabytes * 1e6), bytearray()
        try:
            async with asyncio.timeout(self.limits.seconds):
                async for chunk in request.stream():
                    body += chunk
                    if len(body) > most:
                        raise HTTPException(413, f"A request may have {self.limits.megabytes:g} MB; this one has more.")
        except TimeoutError:
            raise HTTPException(408, f"The request was not here after {self.limits.seconds:g} seconds.") from None
        return bytes(body)

    def _results(self, body: bytes, as_json: bool, k: int) -> list[list[dict[str, Any]]]:
        if as_json:
            queries = self._vectors(body)
        else:
            picture = open_rgb(body, "The body of the request", most=self.limits.pixels)
            queries = self.model.embed(picture)
        return [
            [  # without the place of the file, which is this machine's affair
                {"rank": one.rank, "score": one.score, "key": one.key, "class": one.class_name, "item": one.item}
                for one in self.model.search(row, k)
            ]
            for row in queries
        ]

    def _vectors(self, body: bytes) -> np.ndarray:
        """Vectors [n d] in JSON.

        Raises:
            ValueError: says what is wrong with them.
        """
        wanted = f'JSON is {{"vectors": [[...], ...]}} with {self.width} finite numbers in each'
        try:
            with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused below
                vectors = np.array(json.loads(body)["vectors"], np.float32)
        except (KeyError, RecursionError, TypeError, ValueError):
            raise ValueError(f"{wanted}; this body is something else.") from None
        if vectors.ndim != 2 or vectors.shape[1] != self.width or not np.isfinite(vectors).all():
            raise ValueError(f"{wanted}; got an array of shape {list(vectors.shape)}, or numbers that are not finite.")
        if not 1 <= len(vectors) <= self.limits.vectors:
            raise ValueError(f"A request may have 1 to {self.limits.vectors} vectors, got {len(vectors)}.")
        return vectors


def application(model: Model, token: str = "", limits: Limits = Limits()) -> Starlette:
    """A service that searches what `model` searches; it is embedded or read before this returns.

    token: what a request has to bring in its header `Authorization`, as `Bearer TOKEN`; empty: nothing.

    Raises:
        ValueError: the model has nothing to search.

    Example (`model` is that of `lab.model`):
        >>> from lab.serving import application
        >>> [route.path for route in application(model).routes]  # doctest: +SKIP
        ['/search', '/health']
    """
    service = Service(model, token, limits)

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok", "searches": service.searched.size, "width": service.width})

    return Starlette(
        routes=[Route("/search", service.search, methods=["POST"]), Route("/health", health)],
        exception_handlers={
            **dict.fromkeys((HTTPException, ValueError, ClientDisconnect), _refused),
            Exception: _failed,
        },
    )


async def _refused(_: Request, error: Exception) -> Response:
    """One sentence on what was wrong with a request."""
    if not isinstance(error, HTTPException):
        return JSONResponse({"error": str(error) or "The request ended early."}, 400)
    sentence = HOW if error.status_code in (404, 405) else error.detail
    return JSONResponse({"error": sentence}, error.status_code, error.headers)


async def _failed(_: Request, error: Exception) -> Response:
    return JSONResponse({"error": "The search failed on this server; its log says why."}, 500)
