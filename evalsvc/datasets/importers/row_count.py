"""Count the rows of a large file before they are read: one that has too many is refused in a second, not in minutes."""

from __future__ import annotations

import re
from typing import BinaryIO

from evalsvc.datasets.importers.lines import MAX_ROW_BYTES

CHUNK_BYTES = 1024 * 1024
LEAST_SHARE = 0.8
"""Of the limit, by the first chunk: a file with fewer rows is not counted."""
_blank = re.compile(rb"^[ \t\r,;|]*\n", re.MULTILINE)
_blank_or_numbers = re.compile(rb"^[0-9. \t\r,;|]*\n", re.MULTILINE)
_has_index = re.compile(rb'("")?[,;\t]|"?Unnamed')
_quote_in_text = re.compile(rb"[^,;\t|\r\n\x00]\x00")
"""A quoted text stands for a NUL here: one after other text is no beginning of a quoted cell."""


class _Uncertain(Exception):
    """The lines cannot be told without reading the rows."""


def count_rows(file: BinaryIO, *, limit: int, is_csv: bool) -> int | None:
    """Return at least how many rows a file has; None if it seems to have fewer than `limit`, or cannot be told.

    Blank rows do not count, and small files are soon read. The file stays where it is.
    """
    position, size = file.tell(), file.seek(0, 2)
    try:
        file.seek(0)
        head = file.read(CHUNK_BYTES)
        if size <= CHUNK_BYTES or head.count(b"\n") * size < LEAST_SHARE * limit * len(head):
            return None
        file.seek(0)
        blank = _blank_or_numbers if is_csv and _has_index.match(head) else _blank
        n_before = 1 + head[:4].lower().startswith(b"sep=") if is_csv else 0
        return _count_lines(file, blank, is_csv) - n_before
    except _Uncertain:
        return None
    finally:
        file.seek(position)


def _count_lines(file: BinaryIO, blank: re.Pattern[bytes], is_csv: bool) -> int:
    n, rest, is_quoted = 0, b"", False
    while chunk := file.read(CHUNK_BYTES):
        if is_csv:
            chunk, is_quoted = _replace_quoted(chunk, is_quoted)
        lines, newline, last = (rest + chunk).rpartition(b"\n")
        lines += newline
        if len(last) > MAX_ROW_BYTES or (is_csv and _quote_in_text.search(lines)):
            raise _Uncertain
        n += lines.count(b"\n") - len(blank.findall(lines))
        rest = last
    return n + bool(rest.strip(b" \t\r,;|"))


def _replace_quoted(chunk: bytes, is_quoted: bool) -> tuple[bytes, bool]:
    """Return what is outside of quotes, with a NUL for each quoted text, and whether the chunk ends within one."""
    if b"\x00" in chunk:
        raise _Uncertain
    parts = chunk.split(b'"')
    ends_quoted = is_quoted ^ (len(parts) % 2 == 0)
    return b"\x00".join(parts[is_quoted::2]) + b"\x00" * ends_quoted, ends_quoted
