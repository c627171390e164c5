"""`client.evaluations`: what was captured, found again; and scores of your own, brought in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from evalsvc.client.service.result_batches import SendResult, send_rows
from evalsvc.client.service.transport import Param, Transport
from evalsvc.client.showing.records import Listing, ServiceObject, get_id
from evalsvc.client.values import to_json, to_json_object

PATH = "/v1/evaluations"
FIELDS = {"passed": "pass"}
"""Names that are keywords of Python, and the wire's."""


@dataclass(frozen=True, kw_only=True)
class EvaluationRecord(ServiceObject):
    """A captured evaluation. `raw` has the rest: metadata, usage, durations, ids of what it is a score of."""

    id: str
    evaluator_id: str
    status: str = "success"
    score: float | None = None
    passed: bool | None = None
    pass_reason: str | None = None
    criteria: str | None = None
    app: str | None = None
    explanation: str | None = None
    error_code: str | None = None
    evaluation_type: str = ""
    created_at: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    verdict: str | None = None
    why: str | None = None

    @classmethod
    def read(cls, body: object) -> EvaluationRecord:
        """Read an evaluation; `pass` is a keyword of Python, so it is `passed` here."""
        answer: dict[str, Any] = dict(body)  # type: ignore[call-overload]
        return super().read({**answer, "passed": answer.get("pass")})


class EvaluationsApi:
    """Calls of `/v1/evaluations` and `/v1/evaluation-results`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def search(
        self, *filters: Mapping[str, object], page_size: int = 1000, **equal: object
    ) -> Listing[EvaluationRecord]:
        """Return the captured evaluations that match all filters, newest first.

        `search(app="demo", passed=False)` compares for equality. A mapping allows other operations: `{"field": "score",
        "operation": "ge", "value": 0.5}`, or `{"or_": [filter, filter]}`.
        """
        conditions = [to_json_object(condition) for condition in filters]
        conditions += [{"field": FIELDS.get(name, name), "operation": "eq", "value": to_json(value)}
                  for name, value in equal.items()]  # fmt: skip
        body = {"filters": conditions, "limit": page_size}
        return Listing(lambda: self._search(body))

    def _search(self, body: Mapping[str, object]) -> Iterator[EvaluationRecord]:
        return map(EvaluationRecord.read, self._transport.post_pages(f"{PATH}/search", "evaluations", body))

    def get(self, evaluation: str | EvaluationRecord) -> EvaluationRecord:
        """Return one captured evaluation, with the settings that it was made with in `raw`."""
        return EvaluationRecord.read(self._transport.get(f"{PATH}/{get_id(evaluation)}")["evaluation"])

    def delete(self, evaluation: str | EvaluationRecord) -> None:
        """Delete an evaluation; no interval counts its score any more."""
        self._transport.call("DELETE", f"{PATH}/{get_id(evaluation)}")

    def delete_all(self, **filters: Param) -> int:
        """Delete what meets all filters (`app`, `project_id`, `experiment_id`, …; at least one); return how many."""
        n_deleted = 0
        while True:
            answer = self._transport.call("DELETE", PATH, params=filters).json()
            n_deleted += answer["n_deleted"]
            if answer["done"]:
                return n_deleted

    def import_results(self, rows: Iterable[Mapping[str, object]]) -> SendResult:
        """Store scores computed elsewhere, with their samples; each row has an `evaluator_id` and a `score_raw`.

        An undecided row has the `verdict` `undecided`, and may say `why`. A row with a `log_id` is stored once, no
        matter how often it is sent. The result has the outcome of each row.
        """
        return send_rows(self._transport, (to_json_object(row) for row in rows))

    def mark_favorite(self, result: str | EvaluationRecord) -> None:
        """Mark a result as a favourite, to find it again."""
        self._transport.post(f"/v1/evaluation-results/{get_id(result)}/favorite")
