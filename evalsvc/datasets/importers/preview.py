"""Preview of an upload before it is stored: its first rows, their number, and the errors by line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

from evalsvc.datasets.importers.limits import DEFAULT_LIMITS, Limits
from evalsvc.datasets.importers.reader import Upload, parse_upload
from evalsvc.datasets.importers.rows import ExampleRow
from evalsvc.datasets.importers.summary import UploadSummary
from evalsvc.problems import FieldError, Invalid

N_LOOKED_AT = 20


@dataclass(frozen=True, slots=True)
class UploadPreview:
    """What an upload would become. `n` is None where errors ended the reading."""

    format: str | None
    rows: list[ExampleRow]
    n: int | None
    errors: tuple[FieldError, ...] = ()
    summary: UploadSummary = field(default_factory=UploadSummary)


def preview_upload(upload: Upload, *, n_shown: int = N_LOOKED_AT, limits: Limits = DEFAULT_LIMITS) -> UploadPreview:
    """Read an upload to its end without storing it; errors are returned, not raised."""
    format: str | None = None
    rows: list[ExampleRow] = []
    try:
        parsed = parse_upload(upload, limits=limits)
        format = parsed.format
        rows.extend(islice(parsed.rows, n_shown))
        return UploadPreview(format, rows, len(rows) + _count_rows(parsed.rows), summary=parsed.summary)
    except Invalid as error:
        return UploadPreview(format, rows, None, tuple(error.errors))


def _count_rows(rows: Iterable[ExampleRow]) -> int:
    return sum(1 for _ in rows)
