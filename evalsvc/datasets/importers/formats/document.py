"""Files that are one JSON document, with its rows at some path: read a row at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evalsvc.datasets.importers.archive import Archive
from evalsvc.datasets.importers.formats.convert import ROW_FORMATS
from evalsvc.datasets.importers.json_text import decode_json
from evalsvc.datasets.importers.lines import MAX_ROW_BYTES, Readable, Record
from evalsvc.datasets.importers.locations import Refusals, SourceLocation, require_package

SAMPLES = "samples/"
"""The folder of an archive of Inspect that has a file for each sample."""


def find_items(head: bytes) -> str:
    """Return the path of the rows where a file begins as a document of a known shape; else an empty text."""
    start = head.lstrip()
    shapes = [shape for format in ROW_FORMATS.values() for shape in format.documents]
    return next((shape.items for shape in shapes if re.match(shape.beginning, start)), "")


def read_items(file: Readable, refusals: Refusals, items: str) -> Iterator[tuple[SourceLocation, Record]]:
    """Yield the object at each place that the path names, such as `results/results/*`."""
    # Only here: an installation of the client alone has no parser for documents that do not fit into memory.
    require_package("ijson", refusals)
    import ijson

    from evalsvc.datasets.importers.squad import BoundedTexts, Builder, Path

    path, number = Path(), 0
    builder: Builder | None = None
    try:
        for event, value in ijson.basic_parse(BoundedTexts(file), use_float=True):
            path.enter(event, value)
            is_item = str(path) == items
            if is_item and builder is None:
                builder = Builder()
                number += 1
            if builder is not None:
                builder.add(event, value)
                if is_item and event not in ("start_map", "start_array"):
                    location = SourceLocation("/".join(["/file", *map(str, path.parts)]), f"Item {number}")
                    record, builder = builder.built.value, None
                    if isinstance(record, dict):
                        yield location, record
                    else:
                        refusals.add(location, "Expected a JSON object.")
            path.leave(event)
    except (ijson.JSONError, UnicodeDecodeError) as exc:
        reason = str(exc).splitlines()[0].removeprefix("parse error: ")
        raise refusals.stop(SourceLocation("/file", "The file"), f"Not valid JSON: {reason}.") from None


def has_samples(archive: Archive) -> bool:
    """Return whether an archive is a log of Inspect."""
    return any(name.startswith(SAMPLES) and name.endswith(".json") for name in archive.names())


def read_samples(archive: Archive, refusals: Refusals) -> Iterator[tuple[SourceLocation, Record]]:
    """Yield the samples of a log of Inspect that is an archive (`.eval`)."""
    for name in archive.names():
        if not name.startswith(SAMPLES) or not name.endswith(".json"):
            continue
        location = SourceLocation(f"/file/{name}", name)
        with archive.open(name) as file:
            content = file.read(MAX_ROW_BYTES + 1)
        if len(content) > MAX_ROW_BYTES:
            refusals.add(location, f"Longer than {MAX_ROW_BYTES} bytes.")
            continue
        try:
            record = decode_json(content.decode())
        except ValueError as exc:
            refusals.add(location, f"Not valid JSON: {exc}.")
            continue
        if isinstance(record, dict):
            yield location, record
        else:
            refusals.add(location, "Expected a JSON object.")
