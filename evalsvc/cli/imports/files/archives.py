"""Logs of Inspect: a zip file of JSON documents, which its newer versions pack by Zstandard."""

from __future__ import annotations

import importlib
import json
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from evalsvc.cli.imports.files.documents import MAX_ITEM, NotJson

HEADER = "header.json"
ZSTANDARD = 93
LOCAL_HEADER = struct.Struct("<4s5H3I2H")
REMEDY = "Install `zstandard` next to this command, or write the log as JSON: inspect log convert --to json."


def is_inspect_log(path: Path) -> bool:
    """Return whether a file is a log of Inspect that is complete."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return HEADER in archive.namelist()


def read_inspect_log(path: Path) -> Iterator[tuple[str, object, dict[str, object]]]:
    """Yield each sample with the name of its entry and the log's header. Raises NotJson for what cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive, path.open("rb") as stream:
            header = _parse(stream, archive.getinfo(HEADER))
            about = header if isinstance(header, dict) else {}
            for entry in archive.infolist():
                if entry.filename.startswith("samples/"):
                    yield entry.filename, _parse(stream, entry), about
    except (zipfile.BadZipFile, zlib.error, struct.error) as exc:
        raise NotJson(1, f"The zip file is broken: {exc}.") from None


def _parse(stream: BinaryIO, entry: zipfile.ZipInfo) -> object:
    if entry.file_size > MAX_ITEM:
        raise NotJson(1, f"{entry.filename} is longer than {MAX_ITEM} bytes.")
    content = _unpack(stream, entry)
    if zlib.crc32(content) != entry.CRC:
        raise NotJson(1, f"{entry.filename} is broken: its checksum differs.")
    try:
        return json.loads(content, parse_constant=lambda _: None)
    except (ValueError, RecursionError) as exc:
        raise NotJson(1, f"{entry.filename} cannot be read as JSON: {exc}.") from None


def _unpack(stream: BinaryIO, entry: zipfile.ZipInfo) -> bytes:
    # zipfile of Python before 3.14 refuses entries of this method, but knows where they are.
    stream.seek(entry.header_offset)
    *_, n_name, n_extra = LOCAL_HEADER.unpack(stream.read(LOCAL_HEADER.size))
    stream.seek(n_name + n_extra, 1)
    packed = stream.read(entry.compress_size)
    if entry.compress_type == zipfile.ZIP_STORED:
        return packed
    if entry.compress_type == zipfile.ZIP_DEFLATED:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, MAX_ITEM)
    if entry.compress_type == ZSTANDARD:
        return _unpack_zstandard(packed, entry.file_size)
    raise NotJson(1, f"{entry.filename} is packed by a method that is not known.")


def _unpack_zstandard(packed: bytes, n_bytes: int) -> bytes:
    """Unpack by whichever reader there is: Python's since 3.14, `zstandard`, or that of pyarrow."""
    try:
        content = importlib.import_module("compression.zstd").decompress(packed)
    except ImportError:
        try:
            content = (
                importlib.import_module("zstandard").ZstdDecompressor().decompress(packed, max_output_size=n_bytes)
            )
        except ImportError:
            try:
                arrow = importlib.import_module("pyarrow")
            except ImportError:
                raise NotJson(1, f"The log is packed by Zstandard, which cannot be read here. {REMEDY}") from None
            content = arrow.Codec("zstd").decompress(packed, decompressed_size=n_bytes, asbytes=True)
    return bytes(content)
