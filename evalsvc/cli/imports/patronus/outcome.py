"""What an import has done: counts by kind, and each thing that could not be taken along, with the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

SHOWN = 20


@dataclass(slots=True)
class ImportOutcome:
    """Counts by kind.

    `found` counts the rows of the old service, `kept` the newly imported rows, and `there` the rows that existed here.
    """

    found: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    there: Counter[str] = field(default_factory=Counter)
    left_out: list[dict[str, str]] = field(default_factory=list)
    differences: list[dict[str, object]] = field(default_factory=list)
    recounted: bool = False

    def leave_out(self, kind: str, id: object, reason: str) -> None:
        """Note what is not taken along, and why."""
        self.left_out.append({"kind": kind, "id": str(id), "reason": reason})

    @property
    def is_complete(self) -> bool:
        """Return whether everything is here and both sides count the same."""
        return not self.left_out and not self.differences

    def as_json(self) -> dict[str, object]:
        """Return the result for programs."""
        return {
            "found": dict(self.found),
            "kept": dict(self.kept),
            "there": dict(self.there),
            "left_out": self.left_out,
            "recounted": self.recounted,
            "differences": self.differences,
            "complete": self.is_complete,
        }

    def lines(self) -> Iterator[str]:
        """Yield the result for a person."""
        for kind in self.found:
            yield f"{kind}: {self.found[kind]} found, {self.kept[kind]} new, {self.there[kind]} there already"
        for item in self.left_out[:SHOWN]:
            yield f"left out: {item['kind']} {item['id']}: {item['reason']}"
        if len(self.left_out) > SHOWN:
            yield f"left out: {len(self.left_out) - SHOWN} more; --json lists all"
        for difference in self.differences[:SHOWN]:
            yield "differs: {evaluator_id} {criteria}: {there} there, {here} here".format(**difference)
        if self.recounted:
            yield "Run with --again to look for what is missing." if self.differences else "Both sides count the same."
