"""Reader of the service to import from, through its API.

The service can be slow, return occasional 500 errors, or be temporarily unavailable.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar, cast

from evalsvc.cli.imports.patronus.windows import TimeRange
from evalsvc.cli.options import Incomplete
from evalsvc.cli.report import Report
from evalsvc.client.errors import NotFoundError, RateLimitError, ServerError, UnreachableError
from evalsvc.client.service.transport import Transport
from evalsvc.client.values import JsonObject

PAGE = 1000
LOGS_AT_ONCE = 100
PAUSE_SECONDS = 5.0
DEFAULT_PATIENCE_SECONDS = 300.0

Answer = TypeVar("Answer")


class OldService:
    """Reads of the old service. What it does not have is an empty list; an outage is waited for so many seconds."""

    def __init__(self, transport: Transport, report: Report, *, patience_seconds: float) -> None:
        self._transport = transport
        self.report = report
        self._patience_seconds = patience_seconds

    def evaluations(self, stretch: TimeRange) -> list[JsonObject]:
        """Return the evaluations of a stretch of time, as many as the service answers at once, oldest first."""
        filters = [
            {"field": "created_at", "operation": "ge", "value": stretch.start.isoformat()},
            {"field": "created_at", "operation": "lt", "value": stretch.end.isoformat()},
        ]
        answer = self._request(lambda: self._transport.post("/v1/evaluations/search", {"filters": filters}))
        rows = rows_in(answer, "evaluations")
        return sorted(rows, key=in_order)

    def texts(self, log_ids: Sequence[str]) -> dict[str, JsonObject]:
        """Return the evaluated samples by log ID: the bodies of the existing logs that contain an object."""
        bodies: dict[str, JsonObject] = {}
        for start in range(0, len(log_ids), LOGS_AT_ONCE):
            filters = [{"field": "log_id", "op": "in", "value": list(log_ids[start : start + LOGS_AT_ONCE])}]
            body = {"filters": filters, "limit": PAGE, "order": "timestamp asc"}
            for log in self._rows_or_none(lambda body=body: self._transport.post("/v1/otel/logs/search", body), "logs"):
                log_id = _log_id(log)
                if log_id and isinstance(log.get("body"), dict):
                    bodies[log_id] = cast(JsonObject, log["body"])
        return bodies

    def list_rows(self, path: str, key: str, params: Mapping[str, str | bool] | None = None) -> Iterator[JsonObject]:
        """Yield the rows of a list page after page. A service that knows no pages answers all of them at once."""
        seen_names: set[str] = set()
        for start in range(0, 1_000_000, PAGE):
            query = {**(params or {}), "limit": PAGE, "offset": start}
            rows = self._rows_or_none(lambda query=query: self._transport.get(path, query), key)
            names = [
                f"{row.get('id') or row.get('public_id') or row.get('name')} {row.get('revision')}" for row in rows
            ]
            new = [row for row, name in zip(rows, names, strict=True) if name not in seen_names]
            yield from new
            seen_names.update(names)
            if not new or len(rows) < PAGE:
                return

    def dataset_rows(self, dataset_id: str) -> list[JsonObject]:
        """Return the rows of a dataset."""
        return self._rows_or_none(lambda: self._transport.get(f"/v1/datasets/{dataset_id}/data"), "data")

    def _rows_or_none(self, ask: Callable[[], JsonObject], key: str) -> list[JsonObject]:
        """Return rows; none where the service does not have such a thing."""
        try:
            return rows_in(self._request(ask), key)
        except NotFoundError:
            return []

    def _request(self, ask: Callable[[], Answer]) -> Answer:
        """Repeat a request through outages: an import takes hours and must survive an outage of a minute."""
        ends = time.monotonic() + self._patience_seconds
        while True:
            try:
                return ask()
            except json.JSONDecodeError as exc:
                raise Incomplete(f"The old service answered what is no JSON ({exc}): look at --from.") from exc
            except (UnreachableError, ServerError, RateLimitError) as exc:
                if time.monotonic() >= ends:
                    raise
                self.report.say(f"The old service: {exc.detail} Asking again in {PAUSE_SECONDS:.0f} s.")
                time.sleep(min(PAUSE_SECONDS, max(0.0, ends - time.monotonic())))


def in_order(row: JsonObject) -> tuple[str, str]:
    """Return what rows are put in order by: their time, then their ids, which are numbers as texts."""
    return str(row.get("created_at")), str(row["id"]).rjust(20, "0")


def rows_in(answer: JsonObject, key: str) -> list[JsonObject]:
    """Return the objects of a list in an answer."""
    return [row for row in cast("list[JsonObject]", answer.get(key) or []) if isinstance(row, dict)]


def _log_id(log: JsonObject) -> str:
    attributes = log.get("log_attributes")
    log_id = attributes.get("pat.log.id") if isinstance(attributes, dict) else None
    return str(log.get("log_id") or log_id or "")
