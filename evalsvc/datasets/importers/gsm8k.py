"""GSM8K: JSONL of `question` and `answer`, where the answer is a worked solution that ends in `#### 42`."""

from __future__ import annotations

from collections.abc import Iterator

from evalsvc.datasets.importers.lines import Readable, Record, read_objects
from evalsvc.datasets.importers.places import Place, Refusals

MARK = "####"


def read_gsm8k(file: Readable, refusals: Refusals) -> Iterator[tuple[Place, Record]]:
    """Yield the question, the final answer without thousands separators, and the solution as metadata."""
    for place, record in read_objects(file, refusals):
        solution = record.pop("answer", None)
        if not isinstance(solution, str) or MARK not in solution:
            refusals.add(place, f"`answer` must be a text that ends in `{MARK} ` and the final answer.", "answer")
            continue
        final = solution.rpartition(MARK)[2].strip().replace(",", "")
        if not final:
            refusals.add(place, f"Nothing follows `{MARK}`.", "answer")
            continue
        yield place, {**record, "expected": final, "solution": solution}
