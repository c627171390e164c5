"""Evaluations: what an old one becomes here, with the texts that were judged."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import cast

from evalsvc.cli.imports.patronus.outcome import ImportOutcome
from evalsvc.cli.imports.patronus.places import ORIGIN, Places, get_old_id
from evalsvc.cli.imports.patronus.source import OldService
from evalsvc.cli.imports.patronus.windows import TimeRange
from evalsvc.client.service.result_batches import JsonRow, send_rows
from evalsvc.client.service.transport import Transport
from evalsvc.client.values import JsonObject, JsonValue

ANNOTATION = "annotation"
SAME = (
    "evaluator_id", "criteria", "pass", "text_output", "explanation", "evaluation_duration", "explanation_duration",
    "metric_name", "metric_description", "dataset_id", "dataset_sample_id", "tags", "created_at", "trace_id", "span_id",
)  # fmt: skip
ONLY_THERE = (
    "id", "evaluation_type", "evaluator_family", "criteria_id", "criteria_revision", "criteria_config",
    "explain_strategy", "usage", "annotation_criteria_id",
)  # fmt: skip
"""Facts that a score made elsewhere has no column for: kept in its metadata."""
TEXTS = ("system_prompt", "task_context", "task_input", "task_output", "gold_answer")
OLDER_TEXTS = ("system_prompt", "retrieved_context", "input", "output", "gold_answer")
NO_VERDICT = "it has no score, no verdict and no text"


class Evaluations:
    """Imports the evaluations of a time range; each is identified by its old id, and stored once."""

    def __init__(self, old: OldService, target: Transport, outcome: ImportOutcome, places: Places) -> None:
        self._old, self._target, self._outcome, self._places = old, target, outcome, places

    def bring(self, stretch: TimeRange, rows: Sequence[JsonObject]) -> None:
        """Store the evaluations of a time range that are missing here."""
        existing_rows = {
            origin: row for row in fetch_imported_rows(self._target, stretch) if (origin := get_old_id(row))
        }
        missing = [row for row in rows if str(row["id"]) not in existing_rows and self._has_verdict(row)]
        texts = self._old.texts(sorted({str(row["log_id"]) for row in missing if row.get("log_id")}))
        result = send_rows(
            self._target, [build_result_row(row, self._places, texts.get(str(row.get("log_id")))) for row in missing]
        )
        for row, reason in result.refused:
            self._outcome.leave_out("evaluation", _old_id(row), reason)
        self._outcome.kept["evaluations"] += len(result.kept)
        self._outcome.there["evaluations"] += sum(str(row["id"]) in existing_rows for row in rows)
        self._mark(rows, {_old_id(row): id for row, id in result.kept}, existing_rows)

    def _has_verdict(self, row: JsonObject) -> bool:
        if any(row.get(name) is not None for name in ("score", "pass", "text_output")) and row.get("evaluator_id"):
            return True
        self._outcome.leave_out(
            "evaluation", row["id"], NO_VERDICT if row.get("evaluator_id") else "it names no evaluator"
        )
        return False

    def _mark(self, rows: Sequence[JsonObject], new: Mapping[str, str], here: Mapping[str, JsonObject]) -> None:
        """Copy feedback on verdicts, unless feedback exists here."""
        for row in rows:
            id = str(row["id"])
            existing_row = here.get(id)
            if (
                row.get("feedback")
                and not (existing_row and existing_row.get("feedback"))
                and (id in new or existing_row)
            ):
                result_id = new.get(id) or str(cast(JsonObject, existing_row)["id"])
                self._target.post(
                    f"/v1/evaluation-results/{result_id}/evaluation-feedback", {"feedback": row["feedback"]}
                )


def fetch_imported_rows(target: Transport, stretch: TimeRange, kind: str = "client_evaluation") -> list[JsonObject]:
    """Return the evaluations of a stretch of time that are here, made elsewhere or by people."""
    filters = [
        {"field": "created_at", "operation": "ge", "value": stretch.start.isoformat()},
        {"field": "created_at", "operation": "lt", "value": stretch.end.isoformat()},
        {"field": "evaluation_type", "operation": "eq", "value": kind},
    ]
    rows: list[JsonObject] = []
    cursor: JsonValue = None
    while True:
        page = target.post("/v1/evaluations/search", {"filters": filters, "limit": 1000, "cursor": cursor})
        rows += cast("list[JsonObject]", page["evaluations"])
        cursor = page.get("next_cursor")
        if not cursor:
            return rows


def build_result_row(row: JsonObject, places: Places, texts: JsonObject | None) -> JsonRow:
    """Return an old evaluation as a row of `POST /v1/evaluation-results/batch`."""
    new_row: dict[str, object] = {name: row[name] for name in SAME if row.get(name) is not None}
    metadata = row.get("metadata")
    only = {name: row[name] for name in ONLY_THERE if row.get(name) is not None}
    new_row["evaluation_metadata"] = {**(metadata if isinstance(metadata, dict) else {}), ORIGIN: only}
    if row.get("score") is not None:
        new_row["score_raw"] = row["score"]
    new_row["log_id"] = row.get("log_id") or f"{ORIGIN}:{row['id']}"
    return new_row | _place(row, places) | _texts(texts or {})


def _place(row: JsonObject, places: Places) -> dict[str, object]:
    """Return where an evaluation belongs; an experiment outranks an app, here as there."""
    experiment = places.experiments.get(str(row.get("experiment_id")))
    if experiment:
        return {"experiment_id": experiment}
    project = places.project_names.get(str(row.get("project_id")))
    place = {"app": row.get("app"), "project_name": project}
    return {name: value for name, value in place.items() if value}


def _texts(body: JsonObject) -> dict[str, object]:
    """Return what was judged, from the body of a log as either generation of Patronus' SDK writes it."""
    texts: dict[str, object] = {}
    for new, old in zip(TEXTS, OLDER_TEXTS, strict=True):
        name = f"evaluated_model_{old}"
        value = body.get(new) if body.get(new) is not None else body.get(name)
        if value is not None:
            texts[name] = _passages(value) if old == "retrieved_context" else _text(value)
    return texts


def _passages(value: JsonValue) -> list[str]:
    return [_text(part) for part in value] if isinstance(value, list) else [_text(value)]


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _old_id(row: JsonRow) -> str:
    metadata = cast("Mapping[str, Mapping[str, object]]", row["evaluation_metadata"])
    return str(metadata[ORIGIN]["id"])
