"""What `evaluate_batch` answers: a result for each sample, or the problem that it had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evalsvc.client.results.verdicts import EvaluateResult
from evalsvc.client.showing.charts import Cell, render_table
from evalsvc.client.showing.frames import build_frame

if TYPE_CHECKING:
    import pandas

SHOWN = 50
"""Samples that a notebook shows."""

LATER = {202, 409, 429, 500, 503}
"""Statuses of a sample that the same request again may mend."""


@dataclass(frozen=True, slots=True)
class SampleResult:
    """One sample of a batch: its verdicts, or the `problem` for which it has none."""

    index: int
    status: int
    result: EvaluateResult | None
    problem: Mapping[str, Any] | None = None
    retry_after: float | None = None

    @classmethod
    def read(cls, body: Mapping[str, Any], *, offset: int = 0) -> SampleResult:
        """Read a row of the answer; `offset` is how many samples other requests have had before."""
        answer = body["answer"]
        return cls(
            index=offset + body["index"],
            status=body["status"],
            result=None if answer is None else EvaluateResult.read(answer),
            problem=body["problem"],
            retry_after=body["retry_after"],
        )

    @property
    def passed(self) -> bool | None:
        """Return whether every evaluator gave a score and passed it.

        None if one has no threshold or is undecided, and none failed.
        """
        return False if self.result is None else self.result.passed

    @property
    def is_pending(self) -> bool:
        """Return whether workers still have some of it."""
        return self.result is not None and self.result.is_pending

    @property
    def may_change(self) -> bool:
        """Return whether the same request again may bring more."""
        return self.is_pending or self.status in LATER

    def __str__(self) -> str:
        text = self.problem["detail"] if self.problem else ", ".join(map(str, self.result or ()))
        return f"{self.index}: {text}"

    def cells(self) -> list[dict[str, object]]:
        """Return it as table rows: one row per verdict, or one row with the problem."""
        facts = {"index": self.index, "http_status": self.status}
        problem = self.problem["detail"] if self.problem else None
        return [{**facts, **verdict.cells()} for verdict in self.result or ()] or [{**facts, "problem": problem}]


class SampleResults(list[SampleResult]):
    """What `evaluate_batch` answers, sample by sample."""

    def to_dataframe(self) -> pandas.DataFrame:
        """Return one row for each verdict of each sample."""
        return build_frame(row for sample in self for row in sample.cells())

    def _repr_html_(self) -> str:
        """Draw the first fifty in a notebook."""
        rows: list[list[Cell]] = []
        for sample in self[:SHOWN]:
            problems = [sample.problem["detail"]] if sample.problem else []
            rows += [[str(sample.index), verdict.evaluator, verdict.outcome_text] for verdict in sample.result or ()]
            rows += [[str(sample.index), "", text] for text in problems]
        notes = [f"… and {len(self) - SHOWN} more"] if len(self) > SHOWN else []
        passed = f"{sum(sample.passed is True for sample in self)} of {len(self)} pass everything"
        return render_table(("sample", "evaluator", "verdict"), rows, caption=passed, notes=notes)
