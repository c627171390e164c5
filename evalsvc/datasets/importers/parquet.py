"""Parquet: rows in small batches, so that what unpacks to much is seen before it is all there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, BinaryIO

from evalsvc.datasets.importers.locations import Refusals, SourceLocation
from evalsvc.datasets.importers.table import check_header, read_cells

BATCH_ROWS = 100
MAX_BATCH_BYTES = 64 * 1024 * 1024
Record = dict[str, Any]


def read_parquet(file: BinaryIO, refusals: Refusals) -> Iterator[tuple[SourceLocation, Record]]:
    """Yield a record for each row. A text column named `input:json` contains JSON, as in CSV."""
    # Only here: it takes 50 MB, which a process that reads no Parquet need not have.
    import pyarrow as pa
    from pyarrow import parquet as pq

    file_location = SourceLocation("/file", "The file")
    try:
        table = pq.ParquetFile(file, buffer_size=1 << 20, pre_buffer=False)
        header = check_header(file_location, list(table.schema_arrow.names), refusals)
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
                    plain_value(location, refusals, name, column[i].as_py())
                    for name, column in zip(header, batch.columns, strict=True)
                ]
                yield location, read_cells(location, header, cells, refusals)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as exc:
        reason = str(exc).splitlines()[0] if str(exc) else type(exc).__name__
        raise refusals.stop(file_location, f"Not valid Parquet: {reason.rstrip('.')}.") from None


def plain_value(location: SourceLocation, refusals: Refusals, name: str, value: object) -> object:
    """Return a cell as JSON has it: times as ISO 8601, decimals as numbers, maps as objects."""
    match value:
        case None | bool() | str() | int():
            return value
        case float() | Decimal():
            number = float(value)
            if math.isfinite(number):
                return number
            refusals.add(location, f"`{name}` holds {number}, which is no number in JSON.", name)
        case datetime() | date() | time():
            return value.isoformat()
        case dict():
            return {str(key): plain_value(location, refusals, name, part) for key, part in value.items()}
        case list() if value and all(isinstance(part, tuple) and len(part) == 2 for part in value):
            return {str(key): plain_value(location, refusals, name, part) for key, part in value}
        case list():
            return [plain_value(location, refusals, name, part) for part in value]
        case _:
            refusals.add(location, f"`{name}` holds a {type(value).__name__}, which is no JSON.", name)
    return None
