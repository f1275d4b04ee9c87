"""Files for the browser: long columns in binary form, pictures of points, and the code of the map.

A page offers a column (`offer`) and passes its URL to a component. The browser downloads each URL once, even if the
page is drawn many times. Access control applies to these routes as to every page.
"""

import base64
import hashlib
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from threading import Lock

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

ROOT = "/rankscope"
MOST_BYTES = 512_000_000
"""Memory for the latest columns."""

KINDS = {"f4": np.float32, "i4": np.int32, "u1": np.uint8, "u2": np.uint16}
"""Suffix of a URL to the type of the numbers, little-endian."""

_CODE = Path(__file__).parent / "components" / "scatter"
_FILES = (
    "map.js",
    "painter.js",
    "overlay.js",
    "filters.js",
    "legend.js",
    "marks.js",
    "memory.js",
    "vendor.min.js",
)

MOST_PAGES = 16
"""Most playground pages to keep."""

_columns: OrderedDict[str, bytes] = OrderedDict()
_pages: dict[str, Callable[[], str]] = {}
_lock = Lock()


def offer(column: np.ndarray) -> str:
    """Keep an array for the browser, and return its URL. Equal arrays have the same URL.

    Raises:
        KeyError: the type of the numbers is not one of `KINDS`.
    """
    kind = {np.dtype(dtype): name for name, dtype in KINDS.items()}[column.dtype]
    data = np.ascontiguousarray(column).astype(column.dtype.newbyteorder("<"), copy=False).tobytes()
    name = f"{hashlib.blake2b(data, digest_size=16).hexdigest()}.{kind}"
    with _lock:
        _columns[name] = data
        _columns.move_to_end(name)
        while sum(map(len, _columns.values())) > MOST_BYTES and len(_columns) > 1:
            _columns.popitem(last=False)
    return f"{ROOT}/columns/{name}"


def read(address: str) -> np.ndarray:
    """Return the array of a URL.

    Raises:
        KeyError: there is no such array.
    """
    name = address.rpartition("/")[2]
    return np.frombuffer(_columns[name], KINDS[name.rpartition(".")[2]])


def playground(name: str, make: Callable[[], str]) -> str:
    """Return the URL of a page of the playground. `make` creates the page when it is opened; the latest are kept."""
    with _lock:
        _pages.pop(name, None)
        _pages[name] = make
        for old in list(_pages)[:-MOST_PAGES]:
            del _pages[old]
    return f"{ROOT}/playground/{name}"


def code() -> str:
    """Return the URL of the map's code. It changes with the code."""
    content = b"".join((_CODE / name).read_bytes() for name in _FILES)
    version = hashlib.blake2b(content, digest_size=8).hexdigest()
    return f"{ROOT}/code/{version}/"


def pictures(run: str, stamp: float) -> str:
    """Return the URL of a run's pictures. An item's number is appended."""
    return f"{ROOT}/pictures/{base64.urlsafe_b64encode(run.encode()).decode()}/{stamp!r}/"


_FOR_EVER = {"Cache-Control": "private, max-age=31536000, immutable"}


async def _column(request: Request) -> Response:
    data = _columns.get(request.path_params["name"])
    if data is None:
        return PlainTextResponse("This map is no longer available; reload the page.", 404)
    return Response(data, media_type="application/octet-stream", headers=_FOR_EVER)


async def _code(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _FILES:
        return PlainTextResponse("There is no such file.", 404)
    return FileResponse(_CODE / name, media_type="text/javascript", headers=_FOR_EVER)


async def _picture(request: Request) -> Response:
    from app.results import cache  # imports torch, which would delay the start of the server

    parameters = request.path_params
    try:
        run = base64.urlsafe_b64decode(parameters["run"]).decode()
        stamp = float(parameters["stamp"])
        item = int(parameters["item"])
        uri = await run_in_threadpool(cache.thumbnail, run, stamp, item)
    except (ValueError, LookupError, OSError):
        uri = ""
    if not uri:
        return PlainTextResponse("There is no such picture.", 404)
    data = base64.b64decode(uri.partition(",")[2])
    return Response(
        data, media_type="image/webp", headers={"Cache-Control": "private, max-age=3600"}
    )


async def _playground(request: Request) -> Response:
    make = _pages.get(request.path_params["name"])
    if make is None:
        return PlainTextResponse(
            "This batch is no longer available; open it from the page Inspect again.", 404
        )
    return HTMLResponse(await run_in_threadpool(make))


ROUTES = (
    Route(f"{ROOT}/playground/{{name}}", _playground),
    Route(f"{ROOT}/columns/{{name}}", _column),
    Route(f"{ROOT}/code/{{version}}/{{name}}", _code),
    Route(f"{ROOT}/pictures/{{run}}/{{stamp}}/{{item}}", _picture),
)
