"""Pickles that a stranger might send: name to bytes. Many of them crash, or run, in a careless reader."""

from __future__ import annotations

import pickle
import struct

PROTO = b"\x80\x02"
AT = b"\x41" * 8
"""Bytes that a careless reader takes for an address."""


def text(words: str) -> bytes:
    return b"X" + struct.pack("<I", len(words)) + words.encode()


def short(data: bytes) -> bytes:
    return b"U" + bytes([len(data)]) + data


def name(words: str) -> bytes:
    return b"c" + words.replace(" ", "\n").encode() + b"\n"


def number(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def call(what: bytes, *given: bytes) -> bytes:
    return what + b"(" + b"".join(given) + b"tR"


def built(what: bytes, *state: bytes) -> bytes:
    return what + b"(" + b"".join(state) + b"tb"


def dtype(code: str, order: str = "|", *more: bytes) -> bytes:
    more = more or (b"N", b"N", b"N", number(-1), number(-1), number(0))
    return built(call(name("numpy dtype"), text(code), number(0), number(1)), number(3), text(order), *more)


def array(kind: bytes, raw: bytes, *shape: int, module: str = "numpy.core.multiarray") -> bytes:
    shell = call(name(f"{module} _reconstruct"), name("numpy ndarray"), b"(" + number(0) + b"t", short(b"b"))
    sides = b"(" + b"".join(map(number, shape)) + b"t"
    return built(shell, number(1), sides, kind, b"\x89", raw)


def scalar(kind: bytes, raw: bytes) -> bytes:
    return call(name("numpy.core.multiarray scalar"), kind, raw)


def whole(*parts: bytes) -> bytes:
    return PROTO + b"".join(parts) + b"."


def nested(opener: bytes, closer: bytes, depth: int) -> bytes:
    return opener * depth + closer * depth


FIELDS = (b"N", b"(" + text("a") + b"t", b"}" + text("a") + b"(" + dtype("O8") + number(0) + b"ts")
U1, O8 = dtype("u1"), dtype("O8")
LISTS = b"]q\x00" + b"".join(b"](h" + bytes([i]) + b"h" + bytes([i]) + b"eq" + bytes([i + 1]) for i in range(60))

CRAFTED = {
    "ndarray called": whole(call(name("numpy ndarray"), b"(" + number(1) + b"t", text("O"), short(AT))),
    "ndarray called with strides": whole(
        call(
            name("numpy ndarray"), b"(" + number(9) + b"t", text("u1"), short(AT), number(0), b"(" + number(999) + b"t"
        )
    ),
    "array of objects": whole(array(O8, short(AT), 1)),
    "array of objects in a list": whole(array(O8, b"](" + text("a") + b"e", 1)),
    "objects whose flags say none": whole(
        array(dtype("O8", "|", b"N", b"N", b"N", number(8), number(8), number(0)), short(AT), 1)
    ),
    "structure with an object": whole(array(dtype("V8", "|", *FIELDS, number(8), number(1), number(0)), short(AT), 1)),
    "sub-array of objects": whole(
        array(
            dtype("V8", "|", b"(" + O8 + b"(" + number(1) + b"tt", b"N", b"N", number(8), number(1), number(0)),
            short(AT),
            1,
        )
    ),
    "void": whole(array(dtype("V8"), short(AT), 1)),
    "dates": whole(array(dtype("M8"), short(AT), 1)),
    "long double": whole(array(dtype("f16"), short(AT * 2), 1)),
    "complex": whole(array(dtype("c16"), short(AT * 2), 1)),
    "scalar object": whole(scalar(O8, short(AT))),
    "scalar too short": whole(scalar(dtype("f8", "<"), short(b"\x00"))),
    "scalar state": whole(built(scalar(dtype("f8", "<"), short(AT)), number(1), text("x"))),
    "more shape than bytes": whole(array(U1, short(AT), 2**30)),
    "negative shape": whole(array(U1, short(AT), -8)),
    "shape that overflows": whole(array(U1, short(AT), 2**31 - 1, 2**31 - 1, 2**31 - 1)),
    "shape of words": whole(array(U1, short(AT), 8).replace(number(8) + b"t", text("8") + b"t")),
    "sixty sides": whole(array(U1, short(b"\x00"), *[1] * 60)),
    "dtype of dtype": whole(call(name("numpy dtype"), U1)),
    "dtype with commas": whole(array(dtype("O,O"), short(AT * 2), 1)),
    "dtype of a million bytes": whole(array(dtype("S99999999"), short(AT), 1)),
    "state twice": whole(built(array(U1, short(AT), 8), number(1), b"(" + number(1) + b"t", O8, b"\x89", short(AT))),
    "state of a name": whole(built(name("numpy ndarray"), text("x"))),
    "reconstruct of something else": whole(
        call(name("numpy.core.multiarray _reconstruct"), name("numpy dtype"), b"(" + number(0) + b"t", short(b"b"))
    ),
    "os.system": whole(call(name("os system"), text("touch evil"))),
    "eval": whole(call(name("builtins eval"), text("open('evil', 'w')"))),
    "getattr": whole(call(name("__builtin__ getattr"), name("numpy ndarray"), text("ctypes"))),
    "dotted": whole(text("numpy"), text("ndarray.ctypes"), b"\x93"),
    "name of no text": whole(number(1), number(2), b"\x93"),
    "load of a library": whole(call(name("numpy.ctypeslib load_library"), text("evil"), text("."))),
    "codec that runs": whole(call(name("_codecs encode"), text("x"), text("zlib_codec"))),
    "bytes without end": whole(call(name("__builtin__ bytes"), b"\x8a\x06" + b"\xff" * 5 + b"\x00")),
    "new object": whole(name("numpy ndarray"), b"(" + number(1) + b"t\x81"),
    "old instance": PROTO + b"(ios\nsystem\n.",
    "old object": PROTO + b"(" + name("os system") + text("x") + b"o.",
    "extension": PROTO + b"\x82\x01.",
    "persistent": PROTO + b"Pevil\n.",
    "set": b"\x80\x04\x8f(" + text("a") + b"\x90.",
    "out of band": b"\x80\x05\x97.",
    "memo of gigabytes": PROTO + b"Nr\xff\xff\xff\x7f.",
    "bytes of exabytes": b"\x80\x04\x8e" + struct.pack("<Q", 2**62) + b"x.",
    "frame of exabytes": b"\x80\x04\x95" + struct.pack("<Q", 2**62) + b"N.",
    "number of digits": b"L" + b"9" * 100_000 + b"L\n.",
    "tuples without end as a key": PROTO + b"}" + b")" + b"\x85" * 1_000_000 + b"Ns.",
    "lists without end": PROTO + nested(b"]", b"a", 1_000_000)[:-1] + b".",
    "list of itself": PROTO + b"]q\x00h\x00a.",
    "lists twice in lists": PROTO + LISTS + b".",
    "empty stack": PROTO + b"a.",
    "pop of nothing": PROTO + b"0.",
    "mark of nothing": PROTO + b"t.",
    "stack below its mark": PROTO + b"N(a.",
    "two left": PROTO + b"NN.",
    "nothing left": PROTO + b".",
    "no end": PROTO + b"N",
    "nothing": b"",
    "noise": bytes(range(256)) * 10,
    "list with a hole": pickle.dumps({"data": [1, None]})[:-3],
}
