"""GSM8K: rows of `question` and `answer`, where the answer is a worked solution that ends in `#### 42`."""

from __future__ import annotations

from evalsvc.datasets.importers.lines import Record
from evalsvc.datasets.importers.locations import Refusals, SourceLocation

MARK = "####"


def convert_gsm8k(location: SourceLocation, record: Record, refusals: Refusals) -> Record | None:
    """Return the question, the final answer without thousands separators, and the solution as metadata."""
    record = dict(record)
    solution = record.pop("answer", None)
    if not isinstance(solution, str) or MARK not in solution:
        refusals.add(location, f"`answer` must be a text that ends in `{MARK} ` and the final answer.", "answer")
        return None
    final = solution.rpartition(MARK)[2].strip().replace(",", "")
    if not final:
        refusals.add(location, f"Nothing follows `{MARK}`.", "answer")
        return None
    return {**record, "expected": final, "solution": solution}
