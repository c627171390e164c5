"""The one reader of all formats: files in, checked rows out. Service, command line and client read by it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import BinaryIO

from evalsvc.datasets.importers.archive import MAX_GROWTH, Budget, open_archive
from evalsvc.datasets.importers.beir import read_beir
from evalsvc.datasets.importers.gsm8k import read_gsm8k
from evalsvc.datasets.importers.json_list import read_list
from evalsvc.datasets.importers.limits import DEFAULT_LIMITS, Limits
from evalsvc.datasets.importers.lines import BOM, Record, read_objects
from evalsvc.datasets.importers.locations import Refusals, SourceLocation
from evalsvc.datasets.importers.names import Names, Purpose
from evalsvc.datasets.importers.parquet import read_parquet
from evalsvc.datasets.importers.rows import ExampleRow, make_rows
from evalsvc.datasets.importers.summary import UploadSummary
from evalsvc.datasets.importers.table import JSON_SUFFIX, find_delimiter, read_csv
from evalsvc.problems import FieldError, Invalid

SNIFFED_BYTES = 4096


class Format(StrEnum):
    """How the rows of a version came."""

    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"
    BEIR = "beir"
    SQUAD = "squad"
    GSM8K = "gsm8k"
    JSON = "json"


SUFFIXES = {
    "csv": Format.CSV,
    "tsv": Format.CSV,
    "jsonl": Format.JSONL,
    "ndjson": Format.JSONL,
    "parquet": Format.PARQUET,
}
SPREADSHEETS = ("xlsx", "xls", "ods", "numbers")


@dataclass(frozen=True, slots=True)
class Upload:
    """The uploaded files, and the options of the caller."""

    files: Sequence[tuple[str, BinaryIO]]
    format: str | None = None
    split: str = "test"
    mapping: Mapping[str, Sequence[str]] = field(default_factory=dict)
    purpose: Purpose = Purpose.DATASET


@dataclass(frozen=True, slots=True)
class ParsedUpload:
    """The format of an upload, and its rows: an iterator that raises Invalid, at its end at the latest."""

    format: str
    rows: Iterator[ExampleRow]
    summary: UploadSummary = field(default_factory=UploadSummary)


def parse_upload(upload: Upload, *, limits: Limits = DEFAULT_LIMITS) -> ParsedUpload:
    """Detect the format of an upload and begin to read its rows. Raises Invalid if nothing can be read."""
    names, summary = Names(upload.mapping, purpose=upload.purpose), UploadSummary()
    format = upload.format or detect(upload.files, names)
    refusals = Refusals()
    if len(upload.files) > 1 and format != Format.BEIR:
        raise Invalid(FieldError("/file", "Several files are accepted for BEIR only."))
    name, file = upload.files[0]
    file.seek(0)
    match format:
        case Format.CSV:
            records = read_csv(file, refusals, summary, name=name)
        case Format.PARQUET:
            records = read_parquet(file, refusals, summary)
        case Format.SQUAD:
            # Only here: an installation of the client alone has no parser for documents that do not fit into memory.
            from evalsvc.datasets.importers.squad import read_squad

            records = read_squad(file, refusals)
        case Format.GSM8K:
            records = read_gsm8k(file, refusals)
        case Format.JSON:
            records = read_list(file, refusals)
        case Format.BEIR:
            records = beir_records(upload, refusals, limits)
        case _:
            records = read_objects(file, refusals)
    text_cells = format in (Format.CSV, Format.PARQUET)
    rows = make_rows(records, names, refusals, text_cells=text_cells, limits=limits, summary=summary)
    return ParsedUpload(format, rows, summary)


def read_examples(
    examples: Iterable[object],
    *,
    mapping: Mapping[str, Sequence[str]] | None = None,
    limits: Limits = DEFAULT_LIMITS,
    summary: UploadSummary | None = None,
) -> Iterator[ExampleRow]:
    """Return rows of examples of a JSON body, or made by a program. Raises as the rows of an upload do."""
    refusals = Refusals()

    def records() -> Iterator[tuple[SourceLocation, Record]]:
        for i, example in enumerate(examples):
            location = SourceLocation(f"/examples/{i}", f"Example {i + 1}")
            if isinstance(example, dict):
                yield location, example
            else:
                refusals.add(location, "Expected a JSON object.")

    return make_rows(records(), Names(mapping), refusals, limits=limits, summary=summary)


def detect(files: Sequence[tuple[str, BinaryIO]], names: Names) -> str:
    """Return the format by what the file begins with, then by its name; Invalid when neither tells.

    Patronus' SDK names every file as its dataset, without a suffix: text that begins with a header of ours is CSV.
    """
    if len(files) > 1:
        return Format.BEIR
    name, file = files[0]
    file.seek(0)
    head = file.read(SNIFFED_BYTES).removeprefix(BOM)
    if head.startswith(b"PAR1"):
        return Format.PARQUET
    suffix = name.rpartition(".")[2].lower()
    if suffix in SPREADSHEETS:
        raise Invalid(
            FieldError("/file", "A spreadsheet's own format is not read: save it as “CSV UTF-8”, and send that.")
        )
    if head.startswith(b"PK\x03\x04"):
        return Format.BEIR
    format = SUFFIXES.get(suffix)
    start = head.lstrip()
    if start.startswith(b"[") and format in (None, Format.JSONL):
        return Format.JSON
    if format is None and start.startswith(b"{"):
        format = Format.SQUAD if b'"paragraphs"' in start else Format.JSONL
    if format == Format.JSONL and start.startswith(b'{"question"') and b"\\n#### " in start:
        format = Format.GSM8K
    if format is None and names.has_any(first_cells(start)):
        format = Format.CSV
    if format is None:
        raise Invalid(FieldError("/format", f"Cannot tell the format of this file; say one of {', '.join(UPLOADED)}."))
    return format


def first_cells(head: bytes) -> list[str]:
    """Return what would be the names of columns, were it CSV."""
    line = head.partition(b"\n")[0].decode("utf-8", "replace").rstrip("\r")
    cells = line.split(find_delimiter(line))
    return [cell.strip().strip('"').removesuffix(JSON_SUFFIX) for cell in cells]


UPLOADED = tuple(member.value for member in Format)


class Files:
    """The files of an upload of several, by their names."""

    def __init__(self, files: Sequence[tuple[str, BinaryIO]]) -> None:
        self.files = dict(files)

    def names(self) -> list[str]:
        """Return their names."""
        return list(self.files)

    def open(self, name: str) -> BinaryIO:
        """Return a file at its beginning."""
        self.files[name].seek(0)
        return self.files[name]


def beir_records(upload: Upload, refusals: Refusals, limits: Limits) -> Iterator[tuple[SourceLocation, Record]]:
    """Read BEIR from a zip file or from several files."""
    if len(upload.files) > 1:
        yield from read_beir(Files(upload.files), refusals, split=upload.split)
        return
    budget = Budget(MAX_GROWTH * limits.n_bytes)
    with open_archive(upload.files[0][1], budget) as archive:
        yield from read_beir(archive, refusals, split=upload.split)
