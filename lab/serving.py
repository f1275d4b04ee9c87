"""A run's search as a web service: POST a picture, or vectors, to `/search` and get the nearest pictures.

    lab serve RUN --gallery photos
    curl --data-binary @photo.jpg -H "Authorization: Bearer TOKEN" "http://127.0.0.1:8600/search?k=5"

What a request asks for and this service does not know is refused, never ignored. `application` is what `lab serve`
runs, as an ASGI application for any server; docs/serving.md puts it behind one.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import math
import re
from collections.abc import Collection
from contextlib import suppress
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

import lab.threshold
from lab.core.explain import near
from lab.data.images.reading import open_rgb
from lab.model import Model
from lab.threshold import Threshold

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


@dataclass(frozen=True)
class Question:
    """What the address of a search asks for. k: neighbours. least: the lowest score that is shown, None for any."""

    k: int = 10
    least: float | None = None

    NAMES = ("k", "least", "unknown")

    @classmethod
    def of(cls, request: Request, limits: Limits, threshold: Threshold | None) -> Question:
        """Read the parameters of an address.

        Raises:
            HTTPException: 400, one is not known, stands there twice, or has a value that it cannot have; or the run
                has no threshold, and `unknown` asks for it.
        """
        given = parameters(request, cls.NAMES)
        k = given.get("k", "10")
        if not re.fullmatch(r"[0-9]{1,9}", k) or not 1 <= int(k) <= limits.k:
            raise HTTPException(
                400, f"k must be a whole number from 1 to {limits.k}, got {_short(k)}."
            )
        least = None
        if "least" in given:
            least = _number(given["least"])
            if least is None:
                raise HTTPException(
                    400, f"least must be a number, the lowest score, got {_short(given['least'])}."
                )
        unknown = given.get("unknown", "false")
        if unknown not in ("true", "false"):
            raise HTTPException(400, f"unknown must be true or false, got {_short(unknown)}.")
        if unknown == "true":
            if threshold is None:
                wanted = "choose one with `lab threshold`, and serve again"
                raise HTTPException(
                    400, f"The run has no threshold, so nothing can be unknown; {wanted}."
                )
            least = threshold.value if least is None else max(least, threshold.value)
        return cls(int(k), least)


def parameters(request: Request, known: Collection[str]) -> dict[str, str]:
    """Return the parameters of an address.

    Raises:
        HTTPException: 400, there is one of another name, or one of these twice.
    """
    given: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name not in known:
            meant = near(name, known)
            hint = f"did you mean {meant}?" if meant else f"it takes {', '.join(known) or 'none'}."
            raise HTTPException(400, f"{request.url.path} has no parameter {_short(name)}; {hint}")
        if name in given:
            raise HTTPException(400, f"The parameter {name} is there twice; give it once.")
        given[name] = value
    return given


def _short(value: str) -> str:
    return repr(value if len(value) <= 20 else f"{value[:20]}...")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, in which no name may stand twice.

    Raises:
        ValueError: one does.
    """
    given = dict(pairs)
    if len(given) < len(pairs):
        raise ValueError("a name is there twice")
    return given


def _number(word: str) -> float | None:
    """Return a finite number; None for any other word."""
    if not re.fullmatch(r"[-+]?[0-9]*\.?[0-9]*([eE][-+]?[0-9]+)?", word[:50]) or len(word) > 50:
        return None
    with suppress(ValueError):
        number = float(word)
        return number if math.isfinite(number) else None
    return None


