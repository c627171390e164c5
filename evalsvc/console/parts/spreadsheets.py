"""Lines of CSV for a spreadsheet: a cell that looks like a formula begins with an apostrophe."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from django.http import HttpResponse

from evalsvc.datasets.exports import guard_cell


def csv_answer(name: str, lines: Iterable[Sequence[object]]) -> HttpResponse:
    """Answer lines as a file of this name."""
    answer = HttpResponse(b"".join(map(csv_line, lines)), content_type="text/csv; charset=utf-8")
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


def csv_line(cells: Sequence[object]) -> bytes:
    """Return a line of CSV."""
    line = io.StringIO()
    csv.writer(line).writerow([guard_cell(cell) if isinstance(cell, str) else cell for cell in cells])
    return line.getvalue().encode("utf-8", "replace")
