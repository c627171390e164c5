"""Lines of CSV for a spreadsheet: a cell that looks like a formula begins with an apostrophe."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from evalsvc.datasets.exports import guarded


def csv_line(cells: Sequence[object]) -> bytes:
    """Return a line of CSV."""
    line = io.StringIO()
    csv.writer(line).writerow([guarded(one) if isinstance(one, str) else one for one in cells])
    return line.getvalue().encode("utf-8", "replace")
