"""Zip files from strangers: read as streams, never unpacked to disk, and no further than the limit."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from evalsvc.problems import FieldError, Invalid

MAX_DIRECTORY_BYTES = 1024 * 1024
MAX_GROWTH = 4
"""The files of an archive may hold so many times what an upload may."""
ZSTANDARD = 93
ZSTANDARD_REMEDY = "Write a log of Inspect as JSON: inspect log convert LOG --to json --output-dir FOLDER."
END, LOCATOR = b"PK\x05\x06", b"PK\x06\x07"
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, struct.error)


def refuse(detail: str) -> Invalid:
    """Make the refusal of an archive."""
    return Invalid(FieldError("/file", detail))


class Budget:
    """How many bytes may still be unpacked, over all files of an archive."""

    def __init__(self, n_bytes: int) -> None:
        self.n_bytes = self.left = n_bytes

    def spend(self, n_bytes: int) -> None:
        """Take bytes from it, or refuse the archive."""
        self.left -= n_bytes
        if self.left < 0:
            raise refuse(f"The archive unpacks to more than {self.n_bytes} bytes.")


class UnpackedFile(io.RawIOBase):
    """A file of an archive, unpacked as it is read."""

    def __init__(self, member: Any, budget: Budget) -> None:
        self.member, self.budget = member, budget

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Unpack the next bytes."""
        try:
            chunk = self.member.read(len(buffer))
        except BROKEN as exc:
            raise refuse(f"The archive is broken: {exc}.") from None
        self.budget.spend(len(chunk))
        buffer[: len(chunk)] = chunk
        return len(chunk)


class Archive:
    """The files of a zip file by their paths."""

    def __init__(self, archive: zipfile.ZipFile, budget: Budget) -> None:
        self.archive, self.budget = archive, budget
        self.members = {info.filename: info for info in archive.infolist() if not info.is_dir()}
        for name in self.members:
            if name.startswith(("/", "\\")) or ".." in name.replace("\\", "/").split("/"):
                raise refuse(f"The archive holds a path that leaves it: {name[:100]!r}.")

    def names(self) -> list[str]:
        """Return the paths, but those that macOS adds."""
        return [name for name in self.members if not name.startswith("__MACOSX/")]

    def open(self, name: str) -> io.BufferedReader:
        """Open a file for reading."""
        member = self.members[name]
        if member.flag_bits & 1:
            raise refuse("The archive is encrypted.")
        if member.compress_type == ZSTANDARD:
            raise refuse(f"{name[:100]!r} is compressed with Zstandard, which is not read. {ZSTANDARD_REMEDY}")
        # bzip2 and LZMA unpack without an upper bound.
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise refuse(f"{name[:100]!r} is compressed in another way than deflate.")
        try:
            return io.BufferedReader(UnpackedFile(self.archive.open(member), self.budget))
        except BROKEN as exc:
            raise refuse(f"The archive is broken: {exc}.") from None


@contextmanager
def open_archive(file: BinaryIO, budget: Budget) -> Iterator[Archive]:
    """Open a zip file, unless its directory is too large to be read into memory."""
    check_directory(file)
    try:
        archive = zipfile.ZipFile(file)
    except (*BROKEN, ValueError) as exc:
        raise refuse(f"Not a zip file: {exc}.") from None
    with archive:
        yield Archive(archive, budget)


def check_directory(file: BinaryIO) -> None:
    """Refuse a directory that would fill the memory: it is read whole. Finds its end the way `zipfile` does."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - (1 << 16) - 22))
    tail = file.read()
    at = len(tail) - 22
    if at < 0 or tail[at : at + 4] != END or tail[-2:] != b"\0\0":
        at = tail.rfind(END)
    if at < 0 or len(tail) < at + 22:
        raise refuse("Not a zip file: it has no directory.")
    (n_bytes,) = struct.unpack_from("<L", tail, at + 12)
    if LOCATOR in tail[max(0, at - 20) : at] or n_bytes > MAX_DIRECTORY_BYTES:
        raise refuse("The archive holds too many files.")
    file.seek(0)
