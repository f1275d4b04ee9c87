"""What the browser fetches by itself: long columns as binary files, pictures of points, and the code of the map.

A page offers a column (`offer`) and gives its address to a component; the browser fetches each address once, however
often the page is drawn again. Access control stands before these routes as before every page.
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
"""Columns that are kept, the latest ones."""
KINDS = {"f4": np.float32, "i4": np.int32, "u1": np.uint8, "u2": np.uint16}
"""End of an address to the type of the numbers, little-endian."""
_CODE = Path(__file__).parent / "components" / "scatter"
_FILES = ("map.js", "painter.js", "overlay.js", "filters.js", "legend.js", "marks.js", "memory.js", "vendor.min.js")

MOST_PAGES = 16
"""Pages of the playground that can be opened."""

_columns: OrderedDict[str, bytes] = OrderedDict()
_pages: dict[str, Callable[[], str]] = {}
_lock = Lock()


def offer(column: np.ndarray) -> str:
    """Keep an array for the browser; its address, which is the same for equal arrays.

    Raises:
        KeyError: its numbers are of another type than `KINDS` has.
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
    """The array of an address that was offered.

    Raises:
        KeyError: there is none.
    """
    name = address.rpartition("/")[2]
    return np.frombuffer(_columns[name], KINDS[name.rpartition(".")[2]])


def playground(name: str, make: Callable[[], str]) -> str:
    """The address of a page of the playground, which is made when somebody opens it; the latest few are kept."""
    with _lock:
        _pages.pop(name, None)
        _pages[name] = make
        for old in list(_pages)[:-MOST_PAGES]:
            del _pages[old]
    return f"{ROOT}/playground/{name}"


def code() -> str:
    """Where the map's code is, which changes with it."""
    version = hashlib.blake2b(b"".join((_CODE / name).read_bytes() for name in _FILES), digest_size=8).hexdigest()
    return f"{ROOT}/code/{version}/"


def pictures(run: str, stamp: float) -> str:
    """The address of a run's pictures; an item's number comes behind it."""
    return f"{ROOT}/pictures/{base64.urlsafe_b64encode(run.encode()).decode()}/{stamp!r}/"


_FOR_EVER = {"Cache-Control": "private, max-age=31536000, immutable"}


async def _column(request: Request) -> Response:
    data = _columns.get(request.path_params["name"])
    if data is None:
        return PlainTextResponse("This map is not kept any more; reload the page.", 404)
    return Response(data, media_type="application/octet-stream", headers=_FOR_EVER)


async def _code(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _FILES:
        return PlainTextResponse("There is no such file.", 404)
    return FileResponse(_CODE / name, media_type="text/javascript", headers=_FOR_EVER)


async def _picture(request: Request) -> Response:
    from app.results import cache  # loads torch, which the server's start does not wait for

    words = request.path_params
    try:
        run = base64.urlsafe_b64decode(words["run"]).decode()
        stamp, item = float(words["stamp"]), int(words["item"])
        uri = await run_in_threadpool(cache.thumbnail, run, stamp, item)
    except (ValueError, LookupError, OSError):
        uri = ""
    if not uri:
        return PlainTextResponse("There is no such picture.", 404)
    data = base64.b64decode(uri.partition(",")[2])
    return Response(data, media_type="image/webp", headers={"Cache-Control": "private, max-age=3600"})


async def _playground(request: Request) -> Response:
    make = _pages.get(request.path_params["name"])
    if make is None:
        return PlainTextResponse("This batch is not kept any more; open it from the page Inspect again.", 404)
    return HTMLResponse(await run_in_threadpool(make))


ROUTES = (
    Route(f"{ROOT}/playground/{{name}}", _playground),
    Route(f"{ROOT}/columns/{{name}}", _column),
    Route(f"{ROOT}/code/{{version}}/{{name}}", _code),
    Route(f"{ROOT}/pictures/{{run}}/{{stamp}}/{{item}}", _picture),
)
