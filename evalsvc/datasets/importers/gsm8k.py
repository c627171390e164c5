"""GSM8K: JSONL of `question` and `answer`, where the answer is a worked solution that ends in `#### 42`."""

from __future__ import annotations

from collections.abc import Iterator

from evalsvc.datasets.importers.lines import Readable, Record, read_objects
from evalsvc.datasets.importers.locations import Refusals, SourceLocation

MARK = "####"


def read_gsm8k(file: Readable, refusals: Refusals) -> Iterator[tuple[SourceLocation, Record]]:
    """Yield the question, the final answer without thousands separators, and the solution as metadata."""
    for location, record in read_objects(file, refusals):
        solution = record.pop("answer", None)
        if not isinstance(solution, str) or MARK not in solution:
            refusals.add(location, f"`answer` must be a text that ends in `{MARK} ` and the final answer.", "answer")
            continue
        final = solution.rpartition(MARK)[2].strip().replace(",", "")
        if not final:
            refusals.add(location, f"Nothing follows `{MARK}`.", "answer")
            continue
        yield location, {**record, "expected": final, "solution": solution}
