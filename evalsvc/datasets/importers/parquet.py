"""Parquet: rows in small batches, so that what unpacks to much is seen before it is all there."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, BinaryIO
from uuid import UUID

from evalsvc.datasets.importers.locations import Refusals, SourceLocation, require_package
from evalsvc.datasets.importers.summary import UploadSummary
from evalsvc.datasets.importers.table import check_header, read_cells, read_json_cell

BATCH_ROWS = 100
INDEX_NAME = re.compile(r"__index_level_[0-9]+__|Unnamed: [0-9]+(\.[0-9]+)?")
MAX_BATCH_BYTES = 64 * 1024 * 1024
Record = dict[str, Any]


def read_parquet(
    file: BinaryIO, refusals: Refusals, summary: UploadSummary | None = None
) -> Iterator[tuple[SourceLocation, Record]]:
    """Yield a record for each row. A text column named `input:json` contains JSON, as in CSV.

    The index that pandas writes is ignored, and noted in the summary. Decimals are kept as they are written: as texts.
    """
    # Only here: it takes 50 MB, which a process that reads no Parquet need not have.
    require_package("pyarrow", refusals)
    import pyarrow as pa
    from pyarrow import parquet as pq

    file_location = SourceLocation("/file", "The file")
    try:
        table = pq.ParquetFile(file, buffer_size=1 << 20, pre_buffer=False)
        names = list(table.schema_arrow.names)
        kept = [i for i, name in enumerate(names) if not INDEX_NAME.fullmatch(name)]
        for name in (name for name in names if INDEX_NAME.fullmatch(name)):
            (summary or UploadSummary()).ignore(f"Column {name!r}: an index.")
        header = check_header(file_location, [names[i] for i in kept], refusals)
        for field in table.schema_arrow:
            if pa.types.is_nested(field.type) and "dictionary<" in str(field.type):
                raise refusals.stop(file_location, f"`{field.name}` nests a dictionary, which is not read.", field.name)
        number = 0
        for batch in table.iter_batches(batch_size=BATCH_ROWS, use_threads=False):
            if batch.nbytes > MAX_BATCH_BYTES:
                detail = f"Rows {number + 1} to {number + batch.num_rows} hold more than {MAX_BATCH_BYTES} bytes."
                raise refusals.stop(file_location, detail)
            for i in range(batch.num_rows):
                number += 1
                location = SourceLocation(f"/file/row/{number}", f"Row {number}")
                # Convert a single row at a time: a value that the file stores once can occur in every row.
                cells = [
                    _read_cell(location, refusals, name, column[i])
                    for name, column in zip(header, [batch.columns[i] for i in kept], strict=True)
                ]
                yield location, read_cells(location, header, cells, refusals)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as exc:
        reason = str(exc).splitlines()[0] if str(exc) else type(exc).__name__
        raise refusals.stop(file_location, f"Not valid Parquet: {reason.rstrip('.')}.") from None


def _read_cell(location: SourceLocation, refusals: Refusals, name: str, cell: Any) -> object:
    value = cell.as_py(maps_as_pydicts="lossy")
    if isinstance(value, str) and getattr(cell.type, "extension_name", "") == "arrow.json":
        return read_json_cell(location, name, value, refusals)
    return plain_value(location, refusals, name, value)


def plain_value(location: SourceLocation, refusals: Refusals, name: str, value: object) -> object:
    """Return a cell as JSON has it: times as ISO 8601, decimals and UUIDs as their text."""
    match value:
        case None | bool() | str() | int():
            return value
        case float():
            if math.isfinite(value):
                return value
            refusals.add(location, f"`{name}` holds {value}, which is no number in JSON.", name)
        case UUID():
            return str(value)
        case Decimal():
            return format(value, "f")
        case datetime() | date() | time():
            return value.isoformat()
        case dict():
            return {str(key): plain_value(location, refusals, name, part) for key, part in value.items()}
        case list():
            return [plain_value(location, refusals, name, part) for part in value]
        case _:
            refusals.add(location, f"`{name}` holds a {type(value).__name__}, which is no JSON.", name)
    return None
