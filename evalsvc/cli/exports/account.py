"""`evalsvc export account`: write all data of the account to one file, atomically."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

import click

from evalsvc.cli.options import CommandError, Incomplete, report_options, target_options
from evalsvc.cli.report import Advance, Report
from evalsvc.client.errors import ClientError
from evalsvc.client.service.transport import Transport

ADDRESS = "/v1/account/export"
FORMAT, VERSION = "evalsvc-account", 1
ROW = re.compile(rb'\{"table":"(\w+)","row":')
END = b'{"end":'
RETRY_HINT = "Nothing was kept: run the same command again."
# What does not go along, or is at rest in the new place, as the manifest's `needs` name it.
REMARKS = {
    "connections": "connections need their key anew",
    "event_endpoints": "event endpoints need a new secret",
    "webhook_secret": "secret of webhooks has to be made anew",
    "paused_configs": "running configs of experiments come stopped",
    "left_out_requests": "evaluate requests were under way, and are not in the file",
}


@click.command("account")
@click.option(
    "-o", "--output", "path", required=True, type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="The file to write; gzipped when its name ends in .gz.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite FILE.")
@target_options
@report_options
def export_account(path: Path, force: bool, target: Transport, report: Report) -> None:
    """Write all that the account holds into FILE, as of one moment.

    An operator brings it into another server with `manage.py import_account FILE`. Keys and other secrets are not in
    it; texts are.
    """
    if path.exists() and not force:
        raise CommandError(f"{path} is there already: choose another name, or pass --force.")
    try:
        with _open_output(path) as file:
            manifest, counts = _copy(target.download(ADDRESS), file, report)
    except ClientError as exc:
        # Refused before the download began: nothing is truncated, and the service's message is sufficient.
        raise (CommandError(str(exc)) if exc.status in (401, 403) else Incomplete(f"{exc}\n{RETRY_HINT}")) from exc
    except OSError as exc:
        raise Incomplete(f"{path} cannot be written: {exc.strerror or exc}. {RETRY_HINT}") from exc
    result = {"file": str(path), "bytes": path.stat().st_size, "manifest": manifest, "counts": counts}
    report.finish(result, list(_format_summary(path, manifest, counts)))


@contextmanager
def _open_output(path: Path) -> Iterator[IO[bytes]]:
    """Write to a temporary file and move it into place at the end; an unfinished file is removed."""
    part = path.with_name(f"{path.name}.part")
    try:
        # The file contains customer data: only its owner may read it.
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as raw:
            if path.suffix == ".gz":
                with gzip.GzipFile(fileobj=raw, mode="wb", filename="", compresslevel=6) as packed:
                    yield cast(IO[bytes], packed)
            else:
                yield raw
            raw.flush()
            os.fsync(raw.fileno())
        part.replace(path)
    finally:
        with suppress(FileNotFoundError):
            part.unlink()


def _copy(chunks: Iterable[bytes], file: IO[bytes], report: Report) -> tuple[Mapping[str, Any], Mapping[str, int]]:
    lines = _split_lines(chunks)
    first = next(lines, b"")
    manifest = _read_manifest(first)
    checker = _ExportChecker(dict(manifest["tables"]))
    checker.digest.update(first)
    file.write(first)
    with report.progress("rows", sum(checker.promised.values())) as advance:
        for line in lines:
            checker.take(line, advance)
            file.write(line)
    if not checker.is_whole:
        raise Incomplete(f"The export was cut. {RETRY_HINT}")
    return manifest, {name: checker.counts[name] for name in checker.promised}


def _read_manifest(line: bytes) -> Mapping[str, Any]:
    with suppress(ValueError):
        manifest = json.loads(line)
        if isinstance(manifest, dict) and manifest.get("format") == FORMAT:
            if manifest.get("version") != VERSION:
                raise CommandError(
                    "The service is of a later version: upgrade evalsvc here, and run the command again."
                )
            return manifest
    raise Incomplete(f"What came is no export of an account. {RETRY_HINT}")


@dataclass(slots=True)
class _ExportChecker:
    """What has been received so far, to compare with the manifest and the end record."""

    promised: dict[str, int]
    counts: Counter[str] = field(default_factory=Counter)
    digest: Any = field(default_factory=hashlib.sha256)
    is_whole: bool = False

    def take(self, line: bytes, advance: Advance) -> None:
        """Count a line. Raises Incomplete if it is not valid at this point."""
        if line.startswith(END) and not self.is_whole:
            end = json.loads(line)["end"]
            is_complete = all(self.counts[name] == n for name, n in self.promised.items())
            if not is_complete or end["tables"] != self.promised or end["sha256"] != self.digest.hexdigest():
                raise Incomplete(f"What came is not what was sent. {RETRY_HINT}")
            self.is_whole = True
            return
        match = ROW.match(line)
        if match is None or self.is_whole:
            raise Incomplete(f"What came is not what was sent. {RETRY_HINT}")
        self.digest.update(line)
        self.counts[match[1].decode()] += 1
        advance(1)


def _split_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines with their newline. A truncated last line is yielded without one."""
    partial: list[bytes] = []
    for chunk in chunks:
        *lines, remainder = chunk.split(b"\n")
        for line in lines:
            yield b"".join([*partial, line, b"\n"])
            partial = []
        partial.append(remainder)
    if last := b"".join(partial):
        yield last


def _format_summary(path: Path, manifest: Mapping[str, Any], counts: Mapping[str, int]) -> Iterator[str]:
    n_tables = sum(1 for n in counts.values() if n)
    yield f"{path}: {sum(counts.values())} rows of {n_tables} tables, as of {manifest['taken_at']}."
    for what, sentence in REMARKS.items():
        if n := len(manifest["needs"].get(what, ())):
            yield f"{n} {sentence}."
    yield "Keys and other secrets are not in it. On the new server: manage.py import_account FILE"
