"""The file of an account: read twice, once to know that nothing is cut or altered, once to bring it in."""

from __future__ import annotations

import gzip
import hashlib
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import orjson

from evalsvc.ops.moving.tables import FORMAT, MEMBERS, VERSION, get_moving_tables

GZIP = b"\x1f\x8b"
ROW = re.compile(rb'\{"table":"(\w{1,63})","row":(\{.*\})\}\n', re.DOTALL)
END = b'{"end":'
LONGEST_LINE = 64 * 1024 * 1024
WORDS = {"format", "version", "release", "migrations", "account", "taken_at", "tables", "columns", "needs"}


class ImportRefused(Exception):
    """The account cannot be imported; the message contains the reason and the remedy. Nothing was written."""


@dataclass(frozen=True, slots=True)
class AccountFile:
    """An account file with its manifest read."""

    path: Path
    manifest: dict[str, Any]

    @property
    def account_id(self) -> int:
        """Return the id of the account, which does not change."""
        return int(self.manifest["account"]["id"])

    @property
    def name(self) -> str:
        """Return the name that the account had."""
        return str(self.manifest["account"]["name"])

    @property
    def counts(self) -> dict[str, int]:
        """Return the number of rows of each table according to the manifest."""
        return {name: int(n) for name, n in self.manifest["tables"].items()}

    def rows(self) -> Iterator[tuple[str, bytes]]:
        """Yield the table and the JSON of each row. Raises ImportRefused, at the end at the latest, for a file that is
        cut or altered.
        """
        counts, digest, is_ended = Counter[str](), hashlib.sha256(), False
        for number, line in enumerate(_lines(self.path), 1):
            if is_ended:
                raise _altered(self.path, number, "something stands behind the end")
            if line.startswith(END):
                self._check_end(line, number, counts, digest.hexdigest())
                is_ended = True
                continue
            digest.update(line)
            if number > 1:
                table, row = self._row(line, number)
                counts[table] += 1
                yield table, row
        if not is_ended:
            raise ImportRefused(f"{self.path} is cut: it has no end. Export the account again.")

    def _row(self, line: bytes, number: int) -> tuple[str, bytes]:
        match = ROW.fullmatch(line)
        if match is None:
            if not line.endswith(b"\n"):
                raise ImportRefused(f"{self.path} is cut in line {number}. Export the account again.")
            raise _altered(self.path, number, "it is no row")
        table = match[1].decode()
        if table not in self.manifest["tables"]:
            raise _altered(self.path, number, f"the manifest has no table {table}")
        return table, match[2]

    def _check_end(self, line: bytes, number: int, counts: Counter[str], digest: str) -> None:
        end = _json(self.path, line, number)["end"]
        if not isinstance(end, dict):
            raise _altered(self.path, number, "the end is of another shape")
        table_counts = end.get("tables")
        if table_counts != self.manifest["tables"] or any(counts[name] != n for name, n in self.counts.items()):
            raise _altered(self.path, number, "the rows are not as many as it says")
        if end.get("sha256") != digest:
            raise _altered(self.path, number, "the SHA-256 of the lines is another one")


def open_file(path: Path) -> AccountFile:
    """Read the beginning of a file. Raises ImportRefused for one that is none of ours, or of a later version."""
    first = next(_lines(path), b"")
    manifest = _json(path, first, 1)
    if manifest.get("format") != FORMAT:
        raise ImportRefused(f"{path} is no export of an account: its first line has no format {FORMAT!r}.")
    if manifest.get("version") != VERSION:
        raise ImportRefused(
            f"{path} is of version {manifest.get('version')} of the format, and this release reads {VERSION}:"
            " upgrade this server first."
        )
    if not manifest.keys() >= WORDS:
        raise _altered(path, 1, f"it lacks {', '.join(sorted(WORDS - manifest.keys()))}")
    _check_manifest(path, manifest)
    return AccountFile(path, manifest)


def _check_manifest(path: Path, manifest: dict[str, Any]) -> None:
    shapes = {"migrations": str, "tables": int, "columns": list, "needs": list, "account": str}
    for word, kind in shapes.items():
        values = manifest[word]
        if not isinstance(values, dict) or not all(isinstance(value, kind) for value in values.values()):
            raise _altered(path, 1, f"{word} is of another shape")
    known_columns = {table.name: {*table.columns} for table in get_moving_tables()}
    if later := manifest["tables"].keys() - {*known_columns, MEMBERS}:
        raise _later(path, manifest, f"table {min(later)}")
    for name, columns in manifest["columns"].items():
        if unknown := [column for column in columns if column not in known_columns.get(name, ())]:
            raise _later(path, manifest, f"column {unknown[0]} of {name}")
    if not re.fullmatch(r"-?[0-9]{1,18}", manifest["account"].get("id", "")):
        raise _altered(path, 1, "the account has no id")


def _later(path: Path, manifest: dict[str, Any], what: str) -> ImportRefused:
    return ImportRefused(
        f"{path} is of a later schema (release {manifest['release']}): this server has no {what}. Upgrade it first."
    )


def _json(path: Path, line: bytes, number: int) -> dict[str, Any]:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise _altered(path, number, "it is no JSON") from None
    if not isinstance(value, dict):
        raise _altered(path, number, "it is no object")
    return value


def _altered(path: Path, number: int, why: str) -> ImportRefused:
    return ImportRefused(f"{path} is cut or altered, line {number}: {why}. Export the account again.")


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as raw:
            is_packed = raw.read(2) == GZIP
            raw.seek(0)
            yield from _read(cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if is_packed else raw)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise ImportRefused(f"{path} is cut or altered: it cannot be unpacked. Export the account again.") from None
    except OSError as exc:
        raise ImportRefused(f"{path} cannot be read: {exc.strerror or exc}.") from None


def _read(file: IO[bytes]) -> Iterator[bytes]:
    while line := file.readline(LONGEST_LINE):
        yield line
