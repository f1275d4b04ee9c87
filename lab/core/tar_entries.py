"""Entries of a tar that somebody sent, of which Python reads no more than a little at a time."""

from __future__ import annotations

import tarfile
from typing import Any, Self

LONGEST_HEAD = 1_000_000
"""Bytes of a tar's remark on one file, which Python reads whole: a long name, an attribute."""


class Entry(tarfile.TarInfo):
    """An entry of a tar whose head is bounded, and whose numbers are numbers."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> Self:
        try:
            return super().fromtarfile(archive)
        except ValueError:  # of Python, which reads the numbers of its attributes
            raise DamagedTar("a number in it is none") from None
        except RecursionError:  # each remark on a remark is read inside the one before
            raise DamagedTar("its remarks are nested too deeply") from None

    def _proc_member(self, archive: tarfile.TarFile) -> Any:
        longest = self.type in REMARKS and not 0 <= self.size <= LONGEST_HEAD
        if longest or self.type == tarfile.GNUTYPE_SPARSE:
            raise DamagedTar(
                f"the head of an entry has {self.size:,} bytes"
                if longest
                else "it holds a sparse file"
            )
        return super()._proc_member(archive)  # type: ignore[misc]  # of tarfile, which has no public place for it


REMARKS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
"""Entries of a tar that say something of the next one."""


class DamagedTar(tarfile.TarError):
    """A tar that tar writes, and that is not read here. TarFile goes on after its own errors, and not after this."""
