"""Memory that a step frees is kept for the next one, instead of being given back to the system and asked for again."""

from __future__ import annotations

import ctypes
import os
import sys

from lab.core.formats import GB, MB

TRIM = -1
MAPPED = -3
HEAPS = -8
"""M_TRIM_THRESHOLD, M_MMAP_THRESHOLD and M_ARENA_MAX of malloc.h."""
KEPT = GB
"""Bytes that may lie unused at the end of the heap; a step that reached so far will do so again."""
LARGEST = 32 * MB
"""Blocks up to so many bytes come from the heap; the C library allows little more."""


def keep_freed_memory() -> bool:
    """Tell the C library of Linux (glibc) so; elsewhere, or where a variable has a say, nothing is done.

    By itself it gives back whatever lies free above 8 MB or so after each step, and each new page of the next step is
    then cleared by the system first: a tenth of a small network's step. Threads share one heap from then on, since one
    of their own is given back whenever it is empty, whatever was told. Returns whether it was told.
    """
    tuned = "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", "") or any(
        n.startswith("MALLOC_") for n in os.environ
    )
    if not sys.platform.startswith("linux") or tuned:
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    return bool(mallopt and mallopt(MAPPED, LARGEST) and mallopt(TRIM, KEPT) and mallopt(HEAPS, 1))