class Service:
    """What answers: one search at a time, since each takes all processors; the others wait for their turn."""

    def __init__(self, model: Model, token: str, limits: Limits):
        self.model, self.token, self.limits = model, token, limits
        # and all that the first search would wait for
        self.width = model.embed(Image.new("RGB", (64, 64))).shape[1]
        self.searched = model.searched
        self.threshold: Threshold | None = None
        with suppress(ValueError):  # none is kept, or one of other embeddings
            self.threshold = lab.threshold.stored(model.run)
        self.under_way, self.turns = 0, anyio.CapacityLimiter(1)

    async def search(self, request: Request) -> Response:
        """Answer `POST /search?k=10&unknown=true`: for each picture or vector its neighbours, the nearest first."""
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.token and not hmac.compare_digest(given.encode(), self.token.encode()):
            wanted = (
                "This server asks for its token: send the header `Authorization: Bearer TOKEN`."
            )
            raise HTTPException(401, wanted, {"WWW-Authenticate": "Bearer"})
        question = Question.of(request, self.limits, self.threshold)
        kind = request.headers.get("Content-Type", "").lower()
        if kind.startswith("multipart/"):
            raise HTTPException(
                400,
                "Send the picture itself as the body (curl --data-binary @photo.jpg), not a form.",
            )
        if self.under_way >= self.limits.at_once:
            busy = f"{self.limits.at_once} searches are under way, as many as this server takes; try again in a moment."
            raise HTTPException(503, busy, {"Retry-After": "1"})
        self.under_way += 1
        try:
            body = await self._body(request)
            as_json = kind.startswith("application/json")
            results = await anyio.to_thread.run_sync(
                self._results, body, as_json, question, limiter=self.turns
            )
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
                        raise HTTPException(
                            413,
                            f"A request may have {self.limits.megabytes:g} MB; this one has more.",
                        )
        except TimeoutError:
            raise HTTPException(
                408, f"The request was not here after {self.limits.seconds:g} seconds."
            ) from None
        return bytes(body)

    def _results(
        self, body: bytes, as_json: bool, question: Question
    ) -> list[list[dict[str, Any]]]:
        if as_json:
            queries = self._vectors(body)
        else:
            picture = open_rgb(body, "The body of the request", most=self.limits.pixels)
            queries = self.model.embed(picture)
        return [self._neighbours(row, question) for row in queries]

    def _neighbours(self, query: np.ndarray, question: Question) -> list[dict[str, Any]]:
        """Return what is said of each neighbour of a vector [d]: all but its file, which is this machine's affair."""
        found = self.model.search(query, question.k, least=question.least)
        told = [
            {
                "rank": one.rank,
                "score": one.score,
                "key": one.key,
                "class": one.class_name or None,
                "item": one.item,
            }
            for one in found
        ]
        if self.threshold is not None:
            chances = self.threshold.same_class([one.score for one in found]).tolist()
            for one, chance in zip(told, chances, strict=True):
                one["same"] = chance
        return told

    def _vectors(self, body: bytes) -> np.ndarray:
        """Vectors [n d] in JSON.

        Raises:
            ValueError: says what is wrong with them.
        """
        wanted = f'JSON is {{"vectors": [[...], ...]}} with {self.width} finite numbers in each'
        try:
            given = json.loads(body, object_pairs_hook=_once)
            others = (
                [name for name in given if name != "vectors"] if isinstance(given, dict) else []
            )
            if others and "vectors" in given:
                refused = f"{wanted}, and nothing else; got {_short(others[0])}."
                raise HTTPException(
                    400, f"{refused} k, least and unknown are parameters of the address."
                )
            if any(type(one) not in (int, float) for row in given["vectors"] for one in row):
                raise TypeError
            # what is too large becomes infinite, and is refused below
            with np.errstate(over="ignore"):
                vectors = np.array(given["vectors"], np.float32)
        except (KeyError, RecursionError, TypeError, ValueError, OverflowError):
            raise ValueError(f"{wanted}; this body is something else.") from None
        if vectors.ndim != 2 or vectors.shape[1] != self.width or not np.isfinite(vectors).all():
            raise ValueError(
                f"{wanted}; got an array of shape {list(vectors.shape)}, or numbers that are not finite."
            )
        if not 1 <= len(vectors) <= self.limits.vectors:
            raise ValueError(
                f"A request may have 1 to {self.limits.vectors} vectors, got {len(vectors)}."
            )
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

    async def health(request: Request) -> Response:
        parameters(request, ())
        return JSONResponse(
            {"status": "ok", "searches": service.searched.size, "width": service.width}
        )

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
