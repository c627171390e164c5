"""Read a bundle that anybody may have made: every digest first, then rows of the right types, within bounds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, BinaryIO

import msgspec
from django.conf import settings

from evalsvc.datasets.importers.archive import MAX_GROWTH, Archive, Budget, open_archive, refuse
from evalsvc.datasets.importers.lines import MAX_ROW_BYTES, decode_json
from evalsvc.documents import find_unstorable, might_be_unstorable
from evalsvc.reports.bundles import tables
from evalsvc.reports.bundles.manifest import (
    FIRST_VERSION,
    FORMAT,
    MAX_MANIFEST,
    VERSION,
    BundledFile,
    Manifest,
    compute_content_hash,
)
from evalsvc.reports.bundles.records.kinds import RECORD_FILES, RecordKind, record_type
from evalsvc.reports.bundles.tables import BundleTable, plan_type, row_type
from evalsvc.rest.problems import Invalid

CHUNK = 1 << 16
WRONG = (msgspec.MsgspecError, ValueError, RecursionError)


class BundledDataset(msgspec.Struct, forbid_unknown_fields=True):
    """The examples of a bundle."""

    n_examples: Annotated[int, msgspec.Meta(ge=1)]
    content_hash: str


class BundledExperiment(msgspec.Struct, forbid_unknown_fields=True):
    """The content of `experiment.json`."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    tags: dict[str, str]
    metadata: dict[str, Any] | None
    dataset: BundledDataset
    plan: Any


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle with verified digests."""

    archive: Archive
    manifest: Manifest

    def open(self, name: str) -> BinaryIO:
        """Open a file of it."""
        return self.archive.open(name)

    def experiment(self) -> tuple[BundledExperiment, Any]:
        """Return the content of `experiment.json`, and the plan in it."""
        text = self.open(tables.EXPERIMENT).read(MAX_ROW_BYTES + 1)
        if len(text) > MAX_ROW_BYTES:
            raise refuse(f"{tables.EXPERIMENT}: longer than {MAX_ROW_BYTES} bytes.")
        try:
            _check_storable(text)
            experiment = msgspec.json.decode(text, type=BundledExperiment)
            return experiment, msgspec.convert(experiment.plan, plan_type())
        except WRONG as exc:
            raise refuse(f"{tables.EXPERIMENT}: {exc}.") from None

    def order(self, n_examples: int) -> list[int]:
        """Return the place in the dataset of each position."""
        places: list[int] = []
        for number, line in _lines(self.open(tables.ORDER), tables.ORDER):
            text = line.strip()
            if not text.isdigit() or len(text) > 9 or int(text) >= n_examples:
                raise refuse(f"{tables.ORDER}, line {number}: not the place of an example.")
            places.append(int(text))
        if len(set(places)) != len(places):
            raise refuse(f"{tables.ORDER}: an example stands in it twice.")
        return places

    def rows(self, table: BundleTable) -> Iterator[tuple[int, Any]]:
        """Yield the rows of a table with their line numbers, each of the right type."""
        return self._decoded(table.file, row_type(table))

    def records(self, kind: RecordKind) -> Iterator[tuple[int, Any]]:
        """Yield the records of a kind with their line numbers; none of a bundle from before there were any."""
        if self.manifest.version == FIRST_VERSION:
            return iter(())
        return self._decoded(kind.file, record_type(kind))

    def _decoded(self, name: str, shape: type[msgspec.Struct]) -> Iterator[tuple[int, Any]]:
        decoder = msgspec.json.Decoder(shape)
        for number, line in _lines(self.open(name), name):
            try:
                _check_storable(line)
                yield number, decoder.decode(line)
            except WRONG as exc:
                raise refuse(f"{name}, line {number}: {exc}.") from None


def list_files(version: int) -> tuple[str, ...]:
    """Return the files that a bundle of a version has."""
    return tables.FILES if version == FIRST_VERSION else (*tables.FILES, *RECORD_FILES)


@contextmanager
def open_bundle(file: BinaryIO) -> Iterator[Bundle]:
    """Open a bundle, after verifying all of its files once; the error names a file that differs from the manifest."""
    file.seek(0)
    with open_archive(file, Budget(MAX_GROWTH * settings.MAX_UPLOAD_BYTES)) as archive:
        bundle = Bundle(archive, _manifest(archive))
        for bundled_file in bundle.manifest.files:
            _check_file(bundle, bundled_file)
        archive.budget.left = archive.budget.n_bytes
        yield bundle


def _manifest(archive: Archive) -> Manifest:
    names = [info.filename for info in archive.archive.infolist() if not info.is_dir()]
    twice = sorted({name for name in names if names.count(name) > 1}) if len(names) < 1000 else names[:1]
    if twice:
        raise refuse(f"The archive holds {twice[0][:100]!r} more than once.")
    if tables.MANIFEST not in names:
        raise refuse(f"Not a bundle: it has no {tables.MANIFEST}.")
    try:
        text = archive.open(tables.MANIFEST).read(MAX_MANIFEST + 1)
        if len(text) > MAX_MANIFEST:
            raise ValueError(f"longer than {MAX_MANIFEST} bytes")
        _check_storable(text)
        manifest = msgspec.json.decode(text, type=Manifest)
    except Invalid as exc:
        raise refuse(f"{tables.MANIFEST}: {exc.detail}") from None
    except WRONG as exc:
        raise refuse(f"{tables.MANIFEST}: {exc}.") from None
    if manifest.format != FORMAT or not FIRST_VERSION <= manifest.version <= VERSION:
        raise refuse(f"{tables.MANIFEST}: not {FORMAT} of version {FIRST_VERSION} to {VERSION}.")
    _check_names(manifest, names)
    return manifest


def _check_names(manifest: Manifest, names: list[str]) -> None:
    manifest_names = [file.name for file in manifest.files]
    expected = list_files(manifest.version)
    if sorted(manifest_names) != sorted(expected):
        wrong = next(iter(sorted(set(manifest_names) ^ set(expected))), tables.MANIFEST)
        raise refuse(f"{tables.MANIFEST}: it must name each file of a bundle once, and {wrong[:100]!r} is not so.")
    if unknown := set(names) - {*manifest_names, tables.MANIFEST}:
        raise refuse(f"{min(unknown)[:100]!r} is in the archive and not in the manifest.")
    if missing := set(manifest_names) - set(names):
        raise refuse(f"{min(missing)} is in the manifest and not in the archive.")
    if compute_content_hash(manifest.files) != manifest.content_hash:
        raise refuse(f"{tables.MANIFEST}: `content_hash` is not that of the files.")


def _check_file(bundle: Bundle, told: BundledFile) -> None:
    digest, n_bytes = hashlib.sha256(), 0
    try:
        with bundle.open(told.name) as member:
            while chunk := member.read(CHUNK):
                digest.update(chunk)
                n_bytes += len(chunk)
    except Invalid as exc:
        raise refuse(f"{told.name}: {exc.detail}") from None
    if (digest.hexdigest(), n_bytes) != (told.sha256, told.n_bytes):
        raise refuse(f"{told.name} has changed: its SHA-256 is not the one in the manifest.")


def _lines(file: BinaryIO, name: str) -> Iterator[tuple[int, bytes]]:
    number = 0
    while line := file.readline(MAX_ROW_BYTES + 1):
        number += 1
        if len(line) > MAX_ROW_BYTES:
            raise refuse(f"{name}, line {number}: longer than {MAX_ROW_BYTES} bytes.")
        yield number, line


def _check_storable(text: bytes) -> None:
    """Raise ValueError for JSON that cannot be stored or returned: NaN, NUL characters, excessive numbers or depth."""
    document = decode_json(text.decode())
    if might_be_unstorable(text):
        for error in find_unstorable(document):
            raise ValueError(f"{error.pointer}: {error.detail.rstrip('.')}")
